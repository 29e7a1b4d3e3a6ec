"""Checkouts, and the payments that pay for them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from checkout_integration.policy.binding import CheckoutValue
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import Reason, Terms, Verdict, VerdictStatus, judge
from tests.support.policy.observations import known, message

VERIFIED = Verdict(VerdictStatus.VERIFIED)
SIMPLE = CheckoutValue(
    project="shop",
    reference="r",
    order_id="order-1",
    type="simple",
    expected_amount=Decimal("9.99"),
    currency="USD",
)
PAYS_SIMPLE = {
    "type": "simple",
    "amount": Decimal("9.99"),
    "original_amount": Decimal("9.99"),
    "currency": "USD",
    "vat_payer": "nobody",
    "is_production": True,
    "testing_case": "",
}
GEMS = replace(SIMPLE, type="product", expected_amount=None, currency="", products=("gem", "sword"))
PAYS_GEMS = {**PAYS_SIMPLE, "type": "products", "items": [{"id": "sword"}, {"id": "gem"}]}
COINS = replace(
    SIMPLE, type="virtual_currency", expected_amount=None, currency="", virtual_currency_amount=Decimal(500)
)
PAYS_COINS = {**PAYS_SIMPLE, "type": "virtual_currency", "virtual_currency_amount": Decimal(500)}


def success(live: bool | None = True, /, **document: Any) -> OrderState:
    """The state of an order after one signed success."""
    return known(message("payment.success", **{**document, "live": live}))


def verdict(
    state: OrderState,
    checkout: CheckoutValue | None = SIMPLE,
    *,
    accept_unbound: bool = False,
    accept_test: bool = False,
) -> Verdict:
    """The verdict, with the safe settings by default."""
    return judge(state, checkout, Terms(accept_unbound=accept_unbound, accept_test=accept_test))


def review(reason: Reason) -> Verdict:
    """A payment for staff to look at."""
    return Verdict(VerdictStatus.REVIEW, reason)
