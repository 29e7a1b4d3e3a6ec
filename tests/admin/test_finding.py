"""The search boxes on the page of the app: from a text to the one row that it finds, else to the list."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
ORDERS = "/admin/checkout_integration/order/"
CUSTOMERS = "/admin/checkout_integration/checkoutuser/"


def led(client: Client, screen: str, text: str) -> str:
    """Where the search box leads."""
    response = client.get(f"{screen}find/", {"q": text})
    assert response.status_code == 302
    return str(response["Location"])


def test_the_only_order_is_opened(admin_client: Client) -> None:
    """By its id, in full or by its beginning."""
    order = rows.make_order("order-AAA1")
    rows.make_order("order-BBB2")
    assert led(admin_client, ORDERS, " order-AAA1 ") == page_address("order", order)
    assert led(admin_client, ORDERS, "order-A") == page_address("order", order)


@pytest.mark.parametrize("text", ["player-7", "nobody", "", "\0"])
def test_other_texts_lead_to_the_list(admin_client: Client, text: str) -> None:
    """Several orders, none, and what cannot be searched for."""
    customer = rows.make_customer("player-7")
    for _ in range(2):
        rows.make_order(user=customer)
    assert led(admin_client, ORDERS, text).startswith(f"{ORDERS}?q=")


def test_a_customer_is_found_by_the_account(client: Client) -> None:
    """For viewers who may see personal data; for others a hit would confirm a guess."""
    customer = rows.make_customer("player-7")
    rows.make_customer("player-8")
    customer.account = User.objects.create_user("robin")
    customer.save()
    client.force_login(rows.make_staff("view_checkoutuser", "view_personal_data", name="sees"))
    assert led(client, CUSTOMERS, "robin") == page_address("checkoutuser", customer)
    client.force_login(rows.make_staff("view_checkoutuser", name="looks"))
    assert led(client, CUSTOMERS, "robin") == f"{CUSTOMERS}?q=robin"


@pytest.mark.parametrize("permissions", [("view_order",), ("view_order", "view_personal_data")])
def test_orders_of_an_account_need_the_permission(client: Client, permissions: tuple[str, ...]) -> None:
    """The same for the login name of the account that bought."""
    order = rows.make_order(checkout=rows.make_checkout(user=User.objects.create_user("robin")))
    client.force_login(rows.make_staff(*permissions))
    found = led(client, ORDERS, "robin") == page_address("order", order)
    assert found == ("view_personal_data" in permissions)


@pytest.mark.parametrize("permissions", [("view_checkout",), ("view_checkout", "view_personal_data")])
def test_checkouts_of_an_account_need_the_permission(client: Client, permissions: tuple[str, ...]) -> None:
    """The same in the list of checkouts."""
    checkout = rows.make_checkout(user=User.objects.create_user("robin"))
    client.force_login(rows.make_staff(*permissions))
    response = client.get("/admin/checkout_integration/checkout/", {"q": "robin"})
    sees = "view_personal_data" in permissions
    assert list(response.context["cl"].result_list) == [checkout] * sees


def test_it_is_only_read_and_needs_the_permission(client: Client) -> None:
    """Of the screen that it leads to."""
    client.force_login(rows.make_staff("view_order"))
    assert client.get(f"{CUSTOMERS}find/", {"q": "player-7"}).status_code == 403
    assert client.post(f"{ORDERS}find/", {"q": "order-1"}).status_code == 405
