"""Consequences of a change of an order's state: events to send as signals, and contradictions for staff."""

from __future__ import annotations

from checkout_integration.policy import status as status_rules
from checkout_integration.policy.facts import Facts
from checkout_integration.policy.fields import MONEY_CONFLICTS
from checkout_integration.policy.observation import Source
from checkout_integration.policy.state import PARTIAL_REFUND, OrderState
from checkout_integration.protocol.vocabulary import Event, OrderStatus

REVIEWED = {
    status_rules.PAID_AND_CANCELED,
    status_rules.DOUBLE_LOSS,
    status_rules.REVERSAL_AFTER_DECISION,
    PARTIAL_REFUND,
    *(f"conflict:{field}" for field in MONEY_CONFLICTS),
}
"""Contradictions for which ``payment_review`` is sent; the others are incidents only."""


def new_events(before: OrderState, after: OrderState) -> tuple[Event, ...]:
    """Return the payment events first known by this step, in the order in which they happen to a payment.

    No signal is sent for a late success of a payment that is reversed already: docs/guarantees.md, "No silent upgrade".
    """
    events = []
    if _newly(before.facts, after.facts, OrderStatus.PROCESSED) and not after.fully_reversed:
        events.append(Event.PAYMENT_SUCCESS)
    if _cancel_known(after.facts) and not _cancel_known(before.facts):
        events.append(Event.PAYMENT_CANCEL)
    if _newly(before.facts, after.facts, OrderStatus.REFUNDED):
        events.append(Event.PAYMENT_REFUND)
    if _newly(before.facts, after.facts, OrderStatus.CHARGEBACK):
        events.append(Event.PAYMENT_CHARGEBACK)
    return tuple(events)


def new_contradictions(before: OrderState, after: OrderState) -> tuple[str, ...]:
    """Return codes of contradictions for staff that this step shows first."""
    return tuple(sorted(after.contradictions - before.contradictions)) if after.contradictions else ()


def _newly(before: Facts, after: Facts, kind: OrderStatus) -> bool:
    return after.knows(kind) and not before.knows(kind)


def _cancel_known(facts: Facts) -> bool:
    """Return whether a cancellation is known: a signed one, or a listed one of an order that was not paid."""
    ends = (OrderStatus.CANCELED, OrderStatus.REJECTED)
    signed = any(facts.knows(end, Source.NOTIFICATION) for end in ends)
    return signed or (any(facts.knows(end) for end in ends) and not facts.knows(OrderStatus.PROCESSED))
