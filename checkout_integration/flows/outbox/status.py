"""How far behind the receivers are: what a monitor looks at, since a worker can be connected and do nothing (A.4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Min

from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.outbox.claims import ready
from checkout_integration.models import OutboxMessage, ReceiverRun


@dataclass(frozen=True, kw_only=True)
class QueueState:
    """What waits to be run, and for how long the oldest of it has waited."""

    new: int
    """Outbox messages that nobody has handed to receivers yet."""
    due: int
    """Receiver runs that could run now."""
    waiting: int
    """Receiver runs that failed and wait for their next attempt, or are held back by one that does."""
    running: int
    failed: int
    """Receiver runs that were given up after ten attempts; staff can run them again."""
    oldest_seconds: float
    """For how long the oldest message or run that could run has been left; 0 when there is none."""


def queue_state() -> QueueState:
    """The queue now. Of what waits for its next attempt only the number counts, never the age: nobody has left it behind."""
    now = datetime.now(UTC)
    announced = OutboxMessage.objects.using(state_database()).filter(state=OutboxMessage.State.NEW)
    runs = ReceiverRun.objects.using(state_database())
    could_run = abandoned = 0
    since = [announced.aggregate(oldest=Min("recorded_at"))["oldest"]]
    for window in ready():
        could_run += len(window)
        abandoned += sum(each.state == ReceiverRun.State.RUNNING for each in window)
        since += [each.due_at for each in window[:1]]
    unfinished = runs.filter(state=ReceiverRun.State.DUE).count()
    running = runs.filter(state=ReceiverRun.State.RUNNING).count() - abandoned
    return QueueState(
        new=announced.count(),
        due=could_run,
        waiting=unfinished - (could_run - abandoned),
        running=running,
        failed=runs.filter(state=ReceiverRun.State.FAILED).count(),
        oldest_seconds=_age(since, now),
    )


def _age(since: list[datetime | None], now: datetime) -> float:
    ages = [(now - moment).total_seconds() for moment in since if moment is not None]
    return round(max([0.0, *ages]), 3)
