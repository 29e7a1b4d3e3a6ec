"""How far behind the receivers are: what a monitor looks at, since a worker can be connected and do nothing.

By index only, whatever the length of the queue: the oldest is the first of an index, and counts stop at `MOST_COUNTED`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connections, transaction
from django.db.models import QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.flows.database.connection import locked, state_database
from checkout_integration.flows.outbox.claiming import left_behind_before
from checkout_integration.models import OutboxMessage, ReceiverRun

MOST_COUNTED = 10_000
"""Where a count stops: it means so many, or more."""
State = ReceiverRun.State


@dataclass(frozen=True, kw_only=True)
class QueueState:
    """What waits to be run, and for how long the oldest of it has waited. Counts stop at 10,000."""

    new: int
    """Outbox messages that are not fanned out yet."""
    due: int
    """Receiver runs that could run now."""
    waiting: int
    """Receiver runs that failed and wait for their next attempt, or wait for one before them."""
    running: int
    overdue: int
    """Running ones that have run for longer than RECEIVER_DEADLINE."""
    failed: int
    """Receiver runs that were given up after ten attempts; staff can run them again."""
    oldest_seconds: float
    """For how long the oldest message or run that could run has been left; 0 when there is none."""


def queue_state() -> QueueState:
    """Return the queue's state now. Of what waits only the number counts, never the age: nobody has left it behind."""
    now = datetime.now(UTC)
    new = OutboxMessage.objects.using(state_database()).filter(state=OutboxMessage.State.NEW)
    runs = ReceiverRun.objects.using(state_database())
    due = runs.filter(state=State.DUE, due_at__lte=now)
    running = list(runs.filter(state=State.RUNNING).only("line", "due_at").order_by("due_at"))
    dead = _left_behind([run.pk for run in running])
    alive = [run for run in running if run.pk not in dead]
    deadline = now - timedelta(seconds=app_settings().receiver_deadline)
    free = due.exclude(line__in={run.line for run in alive if run.line is not None})
    since = [
        new.order_by("pk").values_list("recorded_at", flat=True).first(),
        free.order_by("due_at", "pk").values_list("due_at", flat=True).first(),
        *(run.due_at for run in running if run.pk in dead),
    ]
    return QueueState(
        new=_count(new),
        due=_count(due) + len(dead),
        waiting=_count(runs.filter(state=State.WAITING))
        + _count(runs.filter(state=State.DUE, due_at__gt=now)),
        running=len(alive),
        overdue=sum(run.due_at <= deadline for run in alive),
        failed=_count(runs.filter(state=State.FAILED)),
        oldest_seconds=_age(since, now),
    )


def _left_behind(running: list[int]) -> set[int]:
    """Return the running runs that nobody attempts and no live process waits to attempt: those that can be locked.

    SQLite cannot say: the one transaction that writes there may be a receiver's.
    """
    alias = state_database()
    if not running or not connections[alias].features.has_select_for_update:
        return set()
    left = ReceiverRun.objects.using(alias).filter(
        pk__in=running, state=State.RUNNING, due_at__lte=left_behind_before()
    )
    with transaction.atomic(using=alias):
        return {run.pk for run in locked(left.only("pk"), wait=False)}


def _count(rows: QuerySet[OutboxMessage] | QuerySet[ReceiverRun]) -> int:
    return rows.order_by()[:MOST_COUNTED].count()


def _age(since: list[datetime | None], now: datetime) -> float:
    ages = [(now - moment).total_seconds() for moment in since if moment is not None]
    return round(max([0.0, *ages]), 3)
