"""Outbox messages, written and fanned out: a run for each connected receiver, in the order of the messages of a line.

The messages of one line (a checkout, or an order without one) are written under its lock, so their keys are in the order in
which they were recorded. A message is fanned out only when no older message of its line is new. So the process that has
locked the oldest one fans out the line alone, and two processes at the same time never let a later run overtake.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet

from checkout_integration.flows.database import (
    Command,
    insert,
    insert_missing,
    key_of,
    locked,
    state_database,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.outbox.claiming import new_fence
from checkout_integration.flows.outbox.exclusivity import Place, lock_heads
from checkout_integration.models import (
    Notification,
    Order,
    OutboxMessage,
    ReceiverRun,
    SyncRun,
    ValidationDecision,
)
from checkout_integration.models.row import Row
from checkout_integration.signals import SIGNALS, DurableSignal
from checkout_integration.signals.arguments import Origin

FAN_OUT_BATCH = 200
SECONDS_EACH: Final = 0.03
"""The expected time of a batch: none is begun when less time is left."""
State = OutboxMessage.State
AHEAD: Final = Command(
    """SELECT 'sent', 0, idempotency_key FROM {messages} WHERE idempotency_key IN {keys}
    UNION ALL
    SELECT 'messages', checkout_id, '' FROM {messages} WHERE state = 'new' AND checkout_id IN {checkouts}
    UNION ALL
    SELECT 'messages', -order_id, '' FROM {messages}
        WHERE state = 'new' AND order_id IN {orders} AND checkout_id IS NULL
    UNION ALL
    SELECT 'runs', line, '' FROM {runs} WHERE line IN {lines} AND state IN ('due', 'running')
    """,
    messages=OutboxMessage,
    runs=ReceiverRun,
)


def message_key(*parts: object) -> str:
    """Return the key that lets one logical event be sent once: 128 bits, in hex."""
    return key_of(*parts)


def life_cycle_message(
    signal: DurableSignal[Any, Any],
    project: str,
    *parts: object,
    source: Origin,
    **arguments: str | int | bool,
) -> OutboxMessage:
    """Return a message about the app's own work; ``parts`` make its key. The caller's transaction makes that state change.

    It has no order and so no line: an alert that cannot be sent for hours holds up no other alert, and no goods.
    """
    return OutboxMessage(
        idempotency_key=message_key(project, signal.name, *parts),
        signal=signal.name,
        project=project,
        arguments={"source": source, **arguments},
    )


ROWS: Final[Mapping[str, type[Row]]] = {
    "decision": ValidationDecision,
    "notification": Notification,
    "run": ReceiverRun,
    "sync_run": SyncRun,
}
"""Arguments that are rows; a message stores their primary keys."""


def rows_among_arguments(messages: Collection[OutboxMessage]) -> dict[int, dict[str, Row | None]]:
    """Return the rows among the arguments of messages, by their messages' keys: one statement for each of `ROWS` at most."""
    rows: dict[int, dict[str, Row | None]] = {}
    for name, model in ROWS.items():
        keys = {message.pk: message.arguments[name] for message in messages if name in message.arguments}
        found = model._default_manager.using(state_database()).in_bulk(keys.values()) if keys else {}
        for message, key in keys.items():
            rows.setdefault(message, {})[name] = found.get(key)
    return rows


def order_as_written(message: OutboxMessage) -> Order | None:
    """Return the order of a message, or its grant's payer, if all rows of its arguments are there as they were written."""
    order: Order | None = (
        _cached(message, "grant", "order") if message.grant_id else _cached(message, "order")
    )
    complete = (
        order is not None
        and ROWS.keys().isdisjoint(message.arguments)
        and _has_all(message, "transition", "checkout")
        and _has_all(order, "checkout", "user")
        and _cached(order, "personal_data") is not None
    )
    return order if complete else None


def _cached(row: Any, *names: str) -> Any:
    """Return what a chain of relations leads to, without reading it; None if a row is not there."""
    for name in names:
        if not row._meta.get_field(name).is_cached(row):
            return None
        row = getattr(row, name)
    return row


def _has_all(row: Row, *names: str) -> bool:
    """Return whether the rows of these relations are there, where they are not empty."""
    return all(getattr(row, f"{name}_id") is None or _cached(row, name) is not None for name in names)


@dataclass(kw_only=True)
class FanOut:
    """Runs that are made together with their messages, in one transaction, by a process that knows the receivers.

    Attributes:
        claims: whether the first run of a line is claimed as it is made, if no run of the line is due or running. The process
            attempts it right after its commit.
        claimed: the runs that were claimed.

    """

    claims: bool = False
    claimed: list[ReceiverRun] = field(default_factory=list)


def write_messages(
    messages: Sequence[OutboxMessage], fan_out: FanOut | None = None, *, fresh: Collection[int] = ()
) -> None:
    """Insert the messages whose key is new. In the caller's transaction, under the locks of their orders and checkouts.

    With a ``fan_out`` their runs are inserted too, unless an older message of their line is new: those are left to the
    function `fan_out`. A message whose signal has no receiver in this process then becomes ``no_receivers``. ``fresh``: lines
    without messages and runs, since the caller has just inserted their order, or is the first to bind one to their checkout.
    """
    if fan_out is None or not messages:
        insert_missing(messages, "idempotency_key", in_order=True)
        return
    ahead = _ahead_of(messages, fresh)
    # Of several with one key, one.
    new = list(
        {each.idempotency_key: each for each in messages if each.idempotency_key not in ahead.sent}.values()
    )
    for message in new:
        if message.line not in ahead.messages:
            message.state = _state_of(message)
    insert(new, key=("idempotency_key",), in_order=True)
    runs = _runs_of([each for each in new if each.state == State.FANNED_OUT], lock_heads(ahead.runs))
    if fan_out.claims:
        fan_out.claimed += _claimed(runs, ahead.runs)
    # RACE: if staff have just made an older run due again and it was claimed, the line is not free: the caller retries all.
    insert(runs, key=("message", "receiver"), in_order=True)


