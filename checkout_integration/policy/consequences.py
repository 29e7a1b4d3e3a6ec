"""What follows when an order's state moves: the facts to announce, and what staff should look at."""

from __future__ import annotations

from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy.facts import Facts
from checkout_integration.policy.fields import MONEY_CONFLICTS
from checkout_integration.policy.observation import Source
from checkout_integration.policy.state import PARTIAL_REFUND, OrderState
from checkout_integration.protocol.vocabulary import Event, OrderStatus

REVIEWED = {
    fact_rules.PAID_AND_CANCELED,
    fact_rules.DOUBLE_LOSS,
    fact_rules.REVERSAL_AFTER_DECISION,
    PARTIAL_REFUND,
    *(f"conflict:{field}" for field in MONEY_CONFLICTS),
}
"""Contradictions that are announced as ``payment_review``; the others are incidents only."""


def new_events(before: OrderState, after: OrderState) -> tuple[Event, ...]:
    """The payment events first known by this step, in the order in which they happen to a payment.

    A late success of a payment that is reversed already is not announced (G7).
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
    """Codes of what staff should look at, first seen in this step."""
    return tuple(sorted(after.contradictions - before.contradictions)) if after.contradictions else ()


def _newly(before: Facts, after: Facts, kind: OrderStatus) -> bool:
    return after.knows(kind) and not before.knows(kind)


def _cancel_known(facts: Facts) -> bool:
    """A signed end, or a listed one: but a paid order that the list turns ``rejected`` was not cancelled by anyone."""
    ends = (OrderStatus.CANCELED, OrderStatus.REJECTED)
    signed = any(facts.knows(end, Source.NOTIFICATION) for end in ends)
    return signed or (any(facts.knows(end) for end in ends) and not facts.knows(OrderStatus.PROCESSED))
