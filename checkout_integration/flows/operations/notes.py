"""What staff add to what is known: a note on an order."""

from __future__ import annotations

from checkout_integration.flows.database import in_transaction, locked, record_staff_act
from checkout_integration.models import Order, PersonalData, Transition
from checkout_integration.models.actor import Actor, actor_columns
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.policy.observation import Source


@in_transaction
def add_note(order: Order, *, staff: Actor, text: str) -> None:
    """Add a note to an order's history, with its author. It changes nothing else, and is erased with the customer.

    Raises ``ValueError`` for an empty note, for one of more than 1,000 characters, and where the customer was erased.
    """
    if not 0 < len(text.strip()) <= LONGEST_REASON:
        raise ValueError(f"A note has between 1 and {LONGEST_REASON} characters.")
    # RACE: an erasure deletes the notes of an order that it has locked, so this one comes before or after it.
    row = locked(Order.primary.filter(pk=order.pk)).only("status").get()
    if PersonalData.primary.filter(order=order.pk).exclude(erased_at=None).exists():
        raise ValueError("The customer of this order was erased.")
    note_in_history(row, Transition.Act.NOTE, staff, text.strip())
    # Without its text, which stays in the history.
    record_staff_act(Transition.Act.NOTE, staff, project=order.project, order_id=order.pk)


def note_in_history(order: Order, act: Transition.Act, staff: Actor, text: str) -> None:
    """Add what staff did to an order's history, where its status does not change."""
    Transition.primary.create(
        order=order,
        from_status=order.status,
        to_status=order.status,
        source=Source.STAFF.value,
        act=act,
        reason=text,
        **actor_columns(staff),
    )