class _Ahead(NamedTuple):
    """Keys of messages that are stored, lines with new messages, and lines with runs that others may wait for."""

    sent: set[str]
    messages: set[int]
    runs: set[int]


def _ahead_of(messages: Sequence[OutboxMessage], fresh: Collection[int]) -> _Ahead:
    """Return what is ahead of new messages in their lines. It locks no row; the caller has locked the lines.

    RACE: messages are written only under these locks, and runs are made only by fanning out a message. So a message that is
    new now gets its runs later; and if no run is due or running now, there is none to wait for.
    """
    ahead = _Ahead(set(), set(), set())
    lines = _lines_of(messages).difference(fresh)
    # A message about an order that was just inserted cannot have been stored before.
    keys = [each.idempotency_key for each in messages if each.order_id is None or -each.order_id not in fresh]
    if not (lines or keys):
        return ahead
    checkouts, orders = [line for line in lines if line > 0], [-line for line in lines if line < 0]
    for kind, line, key in AHEAD.fetch(keys=keys, lines=lines, checkouts=checkouts, orders=orders):
        if kind == "sent":
            ahead.sent.add(key)
        else:
            (ahead.runs if kind == "runs" else ahead.messages).add(line)
    return ahead


def fan_out(ends_at: float = math.inf) -> int:
    """Make runs of every new message for the receivers that are connected here; return the number of messages.

    ``ends_at``: a time of the monotonic clock, before which the last batch is expected to end. The next call continues.
    """
    total = 0
    # Read first, with retries: this is the first statement of a worker whose connection was lost.
    while time.monotonic() < ends_at - SECONDS_EACH and with_retries(_ANY_NEW.fetch):
        if not (count := with_retries(_fan_out)):
            break
        total += count
    return total


_ANY_NEW: Final = Command(
    "SELECT 1 FROM {messages} message WHERE message.state = 'new' LIMIT 1", messages=OutboxMessage
)


def _new() -> QuerySet[OutboxMessage]:
    return OutboxMessage.objects.using(state_database()).filter(state=State.NEW)


def _lines_of(messages: Iterable[OutboxMessage]) -> set[int]:
    return {message.line for message in messages if message.line is not None}


def _fan_out() -> int:
    """Fan out one batch in a transaction; return its number of messages."""
    with write_transaction():
        # Messages that another process is fanning out are left to it.
        batch = list(locked(_new(), wait=False).order_by("pk")[:FAN_OUT_BATCH])
        # RACE: messages of other processes are read after ours are locked: each is new, and ahead, or its runs are committed.
        older = _new().filter(pk__lt=batch[-1].pk) if batch else _new().none()
        oldest_of_line: dict[int | None, int] = {}
        for other in older.exclude(pk__in=[message.pk for message in batch]).order_by("-pk"):
            oldest_of_line[other.line] = other.pk
        free = [
            each for each in batch if each.line is None or oldest_of_line.get(each.line, each.pk) >= each.pk
        ]
        for message in free:
            message.state = _state_of(message)
        given = [message for message in free if message.state == State.FANNED_OUT]
        insert_missing(_runs_of(given, lock_heads(_lines_of(given))), "message", "receiver", in_order=True)
        for state in (State.FANNED_OUT, State.NO_RECEIVERS):
            keys = [message.pk for message in free if message.state == state]
            OutboxMessage.objects.using(state_database()).filter(pk__in=keys).update(state=state)
    return len(free)


def _state_of(message: OutboxMessage) -> OutboxMessage.State:
    return State.FANNED_OUT if _receivers_of(message) else State.NO_RECEIVERS


def _receivers_of(message: OutboxMessage) -> list[str]:
    """Return the names of the message's receivers; none for a signal that only a newer version of the app knows."""
    signal = SIGNALS.get(message.signal)
    return sorted(signal.connected(Order)) if signal else []


def _runs_of(messages: Sequence[OutboxMessage], places: set[Place]) -> list[ReceiverRun]:
    """Return the runs of messages, in the order of the messages: due, or waiting for a run ahead of them at these places."""
    now, runs = datetime.now(UTC), []
    for message in messages:
        for receiver in _receivers_of(message):
            run = ReceiverRun.new(message=message, line=message.line, receiver=receiver, due_at=now)
            place = (run.line, receiver)
            if place in places:
                run.state = ReceiverRun.State.WAITING
            if run.line is not None:
                places.add(place)
            runs.append(run)
    return runs


def _claimed(runs: Sequence[ReceiverRun], busy: Collection[int]) -> list[ReceiverRun]:
    """Claim the first of the new runs of each line that is not busy, and return them."""
    first: dict[int, ReceiverRun] = {}
    for run in runs:
        if run.line is not None and run.line not in busy:
            first.setdefault(run.line, run)
    fence = new_fence()
    for line, run in first.items():
        run.state, run.attempts, run.fence, run.exclusive = ReceiverRun.State.RUNNING, 1, fence, line
    return list(first.values())
