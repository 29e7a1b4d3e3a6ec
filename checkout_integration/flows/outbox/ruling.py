"""Whether a run of ``checkout_paid`` or ``checkout_reversed`` still has something to do, asked before each attempt.

The runs of one checkout are exclusive, so what was granted cannot change between this and the attempt. Only a run that began
before its order was bound to a checkout belongs to another line: a reversal waits until it has ended.
"""

from __future__ import annotations

from enum import Enum, auto

from checkout_integration.flows.database.connection import insert_once, key_of, state_database
from checkout_integration.models import Grant, Incident, Order, OutboxMessage, ReceiverRun
from checkout_integration.policy.fulfilment import GrantedBy, Undo, undo
from checkout_integration.policy.verdict import Reason
from checkout_integration.signals import checkout_paid, checkout_reversed


class Ruling(Enum):
    """What becomes of a run. ``SUPERSEDED``: its grant was closed, or nothing was granted that it could undo."""

    RUN = auto()
    WAIT = auto()
    SUPERSEDED = auto()
    RECEIVERS_RENAMED = auto()


def ruling_on(run: ReceiverRun) -> Ruling:
    """Return whether a claimed run is to be run; the grant is read anew."""
    message = run.message
    if message.grant_id is None:
        return Ruling.RUN
    # RACE: before the grant is read, so that whoever is not seen here has noted on it what they granted.
    if message.signal == checkout_reversed.name and _is_being_granted(message.grant_id):
        return Ruling.WAIT
    grant = Grant.objects.using(state_database()).get(pk=message.grant_id)
    message.grant = grant
    if message.signal == checkout_paid.name:
        return Ruling.RUN if grant.state == Grant.State.OPEN else Ruling.SUPERSEDED
    return _ruling_on_reversal(run, grant)


def _is_being_granted(grant_id: int) -> bool:
    """Return whether a receiver of ``checkout_paid`` runs for a grant. None begins once the grant is closed."""
    running = ReceiverRun.objects.using(state_database()).filter(state=ReceiverRun.State.RUNNING)
    return running.filter(message__grant=grant_id, message__signal=checkout_paid.name).exists()


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
    order = message.order
    assert order is not None  # of a grant
    words = (message.project, "review", order.order_id, reason)
    review = OutboxMessage(
        idempotency_key=key_of(*words),
        signal="payment_review",
        project=message.project,
        order=order,
        checkout=message.checkout,
        arguments={**message.arguments, "reason": reason},
    )
    incident = Incident(
        key=key_of("order", message.project, order.order_id, f"review:{reason}"),
        kind=f"review:{reason}",
        project=message.project,
        order=order,
        detail=run.receiver,
    )
    insert_once([review], "idempotency_key")
    insert_once([incident], "key")
