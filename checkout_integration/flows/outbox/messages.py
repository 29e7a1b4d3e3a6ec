"""Outbox messages, each written together with a run for each receiver: those connected here, and the remembered ones.

The messages of one line (a checkout, or an order without one) are written under its lock, so the keys of messages and runs
are in the order in which they were recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from checkout_integration.flows.database import (
    Command,
    database_now,
    insert,
    key_of,
    state_database,
)
from checkout_integration.flows.outbox.exclusivity import Place, lock_heads
from checkout_integration.flows.outbox.receivers import CHANGES, Remembered, receivers_of, remembered_at
from checkout_integration.models import (
    Notification,
    OutboxMessage,
    Receiver,
    ReceiverRun,
    SyncRun,
    ValidationDecision,
)
from checkout_integration.models.outbox import COMMON_ARGUMENTS
from checkout_integration.models.row import Row
from checkout_integration.signals import DurableSignal, checkout_reversed
from checkout_integration.signals.arguments import Origin

State = OutboxMessage.State
AHEAD: Final = Command(
    """SELECT 'sent', idempotency_key, 0 FROM {messages} WHERE idempotency_key IN {keys}
    UNION ALL
    SELECT 'run', line, 0 FROM {runs} WHERE line IN {lines} AND state IN ('due', 'running')
    UNION ALL
    SELECT 'receivers', '', [changes]
    """.replace("[changes]", CHANGES),
    messages=OutboxMessage,
    runs=ReceiverRun,
    receivers=Receiver,
)


def life_cycle_message(
    signal: DurableSignal[Any],
    project: str,
    *parts: object,
    source: Origin,
    **arguments: str | int | bool,
) -> OutboxMessage:
    """Return a message about the app's own work; ``parts`` make its key, by which it is sent once.

    The caller's transaction makes that state change.

    It has no order and so no line: an alert that cannot be sent for hours holds up no other alert, and no goods.
    """
    return OutboxMessage(
        idempotency_key=key_of(project, signal.name, *parts),
        signal=signal.name,
        project=project,
        arguments={"source": source, **arguments},
    )


def without_common(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a message about an order stores of its arguments (`COMMON_ARGUMENTS`)."""
    return {
        name: value
        for name, value in arguments.items()
        if name not in COMMON_ARGUMENTS or value != COMMON_ARGUMENTS[name]
    }


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


def write_messages(messages: Sequence[OutboxMessage]) -> None:
    """Insert the messages whose key is new, and a run for each of their receivers, in the given sequence.

    In the caller's transaction, under the locks of their orders and checkouts. So the runs of a line are made in the order of
    its messages, and no process makes a later run before an earlier one.

    Raises:
        IntegrityError: another transaction has written a message without a line at the same moment; the caller retries.

    """
    if not messages:
        return
    sent, busy, remembered = _ahead_of(messages)
    # Of several with one key, one.
    new = list({each.idempotency_key: each for each in messages if each.idempotency_key not in sent}.values())
    for message in new:
        names = receivers_of(message.signal, remembered)
        message.state = State.SENT if names else State.NO_RECEIVERS
    insert(new, key=("idempotency_key",), in_order=True)
    heads = lock_heads(busy)
    _end_waits(heads, {message.grant_id for message in new if message.signal == checkout_reversed.name})
    places = {(head.line, head.receiver) for head in heads}
    runs = _runs_of(new, places, remembered)
    insert(runs, key=("message", "receiver"), in_order=True)


def _end_waits(heads: Sequence[ReceiverRun], closed: Collection[int | None]) -> None:
    """Make locked runs due now that wait for their next attempt for a grant that is closed: they end without one."""
    now = database_now()
    waiting = [head for head in heads if head.state == "due" and head.due_at > now]
    if not waiting or not closed:
        return
    messages = OutboxMessage.primary.filter(pk__in={head.message_id for head in waiting}, grant__in=closed)
    own = set(messages.values_list("pk", flat=True))
    # Several receivers may wait for one message.
    runs = [head.pk for head in waiting if head.message_id in own]
    ReceiverRun.primary.filter(pk__in=runs).update(due_at=now)


def _ahead_of(messages: Sequence[OutboxMessage]) -> tuple[set[str], set[str], Remembered]:
    """Return what is ahead of new messages in their lines. It locks no row; the caller has locked the lines.

    Keys of messages that are stored, lines with runs that others may wait for, and the receivers as they are now.

    RACE: messages and their runs are written only under these locks. So if no run of a line is due or running now, there is
    none to wait for. A process that has recorded a receiver, and then a message, is seen here, since this is read after the
    locks: its later messages get a run for that receiver.
    """
    lines = {each.line for each in messages if each.line is not None}
    found = AHEAD.fetch(keys=[each.idempotency_key for each in messages], lines=lines)
    sent = {name for kind, name, _ in found if kind == "sent"}
    busy = {name for kind, name, _ in found if kind == "run"}
    return sent, busy, next(remembered_at(number) for kind, _, number in found if kind == "receivers")


def _runs_of(
    messages: Sequence[OutboxMessage], places: set[Place], remembered: Remembered
) -> list[ReceiverRun]:
    """Return the runs of messages, in the order of the messages: due, or waiting for a run ahead of them at these places."""
    now, runs = database_now(), []
    for message in messages:
        for receiver in receivers_of(message.signal, remembered):
            run = ReceiverRun(message=message, line=message.line, receiver=receiver, due_at=now)
            place = (run.line, receiver)
            if place in places:
                run.state = ReceiverRun.State.WAITING
            if run.line is not None:
                places.add(place)
            runs.append(run)
    return runs
