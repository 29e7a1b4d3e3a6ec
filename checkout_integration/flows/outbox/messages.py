"""Writing messages, and fanning them out: a run for each receiver that is connected, in the order of their line.

The messages of one line (a checkout, or an order without one) are written under its lock, so their keys are in the order in
which they were recorded. One is fanned out only when no older one of its line is new. Whoever holds the oldest therefore
fans out its line alone, and two processes at once never let a later run overtake.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from checkout_integration.flows.database.connection import (
    acquire_write_lock,
    key_of,
    locked,
    state_database,
)
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.database.statements import insert, insert_missing
from checkout_integration.flows.outbox.lines import lock_heads
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import SIGNALS

FAN_OUT_BATCH = 200
State = OutboxMessage.State


def message_key(*parts: object) -> str:
    """Return the key by which one logical event is sent once: 128 bits, in hex."""
    return key_of(*parts)


def write_messages(messages: Sequence[OutboxMessage], *, fan_out: bool) -> None:
    """Insert those messages whose key is new. In the caller's transaction, under the locks of their orders and checkouts.

    With ``fan_out`` also their runs, where no older message of their line is new; others are left to `fan_out`. Only for
    processes that run receivers: a message whose signal has no receiver here becomes ``no_receivers``.
    """
    if not fan_out or not messages:
        insert_missing(messages, "idempotency_key", in_order=True)
        return
    table = OutboxMessage.objects.using(state_database())
    keys = [message.idempotency_key for message in messages]
    known = set(table.filter(idempotency_key__in=keys).values_list("idempotency_key", flat=True))
    new = {each.idempotency_key: each for each in messages if each.idempotency_key not in known}
    behind = {message.line for message in _new(_lines_of(new.values()))}
    for message in new.values():
        if message.line is None or message.line not in behind:
            message.state = _state_of(message)
    insert(list(new.values()), key=("idempotency_key",), in_order=True)
    _add_runs([message for message in new.values() if message.state == State.FANNED_OUT])


def fan_out(ends_at: float = math.inf, *, lines: Collection[int] | None = None) -> int:
    """Give every new message, or those of some lines, to the receivers that are connected here; return how many.

    ``ends_at``: a time of the monotonic clock, at which a long queue is left to the next call.
    """
    total = 0
    # Read first, with retries: a worker whose connection was lost comes by here before anything else.
    while time.monotonic() < ends_at and with_retries(lambda: _new(lines).exists()):
        if not (count := with_retries(lambda: _fan_out(lines))):
            break
        total += count
    return total


def _new(lines: Collection[int] | None = None) -> QuerySet[OutboxMessage]:
    new = OutboxMessage.objects.using(state_database()).filter(state=State.NEW)
    if lines is None:
        return new
    orders = Q(order__in=[-line for line in lines if line < 0], checkout=None)
    return new.filter(Q(checkout__in=[line for line in lines if line > 0]) | orders)


def _lines_of(messages: Iterable[OutboxMessage]) -> set[int]:
    return {message.line for message in messages if message.line is not None}


def _fan_out(lines: Collection[int] | None) -> int:
    """Fan out one batch in a transaction; return how many messages it was."""
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        # What another process is fanning out is left to it.
        batch = list(locked(_new(lines), wait=False).order_by("pk")[:FAN_OUT_BATCH])
        # RACE: what others hold is read after what is ours was locked: it is new and in the way, or its runs are committed.
        older = _new(lines).filter(pk__lt=batch[-1].pk) if batch else _new().none()
        held: dict[int | None, int] = {}
        for other in older.exclude(pk__in=[message.pk for message in batch]).order_by("-pk"):
            held[other.line] = other.pk
        free = [each for each in batch if each.line is None or held.get(each.line, each.pk) >= each.pk]
        for message in free:
            message.state = _state_of(message)
        _add_runs([message for message in free if message.state == State.FANNED_OUT])
        for state in (State.FANNED_OUT, State.NO_RECEIVERS):
            keys = [message.pk for message in free if message.state == state]
            OutboxMessage.objects.using(state_database()).filter(pk__in=keys).update(state=state)
    return len(free)


def _state_of(message: OutboxMessage) -> OutboxMessage.State:
    return State.FANNED_OUT if _receivers_of(message) else State.NO_RECEIVERS


def _receivers_of(message: OutboxMessage) -> list[str]:
    """Return the names of the receivers; a signal that only a newer version knows has none here."""
    signal = SIGNALS.get(message.signal)
    return sorted(signal.connected(Order)) if signal else []


def _add_runs(messages: Sequence[OutboxMessage]) -> None:
    """Insert the runs of messages in the order of their keys: due, or waiting for one in front of them."""
    now = datetime.now(UTC)
    places = lock_heads(_lines_of(messages))
    runs = []
    for message in messages:
        for receiver in _receivers_of(message):
            run = ReceiverRun(message=message, line=message.line, receiver=receiver, due_at=now)
            place = (run.line, receiver)
            if place in places:
                run.state = ReceiverRun.State.WAITING
            if run.line is not None:
                places.add(place)
            runs.append(run)
    insert_missing(runs, "message", "receiver", in_order=True)
