"""What staff add to what is known: a note on an order."""

from __future__ import annotations

from checkout_integration.flows.database import (
    locked,
    record_staff_act,
    with_retries,
    write_transaction,
)
from checkout_integration.models import Order, PersonalData, Transition
from checkout_integration.models.actor import Actor, actor_columns
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.policy.observation import Source


def add_note(order: Order, *, staff: Actor, text: str) -> None:
    """Add a note to an order's history, with its author. It changes nothing else, and is erased with the customer.

    Raises ``ValueError`` for an empty note, for one of more than 1,000 characters, and where the customer was erased.
    """
    if not 0 < len(text.strip()) <= LONGEST_REASON:
        raise ValueError(f"A note has between 1 and {LONGEST_REASON} characters.")
    with_retries(lambda: _add_note(order, staff, text.strip()))


def _add_note(order: Order, staff: Actor, text: str) -> None:
    orders = Order.primary.all()
    with write_transaction():
        # RACE: an erasure deletes the notes of an order that it has locked, so this one comes before or after it.
        status = locked(orders.filter(pk=order.pk)).values_list("status", flat=True).get()
        if PersonalData.primary.filter(order=order.pk).exclude(erased_at=None).exists():
            raise ValueError("The customer of this order was erased.")
        Transition.primary.create(
            order_id=order.pk,
            from_status=status,
            to_status=status,
            source=Source.STAFF.value,
            act=Transition.Act.NOTE,
            reason=text,
            **actor_columns(staff),
        )
        # Without its text, which stays in the history.
        record_staff_act(Transition.Act.NOTE, staff, project=order.project, order_id=order.pk)
