"""The payment compared with the checkout: products, virtual currency, price, VAT, places of a currency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.policy.binding import CheckoutValue
from checkout_integration.policy.verdict import Reason, Verdict
from tests.support.policy.checkouts import (
    COINS,
    GEMS,
    PAYS_COINS,
    PAYS_GEMS,
    PAYS_SIMPLE,
    SIMPLE,
    VERIFIED,
    review,
    success,
    verdict,
)

ITEMS: list[tuple[Any, Reason]] = [
    ([{"id": "gem"}, {"id": "sword"}], Reason.NONE),
    ([{"id": "sword", "sku": "other"}, {"id": "gem"}], Reason.NONE),
    ([{"id": "gem"}], Reason.PRODUCTS),
    ([{"id": "gem"}, {"id": "gem"}], Reason.PRODUCTS),
    ([{"id": "gem"}, {"id": "sword"}, {"id": "sword"}], Reason.PRODUCTS),
    ([{"id": "gem"}, {"id": "shield"}], Reason.PRODUCTS),
    ([{"id": "gem"}, {"sku": "sword"}], Reason.PRODUCTS),
    ([], Reason.NO_ITEMS),
    (None, Reason.NO_ITEMS),
    ("gem,sword", Reason.NO_ITEMS),
]


@pytest.mark.spec("ORD-30", "ORD-35")
@pytest.mark.parametrize(
    ("checkout_type", "order_type"), [("product", "product"), ("product", "products"), ("key", "key")]
)
@pytest.mark.parametrize(("items", "reason"), ITEMS)
def test_the_products_must_be_those_of_the_checkout(
    checkout_type: str, order_type: str, items: object, reason: Reason
) -> None:
    """By id and quantity, in any order; the service sets the price."""
    state = success(**{**PAYS_GEMS, "type": order_type, "items": items, "amount": Decimal(1)})
    expected = review(reason) if reason else VERIFIED
    assert verdict(state, replace(GEMS, type=checkout_type)) == expected


@pytest.mark.spec("ORD-22", "ORD-23")
@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        ("9.99", "USD", VERIFIED),
        ("9.98", "USD", review(Reason.AMOUNT)),
        ("9.99", "EUR", review(Reason.CURRENCY)),
    ],
)
def test_a_price_that_the_shop_set_is_compared(amount: str, currency: str, expected: Verdict) -> None:
    """For products too."""
    priced = replace(GEMS, expected_amount=Decimal("9.99"), currency="USD")
    assert verdict(success(**{**PAYS_GEMS, "amount": amount, "currency": currency}), priced) == expected


@pytest.mark.spec("ORD-35")
def test_a_key_is_no_product() -> None:
    """The type of the order must be that of the checkout."""
    assert verdict(success(**{**PAYS_GEMS, "type": "key"}), GEMS) == review(Reason.TYPE)


@pytest.mark.spec("ORD-37")
@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (Decimal("500.0"), VERIFIED),
        (499, review(Reason.VIRTUAL_CURRENCY)),
        (501, review(Reason.VIRTUAL_CURRENCY)),
        (None, review(Reason.VIRTUAL_CURRENCY)),
    ],
)
def test_the_virtual_currency_must_be_that_of_the_checkout(amount: object, expected: Verdict) -> None:
    """500 coins are 500 coins."""
    assert verdict(success(**{**PAYS_COINS, "virtual_currency_amount": amount}), COINS) == expected


@pytest.mark.spec("ORD-35")
@pytest.mark.parametrize("word", ["simple", "products", "key"])
@pytest.mark.parametrize(("units", "expected"), [(500, VERIFIED), (5, review(Reason.VIRTUAL_CURRENCY))])
def test_virtual_currency_may_come_back_as_any_listed_word(word: str, units: int, expected: Verdict) -> None:
    """An Order has no word for it: the type alone leads to no review, the units do."""
    paid = {**PAYS_COINS, "type": word, "virtual_currency_amount": units}
    assert verdict(success(**paid), COINS) == expected


@pytest.mark.spec("ORD-35", "ORD-37", "ITM-01")
@pytest.mark.parametrize(
    ("items", "expected"), [([{"id": "coins"}], VERIFIED), (None, review(Reason.NO_ITEMS))]
)
def test_virtual_currency_sold_as_a_product(items: object, expected: Verdict) -> None:
    """Without an expected amount of it, the products are compared."""
    checkout = replace(COINS, virtual_currency_amount=None, products=("coins",))
    assert verdict(success(**{**PAYS_COINS, "items": items}), checkout) == expected


@pytest.mark.spec("ORD-37", "ORD-22")
@pytest.mark.parametrize(("amount", "expected"), [("9.99", VERIFIED), ("9.98", review(Reason.AMOUNT))])
def test_virtual_currency_sold_by_its_price_alone(amount: str, expected: Verdict) -> None:
    """Without an expected amount or products, the shop's price is compared."""
    checkout = replace(COINS, virtual_currency_amount=None, expected_amount=Decimal("9.99"), currency="USD")
    assert verdict(success(**{**PAYS_COINS, "amount": amount}), checkout) == expected


