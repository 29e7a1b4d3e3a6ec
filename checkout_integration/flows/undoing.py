"""Whether a run of ``checkout_paid`` or ``checkout_reversed`` still has something to do, asked before each attempt.

The runs of one checkout are exclusive, so what was granted cannot change between this and the attempt. Only a run that began
before its order was bound to a checkout belongs to another line: a reversal waits until it has ended.
"""

from __future__ import annotations

from enum import Enum, auto

from checkout_integration.flows.database import insert_once, key_of, state_database
from checkout_integration.models import Announcement, Delivery, Grant, Incident, Order
from checkout_integration.policy.fulfilment import GrantedBy, Undo, undo
from checkout_integration.policy.verdict import Reason
from checkout_integration.signals import checkout_paid, checkout_reversed


class Ruling(Enum):
    """What becomes of a run. ``SUPERSEDED``: its grant was closed, or nothing was granted that it could undo."""

    RUN = auto()
    WAIT = auto()
    SUPERSEDED = auto()
    RECEIVERS_RENAMED = auto()


def ruling_on(delivery: Delivery) -> Ruling:
    """Return whether a claimed run is to be run; the grant is read anew."""
    announcement = delivery.announcement
    if announcement.grant_id is None:
        return Ruling.RUN
    # RACE: before the grant is read, so that whoever is not seen here has noted on it what they granted.
    if announcement.signal == checkout_reversed.name and _is_being_granted(announcement.grant_id):
        return Ruling.WAIT
    grant = Grant.objects.using(state_database()).get(pk=announcement.grant_id)
    announcement.grant = grant
    if announcement.signal == checkout_paid.name:
        return Ruling.RUN if grant.state == Grant.State.OPEN else Ruling.SUPERSEDED
    return _ruling_on_reversal(delivery, grant)


def _is_being_granted(grant_id: int) -> bool:
    """Return whether a receiver of ``checkout_paid`` runs for a grant. None begins once the grant is closed."""
    running = Delivery.objects.using(state_database()).filter(state=Delivery.State.RUNNING)
    return running.filter(announcement__grant=grant_id, announcement__signal=checkout_paid.name).exists()


def _ruling_on_reversal(delivery: Delivery, grant: Grant) -> Ruling:
    connected = checkout_paid.connected(sender=Order)
    undoing = checkout_reversed.undoing(delivery.receiver, connected)
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


def ask_staff_to_undo(delivery: Delivery) -> None:
    """Ask for a review: goods were granted by receivers that are not known any more. Inside the caller's transaction."""
    announcement, reason = delivery.announcement, Reason.RECEIVERS_RENAMED
    order = announcement.order
    assert order is not None  # of a grant
    words = (announcement.project, "review", order.order_id, reason)
    review = Announcement(
        idempotency_key=key_of(*words),
        signal="payment_review",
        project=announcement.project,
        order=order,
        checkout=announcement.checkout,
        arguments={**announcement.arguments, "reason": reason},
    )
    incident = Incident(
        key=key_of("order", announcement.project, order.order_id, f"review:{reason}"),
        kind=f"review:{reason}",
        project=announcement.project,
        order=order,
        detail=delivery.receiver,
    )
    insert_once([review], "idempotency_key")
    insert_once([incident], "key")
