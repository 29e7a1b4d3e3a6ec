"""What contradicts itself in an order: facts that no path of the specification has together, and fields that do not agree."""

from __future__ import annotations

from checkout_integration.policy.amounts import inexact_amounts
from checkout_integration.policy.facts import Facts
from checkout_integration.policy.fields import Merged
from checkout_integration.policy.observation import Source
from checkout_integration.policy.refunds import Returned
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.vocabulary import OrderStatus

PAID_AND_CANCELED = "paid_and_canceled"
LISTED_CANCELED_THOUGH_PAID = "listed_canceled_though_paid"
DOUBLE_LOSS = "double_loss"
REVERSAL_AFTER_DECISION = "reversal_after_decision"
LISTED_REJECTED_WITH_TRANSACTION = "listed_rejected_with_transaction"
NEGATIVE_CHARGE = "negative_charge"
ZERO_CHARGE = "zero_charge"


def contradictions_of(facts: Facts, merged: Merged, order: Order, returned: Returned) -> frozenset[str]:
    """Return the codes of all contradictions of an order: staff should look at them."""
    found = set(of_facts(facts))
    found |= {f"conflict:{name}" for name in merged.conflicts}
    found |= {f"inexact:{name}" for name in inexact_amounts(order)}
    found |= returned.problems | _of_charge(order, merged)
    listed_rejected = facts.knows(OrderStatus.REJECTED, Source.LIST)
    signed = facts.knows(OrderStatus.REJECTED, Source.NOTIFICATION)
    if listed_rejected and not signed and order.transaction and order.cancellation is None:
        found.add(LISTED_REJECTED_WITH_TRANSACTION)
    return frozenset(found)


def of_facts(facts: Facts) -> frozenset[str]:
    """Return the codes of facts that no path of the specification has together."""
    found = set()
    if facts.knows(OrderStatus.PROCESSED):
        ends = (OrderStatus.CANCELED, OrderStatus.REJECTED)
        if any(facts.knows(end, Source.NOTIFICATION) for end in ends):
            found.add(PAID_AND_CANCELED)
        elif any(facts.knows(end, Source.LIST) for end in ends):
            found.add(LISTED_CANCELED_THOUGH_PAID)
    if facts.knows(OrderStatus.REFUNDED) and facts.knows(OrderStatus.CHARGEBACK):
        found.add(DOUBLE_LOSS)
    if facts.reversals_after_decision:
        found.add(REVERSAL_AFTER_DECISION)
    return frozenset(found)


def _of_charge(order: Order, merged: Merged) -> frozenset[str]:
    """Return the code of a charge that no paid order has: a negative one, or zero in a stated currency."""
    charged, its = order.charge_amount, merged.stamps.get("charge_amount")
    if charged is None or charged > 0 or its is None or not its.settled:
        return frozenset()
    if charged < 0:
        return frozenset({NEGATIVE_CHARGE})
    return frozenset({ZERO_CHARGE} if order.charge_currency else ())
