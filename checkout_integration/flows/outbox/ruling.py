"""Whether a run of ``checkout_paid`` or ``checkout_reversed`` still has something to do, asked before each attempt.

The runs of one checkout are exclusive, so what was granted cannot change between this and the attempt. Only a run that began
before its order was bound to a checkout belongs to another line: a reversal waits until it has ended.
"""

from __future__ import annotations

from enum import Enum, auto

from checkout_integration.flows.database.connection import (
    key_of,
    locked,
    state_database,
)
from checkout_integration.flows.database.statements import insert_missing
from checkout_integration.flows.outbox.messages import message_key, write_messages
from checkout_integration.models import Checkout, Grant, Incident, Order, OutboxMessage, ReceiverRun
from checkout_integration.policy.fulfilment import GrantedBy, Undo, undo
from checkout_integration.policy.verdict import Reason
from checkout_integration.signals import checkout_paid, checkout_reversed


class Ruling(Enum):
    """What becomes of a run. ``SUPERSEDED``: its grant was closed, or nothing was granted that it could undo."""

    RUN = auto()
    WAIT = auto()
    SUPERSEDED = auto()
    RECEIVERS_RENAMED = auto()


def ruling_on(run: ReceiverRun, *, granting: bool) -> Ruling:
    """Return whether a run is to be run. ``granting``: whether a receiver of ``checkout_paid`` runs for its grant.

    RACE: ``granting`` was read before the grant is read here, so that whoever was not seen has noted on it what they granted;
    none begins once the grant is closed.
    """
    message = run.message
    if message.grant is None:
        return Ruling.RUN
    if message.signal == checkout_paid.name:
        return Ruling.RUN if message.grant.state == Grant.State.OPEN else Ruling.SUPERSEDED
    if message.signal != checkout_reversed.name:
        return Ruling.RUN
    if granting:
        return Ruling.WAIT
    message.grant = Grant.objects.using(state_database()).get(pk=message.grant.pk)
    return _ruling_on_reversal(run, message.grant)


def _ruling_on_reversal(run: ReceiverRun, grant: Grant) -> Ruling:
    connected = checkout_paid.connected(sender=Order)
    undoing = checkout_reversed.undoing(run.receiver, connected)
    outcome = undo(
        GrantedBy(begun=frozenset(grant.begun), completed=frozenset(grant.completed)),
        undoing.names,
        connected=frozenset(connected),
        attempted=undoing.when == "attempted",
    )
    return {
        Undo.RUN: Ruling.RUN,
        Undo.NOTHING: Ruling.SUPERSEDED,
        Undo.UNKNOWN: Ruling.RECEIVERS_RENAMED,
    }[outcome]


def ask_staff_to_undo(run: ReceiverRun) -> None:
    """Ask for a review: goods were granted by receivers that are not known any more. Inside the caller's transaction."""
    message, reason = run.message, Reason.RECEIVERS_RENAMED
    # Lock order: order, checkout. The messages of a line are recorded under the lock of its checkout or order.
    order = locked(Order.objects.using(state_database()).filter(outbox_messages=message)).get()
    if message.checkout_id:
        locked(Checkout.objects.using(state_database()).filter(pk=message.checkout_id)).get()
    words = (message.project, "review", order.order_id, reason)
    review = OutboxMessage(
        idempotency_key=message_key(*words),
        signal="payment_review",
        project=message.project,
        order=order,
        checkout_id=message.checkout_id,
        arguments={**message.arguments, "reason": reason},
    )
    incident = Incident(
        key=key_of("order", message.project, order.order_id, f"review:{reason}"),
        kind=f"review:{reason}",
        project=message.project,
        order=order,
        detail=run.receiver,
    )
    write_messages([review], fan_out=False)
    insert_missing([incident], "key")
