"""Which incidents an order opens for staff, for which of them ``payment_review`` is sent, and which close by themselves."""

from __future__ import annotations

from typing import Final

from checkout_integration.policy.contradictions import DOUBLE_LOSS, PAID_AND_CANCELED, REVERSAL_AFTER_DECISION
from checkout_integration.policy.drift import REVERSAL_UNDONE, may_be_undone
from checkout_integration.policy.fields import MONEY_CONFLICTS
from checkout_integration.policy.refunds import REFUND_AMOUNT, REFUND_CURRENCY, REFUND_MIXED
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import Verdict, VerdictStatus

REVIEWED = {
    PAID_AND_CANCELED,
    DOUBLE_LOSS,
    REVERSAL_AFTER_DECISION,
    REFUND_CURRENCY,
    REFUND_MIXED,
    REFUND_AMOUNT,
    *(f"conflict:{field}" for field in MONEY_CONFLICTS),
}
"""Contradictions for which ``payment_review`` is sent; the others are incidents only."""
REVIEW: Final = "review:"
"""Begins the kinds of incidents for which ``payment_review`` is sent."""


def causes(state: OrderState, verdict: Verdict) -> frozenset[str]:
    """Return the kinds of incidents whose cause an order has now: staff look at each once, unless it ends before."""
    kinds = {f"{REVIEW}{code}" if code in REVIEWED else code for code in state.contradictions}
    if state.stands and verdict.status is VerdictStatus.REVIEW:
        kinds.add(f"{REVIEW}{verdict.reason}")
    return frozenset(kinds)


def ended(
    were_open: frozenset[str], are_open: frozenset[str], before: OrderState, after: OrderState
) -> list[str]:
    """Return the kinds of incidents that a change closes, since their cause is over."""
    kinds = were_open - are_open
    if may_be_undone(before) and not may_be_undone(after):
        kinds |= {REVERSAL_UNDONE}
    return sorted(kinds)
