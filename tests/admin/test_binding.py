"""The button that binds an order to a checkout, or to a new one that staff describe."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import Checkout, Order, StaffAct, Transition
from checkout_integration.testing.delivery import Deliver
from tests.flows.operations.test_binding import new_checkout, unbound
from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db(transaction=True)
PERMISSIONS = ("view_order", "bind_order")
DESCRIBED = {
    "type": "simple",
    "amount": "9.99",
    "currency": "USD",
    "description": "500 gems",
    "reason": "by phone",
}


@pytest.fixture
def order(checkout_deliver: Deliver) -> Order:
    """A payment of 9.99 USD for nothing that was sold here."""
    return unbound(checkout_deliver)


def bind(client: Client, order: Order, **answers: Any) -> str:
    """The page after the button was pressed."""
    address = page_address("order", order).replace("/change/", "/bind/")
    return client.post(address, answers, follow=True).content.decode()


def test_the_page_shows_what_was_paid_and_binds(client: Client, order: Order) -> None:
    """To a checkout by its reference; who did it and why is in the history, and an act of staff."""
    checkout, staff = new_checkout(), rows.make_staff(*PERMISSIONS)
    client.force_login(staff)
    confirmation = client.get(page_address("order", order).replace("/change/", "/bind/")).content.decode()
    assert "The payment has no checkout" in confirmation or "the payment has no checkout" in confirmation
    assert ">9.99" in confirmation
    page = bind(client, order, reference=checkout.reference, type="simple", reason="the receipt")
    assert f"linked to checkout {checkout.reference}: verified." in page
    order.refresh_from_db()
    assert order.checkout == checkout
    act = StaffAct.objects.get()
    assert (act.act, act.staff, act.order, act.reason) == ("bind", staff, order, "the receipt")
    assert Transition.objects.latest("pk").staff == staff


def test_a_new_checkout_is_for_what_was_paid(client: Client) -> None:
    """Where no checkout is offered, amount and currency are filled in; a reference is no contradiction to them."""
    order = rows.make_order(verdict="review", amount=Decimal("19.9"), currency="EUR")
    client.force_login(rows.make_staff("view_order", "bind_order"))
    page = page_address("order", order).replace("/change/", "/bind/")
    html = client.get(page).content.decode()
    assert 'name="amount" value="19.90"' in html and 'name="currency" value="EUR"' in html
    reference = rows.make_checkout(expected_amount="19.90", currency="EUR").reference
    data = {"reason": "phone", "reference": reference, "type": "simple", "amount": "19.90", "currency": "EUR"}
    assert client.post(page, data).status_code == 302
    assert Order.objects.get(pk=order.pk).checkout.reference == reference  # type: ignore[union-attr]


def test_a_new_checkout_is_described(client: Client, order: Order) -> None:
    """Price, currency, type and subject, as described by staff."""
    client.force_login(rows.make_staff(*PERMISSIONS))
    assert ": verified." in bind(client, order, **{**DESCRIBED, "currency": "usd"})
    checkout = Checkout.objects.get()
    assert (checkout.expected_amount, checkout.currency) == (Decimal("9.99"), "USD")
    assert (checkout.type, checkout.description, checkout.status) == ("simple", "500 gems", "paid")


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({**DESCRIBED, "reference": "x", "description": "600 gems"}, "not both."),
        ({"reference": "x", "description": "600 gems", "type": "simple", "reason": "y"}, "not both."),
        ({"reference": "x", "type": "simple", "reason": "y"}, "There is no checkout with this reference"),
        ({**DESCRIBED, "amount": ""}, "Say which amount was to be paid."),
        ({**DESCRIBED, "currency": ""}, "Give amount and currency, or neither."),
        ({**DESCRIBED, "currency": "us"}, "Enter a valid value."),
        ({**DESCRIBED, "amount": "-1"}, "greater than or equal to 0"),
        ({**DESCRIBED, "reason": ""}, "This field is required."),
    ],
)
def test_what_is_missing_or_wrong_is_said(
    client: Client, order: Order, answers: dict[str, str], words: str
) -> None:
    """And nothing is bound."""
    client.force_login(rows.make_staff(*PERMISSIONS))
    assert words in bind(client, order, **answers)
    order.refresh_from_db()
    assert (order.checkout, Checkout.objects.count()) == (None, 0)


def test_it_needs_its_permission_and_an_unbound_order(client: Client, order: Order) -> None:
    """To accept payments is not enough."""
    bound = rows.make_order(checkout=rows.make_checkout())
    client.force_login(rows.make_staff("view_order", "accept_payment", name="accepts"))
    assert "/bind/" not in client.get(page_address("order", order)).content.decode()
    bind(client, order, **DESCRIBED)
    order.refresh_from_db()
    assert order.checkout is None
    client.force_login(rows.make_staff(*PERMISSIONS))
    pages = [client.get(page_address("order", each)).content.decode() for each in (order, bound)]
    assert ["/bind/" in page for page in pages] == [True, False]
