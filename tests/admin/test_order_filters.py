"""The filters of the order list by what staff know of a payment: amount, product, country, payment method, paid or not."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from checkout_integration.testing.factories import CheckoutFactory
from tests.support.admin import rows

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/order/"


@pytest.fixture
def sales() -> None:
    """Four orders that differ in everything, one of them without a payment."""
    raven = rows.make_order("raven", amount=Decimal("9.99"), country="DE", method_type="BANKCARD")
    rows.add_item(raven, name="Tin raven", sku="raven-1")
    rows.add_item(raven, name="Feather", sku="feather-1")
    sold = CheckoutFactory(description="1,200 gems")
    rows.make_order(
        "gems", amount=Decimal(1500), currency="JPY", country="JP", method_type="paypal", checkout=sold
    )
    rows.make_order("dear", amount=Decimal("1500.50"), currency="EUR", status="refunded")
    rows.make_order("open", amount=Decimal("9.99"), currency="EUR", status="created")


def listed(client: Client, **parameters: str) -> set[str]:
    """The ids of the orders in the list."""
    response = client.get(LIST, parameters)
    assert response.status_code == 200
    return {order.order_id for order in response.context["cl"].result_list}


@pytest.mark.usefixtures("sales")
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        pytest.param({"amount": "9.99"}, {"raven", "open"}, marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": " 9,99 "}, {"raven", "open"}, marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "9.99", "currency": "eur"}, {"open"}, marks=pytest.mark.spec("ORD-23")),
        pytest.param({"currency": "EUR"}, {"dear", "open"}, marks=pytest.mark.spec("ORD-23")),
        pytest.param({"amount": "1500"}, {"gems"}, marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "1,500"}, {"gems"}, marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "1.500,50"}, {"dear"}, marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "1,500.50"}, {"dear"}, marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "1500.5"}, {"dear"}, marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "9.990001"}, set(), marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "nine"}, set(), marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "1e9"}, set(), marks=pytest.mark.spec("ORD-22")),
        pytest.param({"amount": "9" * 40}, set(), marks=pytest.mark.spec("ORD-22")),
        pytest.param({"product": "Tin raven"}, {"raven"}, marks=pytest.mark.spec("ITM-03")),
        pytest.param({"sku": "raven-1"}, {"raven"}, marks=pytest.mark.spec("ITM-02")),
        pytest.param({"sku": "feather-1"}, {"raven"}, marks=pytest.mark.spec("ITM-02")),
        pytest.param({"product": "1,200 gems"}, {"gems"}, marks=pytest.mark.spec("ITM-03")),
        ({"product": "raven-1"}, set()),
        ({"sku": "Tin raven"}, set()),
        pytest.param({"product": "%"}, set(), marks=pytest.mark.spec("ITM-03")),
        pytest.param({"country": "de"}, {"raven"}, marks=pytest.mark.spec("ORD-34")),
        pytest.param({"country": "jp"}, {"gems"}, marks=pytest.mark.spec("ORD-34")),
        pytest.param({"method": "bankcard"}, {"raven"}, marks=pytest.mark.spec("MTH-04")),
        pytest.param({"method": "paypal"}, {"gems"}, marks=pytest.mark.spec("MTH-04")),
        pytest.param(
            {"country": "JP", "method": "BANKCARD"}, set(), marks=pytest.mark.spec("ORD-34", "MTH-04")
        ),
        ({"paid": "yes"}, {"raven", "gems", "dear"}),
        ({"paid": "no"}, {"open"}),
        pytest.param(
            {"paid": "yes", "amount": "9.99", "product": "Tin raven", "country": "DE"},
            {"raven"},
            marks=pytest.mark.spec("ORD-22", "ITM-03"),
        ),
    ],
)
def test_they_find_what_staff_know(
    admin_client: Client, parameters: dict[str, str], expected: set[str]
) -> None:
    """Exactly; all of them together; what is no amount finds nothing."""
    assert listed(admin_client, **parameters) == expected


@pytest.mark.usefixtures("sales")
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("amount", "nine", "“nine” is no amount: write 9.99 or 9,99."),
        ("amount", "-1", "“-1” is no amount"),
        ("currency", "9.99", "“9.99” is no currency: write a code such as EUR."),
    ],
)
@pytest.mark.spec("ORD-22", "ORD-23")
def test_what_cannot_be_one_is_said(admin_client: Client, name: str, text: str, words: str) -> None:
    """An empty list alone would read as if there were no such payment."""
    page = admin_client.get(LIST, {name: text}).content.decode()
    assert words in page and f'value="{text}"' in page
    assert (
        words not in admin_client.get(LIST, {name: "USD" if name == "currency" else "9.98"}).content.decode()
    )


def test_what_was_chosen_stays_in_sight(admin_client: Client) -> None:
    """In its field, and in words above the list."""
    page = admin_client.get(LIST, {"amount": "9.99", "currency": "USD"}).content.decode()
    assert 'name="amount" value="9.99"' in page and 'name="currency" value="USD"' in page
    assert "9.99 – USD" in page.partition("<summary>")[2].partition("</summary>")[0]


@pytest.mark.parametrize("name", ["amount", "currency", "product", "sku", "country", "method"])
def test_a_text_that_no_database_looks_for_is_refused(admin_client: Client, name: str) -> None:
    """As by the other filters."""
    response: Any = admin_client.get(LIST, {name: "a\0"})
    assert response.status_code == 302 and response["Location"].endswith("?e=1")
