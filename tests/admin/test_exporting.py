"""The button that exports a customer's data, and the list of who did so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import Order, StaffAct
from checkout_integration.testing.factories import OrderFactory
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.customer import NAME, user_of_customer

pytestmark = pytest.mark.django_db(transaction=True)
PERMISSIONS = ("view_order", "view_checkoutuser", "export_customer")
REASON = {"reason": "request 4711"}
ACTS = "/admin/checkout_integration/staffact/"


@pytest.fixture
def order() -> Order:
    """An order of a customer."""
    made: Order = OrderFactory(user=user_of_customer())
    return made


def address(screen: str, row: Any) -> str:
    """The button's address."""
    return page_address(screen, row).replace("/change/", "/export/")


@pytest.mark.parametrize("screen", ["order", "checkoutuser"])
def test_the_data_comes_as_a_file(client: Client, order: Order, screen: str) -> None:
    """A GET counts and asks; a POST sends the file, whose name does not name the customer, and records it."""
    client.force_login(rows.make_staff(*PERMISSIONS, name="grace"))
    row = order if screen == "order" else order.user
    question = client.get(address(screen, row)).content.decode()
    assert "Rows with data of this customer" in question and not StaffAct.objects.exists()
    response = client.post(address(screen, row), REASON)
    document = json.loads(b"".join(response))
    assert document["projects"][0]["orders"][0]["document"]["user"]["name"] == NAME
    assert response["Content-Type"] == "application/json"
    assert "no-store" in response["Cache-Control"]
    assert response["Content-Disposition"].startswith('attachment; filename="customer-')
    act = StaffAct.objects.get()
    assert act.staff is not None
    assert (act.act, act.origin, act.staff.get_username(), act.reason) == (
        *("export", "admin", "grace"),
        "request 4711",
    )


def test_staff_see_who_exported_and_erased(client: Client, order: Order) -> None:
    """A list and a page, read-only, with a permission of their own."""
    client.force_login(rows.make_staff(*PERMISSIONS, "view_staffact", "view_personal_data", name="grace"))
    client.post(address("order", order), REASON)
    act = StaffAct.objects.get()
    pages = [client.get(ACTS), client.get(f"{ACTS}{act.pk}/change/")]
    for page in (each.content.decode() for each in pages):
        assert "exported" in page and "grace" in page and "request 4711" in page
    client.force_login(rows.make_staff("view_order", name="other"))
    assert client.get(ACTS).status_code == 403
