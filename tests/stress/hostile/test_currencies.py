"""Each active code of ISO 4217: sent amounts fit its places, received ones are stored, the verdict compares exactly."""

from __future__ import annotations

import csv
from dataclasses import replace
from decimal import Decimal

import pytest

from checkout_integration.models.columns import as_column_money
from checkout_integration.policy.binding import CheckoutValue
from checkout_integration.policy.verdict import Reason
from checkout_integration.protocol.creation import OrderRequest, build_order_document
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.strict_json import dumps, loads
from tests.support.corpora import corpus
from tests.support.policy.checkouts import PAYS_SIMPLE, SIMPLE, VERIFIED, review, success, verdict


@pytest.fixture(scope="module")
def places() -> dict[str, int]:
    """Codes in use with the places of their minor unit."""
    with corpus("currencies/codes-all.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            row for row in csv.DictReader(file) if not row["WithdrawalDate"] and row["MinorUnit"].isdigit()
        ]
    found = {row["AlphabeticCode"]: int(row["MinorUnit"]) for row in rows}
    assert len(found) > 160
    return found


def smallest(places: int) -> Decimal:
    """One of the currency's smallest unit."""
    return Decimal(1).scaleb(-places)


def is_sent(amount: Decimal, currency: str) -> bool:
    """Whether an order of this price would be sent."""
    try:
        build_order_document(OrderRequest(project="p", type="simple", amount=amount, currency=currency))
    except CreationError:
        return False
    return True


def test_a_price_with_more_places_than_its_currency_is_never_sent(places: dict[str, int]) -> None:
    """One of the smallest unit is; a tenth more is refused, never rounded."""
    assert [code for code, each in places.items() if not is_sent(1 + smallest(each), code)] == []
    assert [code for code, each in places.items() if is_sent(1 + smallest(each + 1), code)] == []


def test_an_amount_that_comes_is_stored_to_its_last_digit(places: dict[str, int]) -> None:
    """Even with more places than its currency has; the column has it whole, or rounded to the currency."""
    for code, each in places.items():
        for amount in (1 + smallest(each), 1 + smallest(each + 1), 1 + smallest(each + 9)):
            read = loads(dumps({"amount": amount, "currency": code}).encode())
            assert isinstance(read, dict)
            order = parse_order(read)
            assert (order.amount, order.currency) == (amount, code)
            assert as_column_money(order.amount, code) in {amount, round(amount, each)}


def test_the_verdict_compares_to_the_last_place(places: dict[str, int]) -> None:
    """One of the smallest unit less, more, or a hundred times the price is another amount."""
    for code, each in places.items():
        unit = smallest(each)
        checkout: CheckoutValue = replace(SIMPLE, expected_amount=1000 * unit, currency=code)

        def paid(amount: Decimal, code: str = code, checkout: CheckoutValue = checkout) -> object:
            return verdict(success(**{**PAYS_SIMPLE, "amount": amount, "currency": code}), checkout)

        assert paid(1000 * unit) == VERIFIED
        for other in (999 * unit, 1001 * unit, 100_000 * unit, 10 * unit, -1000 * unit, Decimal(0)):
            assert paid(other) == review(Reason.AMOUNT), (code, other)
