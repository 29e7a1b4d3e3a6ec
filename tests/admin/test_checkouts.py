"""The screen of checkouts."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/checkout/"


@pytest.mark.spec("ORD-01")
def test_the_list_shows_the_order_that_paid(admin_client: Client) -> None:
    """A first card was declined, "try again" made another order: that one pays."""
    checkout = rows.make_checkout(order_id="order-declined")
    paying = rows.make_order("order-paying", checkout=checkout)
    checkout.paid_order, checkout.status = paying, "paid"
    checkout.save()
    page = admin_client.get(LIST).content.decode()
    assert "order-paying" in page
    assert "order-declined" not in page


@pytest.mark.spec("EP2-17")
def test_the_list_shows_the_order_of_the_form_while_none_has_paid(admin_client: Client) -> None:
    """That is the one by which the service knows the checkout."""
    rows.make_checkout(order_id="order-1")
    assert "order-1" in admin_client.get(LIST).content.decode()


@pytest.mark.spec("EP6-01", "TOK-02", "EP2-17")
@pytest.mark.parametrize(
    ("status", "linked"),
    [("new", True), ("open", True), ("paid", False), ("reversed", False), ("failed", False)],
)
def test_the_form_is_linked_while_there_is_something_to_pay(
    admin_client: Client, status: str, linked: bool
) -> None:
    """Afterwards it is dead, or would take the money a second time."""
    form = "https://service.example/form/?token=canary"
    checkout = rows.make_checkout(status=status, payment_form_url=form)
    page = admin_client.get(page_address("checkout", checkout)).content.decode()
    assert ("canary" in page, "There is nothing left to pay" in page) == (linked, not linked)
