"""Replay of past events to a receiver that was connected later, and retry of failed runs.

Nothing happens twice: a run is unique for its message and receiver, and a completed run is not touched. Each attempt still
checks first whether the payment was reversed (``superseded``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from checkout_integration.flows.database import (
    database_now,
    in_transaction,
    insert_missing,
    locked,
    record_staff_act,
    with_retries,
)
from checkout_integration.flows.outbox.receivers import (
    callables,
    connected_here,
    other_names,
    record_own,
    stored_name,
)
from checkout_integration.flows.outbox.undoing import remember
from checkout_integration.models import Checkout, OutboxMessage, ReceiverRun, StaffAct
from checkout_integration.models.actor import Actor
from checkout_integration.models.outbox import WAITED_IN_VAIN
from checkout_integration.signals import SIGNALS

BATCH = 500


class UnknownReceiver(LookupError):
    """No receiver of this name is connected; the message names those that are."""


@dataclass(frozen=True, kw_only=True)
class ReplaySelection:
    """A selection of past events for one receiver: of all its signals or of one, since a time, of one project."""

    receiver: str
    signal: str | None = None
    since: datetime | None = None
    project: str | None = None

    def signals(self) -> list[str]:
        """Return the chosen signals that the receiver is connected to. Raises `UnknownReceiver` when there is none."""
        record_own()  # so that a receiver that was renamed is found by each of its names
        found = [name for name in SIGNALS if self.receiver in callables(name)]
        signals = [name for name in found if self.signal in {None, name}]
        if not signals:
            raise UnknownReceiver(_not_connected(self.receiver, self.signal, connected_receivers()))
        return signals

    def names(self) -> set[str]:
        """Return all names that the receiver has had."""
        return {self.receiver}.union(*(other_names(signal, self.receiver) for signal in SIGNALS))


def connected_receivers() -> dict[str, list[str]]:
    """Return the names of the receivers that are connected in this process, each with its signals."""
    connected: dict[str, list[str]] = {}
    for receiver in connected_here():
        connected.setdefault(receiver.name, []).append(receiver.signal)
    return dict(sorted(connected.items()))


def _not_connected(receiver: str, signal: str | None, connected: dict[str, list[str]]) -> str:
    to = f" to {signal}" if signal else ""
    listed = "; ".join(f"{name} ({', '.join(signals)})" for name, signals in connected.items())
    return f"No receiver {receiver!r} is connected{to}. Connected are: {listed or 'none'}."


def count_undelivered(chosen: ReplaySelection) -> int:
    """Return how many past events the receiver has no run of. Raises `UnknownReceiver`."""
    return _missed(chosen).count()


def replay_events(chosen: ReplaySelection, *, staff: Actor | None = None) -> int:
    """Make a run, due now, for each past event that the receiver has no run of; return how many. Raises `UnknownReceiver`."""
    missed = list(_missed(chosen).order_by("pk").values_list("pk", flat=True))
    _record(StaffAct.Act.REPLAY, chosen, staff, len(missed))
    return sum(_give(missed[start : start + BATCH], chosen) for start in range(0, len(missed), BATCH))


def _missed(chosen: ReplaySelection) -> QuerySet[OutboxMessage]:
    signals = chosen.signals()
    had = ReceiverRun.primary.filter(message=OuterRef("pk"), receiver__in=chosen.names())
    announced = OutboxMessage.primary.filter(signal__in=signals, **_bounds(chosen))
    return announced.exclude(Exists(had))


def _bounds(chosen: ReplaySelection) -> dict[str, object]:
    bounds: dict[str, object] = {}
    if chosen.since is not None:
        bounds["recorded_at__gte"] = chosen.since
    if chosen.project is not None:
        bounds["project"] = chosen.project
    return bounds


@in_transaction
def _give(keys: Sequence[int], chosen: ReplaySelection) -> int:
    """Make the missing runs of one batch of messages. Two processes at the same time make each run once."""
    now = database_now()
    outbox_messages = OutboxMessage.primary.filter(pk__in=keys)
    had = ReceiverRun.primary.filter(message__in=keys, receiver__in=chosen.names())
    given = set(had.values_list("message", flat=True))
    missing = outbox_messages.exclude(pk__in=given).order_by("pk")
    runs = [
        ReceiverRun(
            message=each, line=each.line, receiver=stored_name(each.signal, chosen.receiver), due_at=now
        )
        for each in missing
    ]
    insert_missing(runs, "message", "receiver")
    outbox_messages.filter(state=OutboxMessage.State.NO_RECEIVERS).update(state=OutboxMessage.State.SENT)
    return len(runs)


def failed_runs(chosen: ReplaySelection) -> QuerySet[ReceiverRun]:
    """Return the receiver's runs that were given up, or wait for their next attempt. Raises `UnknownReceiver`."""
    bounds = {f"message__{name}": value for name, value in _bounds(chosen).items()}
    waits = Q(state=ReceiverRun.State.DUE, due_at__gt=database_now())
    runs = ReceiverRun.primary.filter(Q(state=ReceiverRun.State.FAILED) | waits)
    signals = chosen.signals()
    return runs.filter(receiver__in=chosen.names(), message__signal__in=signals, **bounds)


