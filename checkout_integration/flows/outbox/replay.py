"""Giving receivers what they never had: past events to one that was connected later, and failed runs once more.

Neither makes anything happen twice: a run is unique for its message and receiver, what has run is not touched, and
each attempt still asks first whether the payment was taken back (``superseded``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from checkout_integration.flows.database.connection import acquire_write_lock, state_database
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.database.statements import insert_missing
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import SIGNALS

BATCH = 500


class UnknownReceiver(LookupError):
    """No receiver of this name is connected; the text names those that are."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which past events: of one receiver's signals or one of them, since a moment, of one project."""

    receiver: str
    signal: str | None = None
    since: datetime | None = None
    project: str | None = None

    def signals(self) -> list[str]:
        """The signals that the receiver is connected to, of those chosen. Raises `UnknownReceiver` when there is none."""
        connected = connected_receivers()
        signals = [name for name in connected.get(self.receiver, []) if self.signal in {None, name}]
        if not signals:
            raise UnknownReceiver(_not_connected(self.receiver, self.signal, connected))
        return signals


def connected_receivers() -> dict[str, list[str]]:
    """Names of the receivers that are connected in this process, and their signals."""
    connected: dict[str, list[str]] = {}
    for signal in SIGNALS.values():
        for receiver in signal.connected(sender=Order):
            connected.setdefault(receiver, []).append(signal.name)
    return dict(sorted(connected.items()))


def _not_connected(receiver: str, signal: str | None, connected: dict[str, list[str]]) -> str:
    to = f" to {signal}" if signal else ""
    listed = "; ".join(f"{name} ({', '.join(signals)})" for name, signals in connected.items())
    return f"No receiver {receiver!r} is connected{to}. Connected are: {listed or 'none'}."


def count_missed(chosen: Chosen) -> int:
    """How many past events the receiver never had. Raises `UnknownReceiver`."""
    return _missed(chosen).count()


def replay(chosen: Chosen) -> int:
    """Makes a run, due now, for each past event that the receiver never had; returns how many.

    Outbox messages that are new are left to those who hand them to receivers. Raises `UnknownReceiver`.
    """
    missed = list(_missed(chosen).order_by("pk").values_list("pk", flat=True))
    return sum(
        with_retries(partial(_give, missed[start : start + BATCH], chosen.receiver))
        for start in range(0, len(missed), BATCH)
    )


def _missed(chosen: Chosen) -> QuerySet[OutboxMessage]:
    alias = state_database()
    had = ReceiverRun.objects.using(alias).filter(message=OuterRef("pk"), receiver=chosen.receiver)
    announced = OutboxMessage.objects.using(alias).filter(signal__in=chosen.signals(), **_bounds(chosen))
    return announced.exclude(state=OutboxMessage.State.NEW).exclude(Exists(had))


def _bounds(chosen: Chosen) -> dict[str, object]:
    bounds: dict[str, object] = {}
    if chosen.since is not None:
        bounds["recorded_at__gte"] = chosen.since
    if chosen.project is not None:
        bounds["project"] = chosen.project
    return bounds


def _give(keys: Sequence[int], receiver: str) -> int:
    """Receiver runs of one batch, and the states that say so. Two of these at once make each run once."""
    alias, now = state_database(), datetime.now(UTC)
    outbox_messages = OutboxMessage.objects.using(alias).filter(pk__in=keys)
    had = ReceiverRun.objects.using(alias).filter(message__in=keys, receiver=receiver)
    with transaction.atomic(using=alias):
        acquire_write_lock()
        given = set(had.values_list("message", flat=True))
        missing = outbox_messages.exclude(pk__in=given).order_by("pk")
        runs = [ReceiverRun(message=each, line=each.line, receiver=receiver, due_at=now) for each in missing]
        insert_missing(runs, "message", "receiver")
        outbox_messages.filter(state=OutboxMessage.State.NO_RECEIVERS).update(
            state=OutboxMessage.State.FANNED_OUT
        )
    return len(runs)


def failed(chosen: Chosen) -> QuerySet[ReceiverRun]:
    """Receiver runs of the receiver that were given up. Raises `UnknownReceiver`."""
    bounds = {f"message__{name}": value for name, value in _bounds(chosen).items()}
    runs = ReceiverRun.objects.using(state_database()).filter(state=ReceiverRun.State.FAILED)
    return runs.filter(receiver=chosen.receiver, message__signal__in=chosen.signals(), **bounds)


def retry_failed_runs(chosen: Chosen) -> int:
    """Makes the receiver's failed runs due again, with ten new attempts; returns how many. Raises `UnknownReceiver`."""
    keys = list(failed(chosen).values_list("pk", flat=True))
    runs = ReceiverRun.objects.using(state_database()).filter(state=ReceiverRun.State.FAILED)
    return sum(
        make_due_again(runs.filter(pk__in=keys[start : start + BATCH]))
        for start in range(0, len(keys), BATCH)
    )


def make_due_again(ended: QuerySet[ReceiverRun]) -> int:
    """Makes runs that ended without success due now; returns how many. One UPDATE: of two callers one makes it due."""
    return ended.update(
        state=ReceiverRun.State.DUE, attempts=0, due_at=datetime.now(UTC), finished_at=None, error=""
    )
