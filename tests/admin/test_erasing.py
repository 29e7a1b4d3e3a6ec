"""The button that erases a customer: its own permission, a confirmation page, and a log without personal data."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import Order, StaffAct
from checkout_integration.testing.factories import OrderFactory
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.tables import columns_with

pytestmark = pytest.mark.django_db(transaction=True)
CANARIES = ["zaphod@canary.example", "Zaphod Canaryblossom"]
REASON = {"reason": "request 4711"}
PERMISSIONS = ("view_order", "view_checkoutuser", "erase_customer")


@pytest.fixture
def order() -> Order:
    """An order of a customer with an address as the shop's id."""
    made: Order = OrderFactory(user=UserDocumentFactory(external_id=CANARIES[0], name=CANARIES[1]))
    return made


def address(screen: str, row: Any) -> str:
    """The button's address."""
    return page_address(screen, row).replace("/change/", "/erase/")


@pytest.mark.parametrize("screen", ["order", "checkoutuser"])
def test_the_customer_is_erased_and_the_log_says_so_without_a_name(
    client: Client, order: Order, screen: str
) -> None:
    """A GET asks, a POST erases; afterwards no table and no page contains the customer."""
    client.force_login(rows.make_staff(*PERMISSIONS, name="grace"))
    row = order if screen == "order" else order.user
    question = client.get(address(screen, row)).content.decode()
    assert "cannot be undone" in question and "ci-danger" in question
    assert "Rows with data of this customer" in question
    assert columns_with(CANARIES)
    page = client.post(address(screen, row), REASON, follow=True).content.decode()
    assert "The customer is erased. 1 order remains without personal data" in page
    assert columns_with(CANARIES) == set()
    assert [word for word in CANARIES if word in page] == []
    act = StaffAct.objects.get()
    assert act.staff is not None
    assert (act.act, act.origin, act.staff.get_username()) == ("erase", "admin", "grace")
    assert (act.reason, act.customer, act.counts["orders"]) == ("request 4711", order.user, 1)


def test_nothing_is_erased_without_a_reason(client: Client, order: Order) -> None:
    """The page asks again."""
    client.force_login(rows.make_staff(*PERMISSIONS))
    page = client.post(address("order", order), {"reason": " "}).content.decode()
    assert "This field is required." in page
    assert columns_with(CANARIES)
    assert not StaffAct.objects.exists()


def test_what_is_erased_is_not_offered_again(client: Client, order: Order) -> None:
    """The button is gone from both pages."""
    client.force_login(rows.make_staff(*PERMISSIONS))
    client.post(address("order", order), REASON)
    pages = [client.get(page_address("order", order)), client.get(page_address("checkoutuser", order.user))]
    assert ["/erase/" in page.content.decode() for page in pages] == [False, False]