def retry_failed_runs(chosen: ReplaySelection, *, staff: Actor | None = None) -> int:
    """Make the receiver's `failed_runs` due now; return how many. Raises `UnknownReceiver`.

    Those that were given up have all their attempts anew; those that wait for their next attempt have as many left as before.
    """
    keys = list(failed_runs(chosen).values_list("pk", flat=True))
    _record(StaffAct.Act.RETRY, chosen, staff, len(keys))
    return make_all_due(ReceiverRun.primary.all(), keys, ended=[ReceiverRun.State.FAILED])


def _record(act: StaffAct.Act, chosen: ReplaySelection, staff: Actor | None, count: int) -> None:
    """Record what is about to be done: if it is interrupted, the history shows it all the same."""
    if count:
        counts = {"receiver_runs": count}
        record_staff_act(act, staff, project=chosen.project, receiver=chosen.receiver, counts=counts)


def make_all_due(runs: QuerySet[ReceiverRun], keys: Sequence[int], *, ended: Sequence[str]) -> int:
    """Make those of the runs due now that have these keys, and ended so, or wait for their next attempt; return how many."""
    parts = [runs.filter(pk__in=keys[at : at + BATCH]) for at in range(0, len(keys), BATCH)]
    return sum(make_due_again(part.filter(state__in=ended)) + make_due_now(part) for part in parts)


def make_due_now(runs: QuerySet[ReceiverRun]) -> int:
    """Make those of the runs due now that wait for their next attempt; return how many. Their attempts stay counted.

    RACE: one statement. A run that a process claims meanwhile is not due any more, and stays as it is.
    """
    now = database_now()
    return with_retries(lambda: runs.filter(state=ReceiverRun.State.DUE, due_at__gt=now).update(due_at=now))


def make_postponed_due(checkouts: QuerySet[Checkout]) -> int:
    """Make the runs of these checkouts due now that the shop's code postponed: what they waited for may have come.

    Also those whose patience has ended since: they failed because it had not come.
    """
    lines = [f"checkout {pk}" for pk in checkouts.values_list("pk", flat=True)]
    runs = ReceiverRun.primary.filter(Q(postponed_for__gt="") | WAITED_IN_VAIN, line__in=lines)
    return make_all_due(runs, list(runs.values_list("pk", flat=True)), ended=[ReceiverRun.State.FAILED])


@in_transaction
def make_due_again(ended: QuerySet[ReceiverRun]) -> int:
    """Make runs that ended without success due now; return how many. If two callers do so, each run is counted by one."""
    runs = list(locked(ended))
    remember(runs)
    again = ReceiverRun.primary.filter(pk__in=[run.pk for run in runs])
    return again.update(
        state=ReceiverRun.State.DUE,
        attempts=0,
        due_at=database_now(),
        finished_at=None,
        error="",
        postponed_since=None,
        postponed_for="",
    )