@pytest.mark.parametrize(
    ("checkout", "document", "reason"),
    [
        (replace(SIMPLE, expected_amount=None), PAYS_SIMPLE, Reason.AMOUNT),
        (replace(COINS, virtual_currency_amount=None), PAYS_COINS, Reason.VIRTUAL_CURRENCY),
        (replace(GEMS, products=()), PAYS_GEMS, Reason.PRODUCTS),
        (replace(GEMS, products=()), {**PAYS_GEMS, "items": []}, Reason.NO_ITEMS),
    ],
)
def test_a_checkout_without_content_cannot_be_paid(
    checkout: CheckoutValue, document: dict[str, Any], reason: Reason
) -> None:
    """It cannot be compared, so no payment grants it."""
    assert verdict(success(**document), checkout) == review(reason)


VAT: list[tuple[Mapping[str, object], Verdict]] = [
    ({"vat_payer": "buyer", "original_amount": "9.99", "amount": "11.89"}, VERIFIED),
    ({"vat_payer": "buyer", "original_amount": "9.98", "amount": "9.99"}, review(Reason.AMOUNT)),
    ({"vat_payer": "buyer", "original_amount": None, "amount": "9.99"}, review(Reason.AMOUNT)),
    ({"vat_payer": "buyer", "original_amount": "9.99", "amount": "9.98"}, review(Reason.AMOUNT)),
    ({"vat_payer": "seller", "original_amount": "8.39", "amount": "9.99"}, VERIFIED),
    ({"vat_payer": "seller", "original_amount": "9.99", "amount": "8.39"}, review(Reason.AMOUNT)),
    ({"vat_payer": "nobody", "original_amount": None, "amount": "9.99"}, VERIFIED),
    ({"vat_payer": "nobody", "original_amount": "9.99", "amount": "9.98"}, review(Reason.AMOUNT)),
    ({"vat_payer": None, "original_amount": "9.99", "amount": "11.89"}, VERIFIED),
    ({"vat_payer": None, "original_amount": "9.98", "amount": "9.99"}, review(Reason.AMOUNT)),
    ({"vat_payer": None, "original_amount": None, "amount": "9.99"}, VERIFIED),
    ({"vat_payer": "unheard of", "original_amount": "9.99", "amount": "9.98"}, review(Reason.AMOUNT)),
]


@pytest.mark.spec("ORD-22", "ORD-33", "ORD-41")
@pytest.mark.parametrize(("document", "expected"), VAT)
def test_vat_that_is_added_for_the_buyer_is_not_the_shops_price(
    document: Mapping[str, object], expected: Verdict
) -> None:
    """Where the customer pays it, ``original_amount`` is the price; else ``amount`` is."""
    assert verdict(success(**{**PAYS_SIMPLE, **document})) == expected


@pytest.mark.spec("ORD-22")
@pytest.mark.parametrize(
    ("currency", "expected", "paid", "same"),
    [
        ("JPY", "100", "100.0", True),
        ("JPY", "100", "101", False),
        ("JPY", "100", "10000", False),
        ("JPY", "100", "1", False),
        ("USD", "100", "1", False),
        ("USD", "9.9", "9.90", True),
        ("USD", "0.3", "0.30000000000000004", True),
        ("KWD", "1.001", "1.0010", True),
        ("KWD", "1.001", "1.002", False),
        ("CLF", "1.0001", "1.0002", False),
        ("GEM", "1.00001", "1.00002", False),
        ("GEM", "1.5", "1.50", True),
    ],
)
def test_money_is_compared_to_the_last_place_of_its_currency(
    currency: str, expected: str, paid: str, same: bool
) -> None:
    """Yen have no places, dinars three; an unknown currency is compared exactly."""
    checkout = replace(SIMPLE, currency=currency, expected_amount=Decimal(expected))
    given = verdict(success(**{**PAYS_SIMPLE, "currency": currency, "amount": Decimal(paid)}), checkout)
    assert given == (VERIFIED if same else review(Reason.AMOUNT))
