"""Running receivers: what is announced is fanned out to one run per receiver, and each run is run on its own.

Every step may be repeated: rows say what is due, and any number of processes may work at the same time. Nothing here knows
Celery.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connections, transaction
from django.db.models import QuerySet

from checkout_integration.flows.database.connection import acquire_write_lock, insert_once, state_database
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.database.statement import ask
from checkout_integration.flows.outbox.attempt import attempt
from checkout_integration.flows.outbox.claims import Worker, claims
from checkout_integration.flows.outbox.lease import renewed
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import SIGNALS

FAN_OUT_BATCH = 200


@dataclass(frozen=True)
class Ran:
    """What `run_due` did: runs run, how many of them failed, and whether it ended before all was run."""

    run: int = 0
    failed: int = 0
    ended_early: bool = False

    def __add__(self, other: Ran) -> Ran:
        return Ran(self.run + other.run, self.failed + other.failed, other.ended_early)


def run_due(
    limit: int = 200,
    seconds: float = 30.0,
    *,
    worker: Worker | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Ran:
    """Runs what is due, oldest first, until nothing is, ``limit`` runs have run, or ``seconds`` have passed.

    With a ``worker`` a receiver holds at most half of its slots. ``stopping`` is asked after each run.
    """
    ends_at = time.monotonic() + seconds
    fan_out(ends_at)
    outcomes = []
    for run in claims(worker):
        outcomes.append(_run(run))
        if len(outcomes) >= limit or time.monotonic() >= ends_at or stopping():
            return Ran(run=len(outcomes), failed=outcomes.count(False), ended_early=True)
    return Ran(run=len(outcomes), failed=outcomes.count(False))


def fan_out(ends_at: float = math.inf) -> int:
    """Makes a run for each receiver that is connected here, of all that was announced; returns how many it read.

    ``ends_at``: a time of the monotonic clock, at which a long queue is left to the next run.
    """
    total = 0
    # Repeated, though it only reads: a worker whose connection was lost comes by here first, and it may keep it for ever.
    while time.monotonic() < ends_at and with_retries(newest_message) and (read := with_retries(_fan_out)):
        total += read
    return total


def newest_message() -> int | None:
    """Key of the newest message that nobody has handed to receivers yet."""
    return next(iter(ask(_newest)), None)


def awaits_fan_out(key: int | None) -> bool:
    """Whether nobody has handed this message to receivers yet. Who does will hand over all that is committed by now.

    RACE: that one looks again after its commit (`fan_out`), so it finds what was committed before this answer.
    """
    return key is not None and bool(ask(_new_under, key=key))


def _newest() -> QuerySet[OutboxMessage, int]:
    return _new().order_by("-pk").values_list("pk", flat=True)[:1]


def _new_under(*, key: int) -> QuerySet[OutboxMessage, int]:
    return _new().filter(pk=key).values_list("pk", flat=True)


def _new() -> QuerySet[OutboxMessage]:
    return OutboxMessage.objects.using(state_database()).filter(state=OutboxMessage.State.NEW)


def _fan_out() -> int:
    """Receiver runs and the states that say so, in one transaction. What another process has in hand is left to it."""
    alias = state_database()
    skip = connections[alias].features.has_select_for_update_skip_locked
    with transaction.atomic(using=alias):
        acquire_write_lock()
        batch = list(_new().select_for_update(skip_locked=skip).order_by("pk")[:FAN_OUT_BATCH])
        _give(batch)
    return len(batch)


def _give(batch: Sequence[OutboxMessage]) -> None:
    # A signal that this version does not know, since a newer one announced it, has no receivers here.
    connected = defaultdict(list, {name: sorted(signal.connected(Order)) for name, signal in SIGNALS.items()})
    runs = [
        ReceiverRun(
            message=each,
            order_id=each.order_id,
            line=each.line,
            receiver=receiver,
            due_at=datetime.now(UTC),
        )
        for each in batch
        for receiver in connected[each.signal]
    ]
    heard = [each.pk for each in batch if connected[each.signal]]
    unheard = [each.pk for each in batch if not connected[each.signal]]
    outbox_messages = OutboxMessage.objects.using(state_database())
    insert_once(runs, "message", "receiver")
    outbox_messages.filter(pk__in=heard).update(state=OutboxMessage.State.FANNED_OUT)
    outbox_messages.filter(pk__in=unheard).update(state=OutboxMessage.State.NO_RECEIVERS)


def _run(run: ReceiverRun) -> bool:
    with renewed(run):
        return attempt(run)
