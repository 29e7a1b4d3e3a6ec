"""The search box on the page of the app: from a text to the one row that it finds, else to the list."""

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


def test_who_has_bought_nothing_is_found_too(admin_client: Client) -> None:
    """A customer without an order, else a checkout; orders come first."""
    customer = rows.make_customer("player-9")
    assert led(admin_client, ORDERS, "player-9") == page_address("checkoutuser", customer)
    checkout = rows.make_checkout(reference="5a1e" * 8)
    assert led(admin_client, ORDERS, "5a1e" * 8) == page_address("checkout", checkout)
    for name in ("robin-1", "robin-2"):
        rows.make_checkout(user=User.objects.create_user(name))
    robin = User.objects.create_user("robin")
    checkouts = [rows.make_checkout(user=robin) for _ in range(2)]
    assert led(admin_client, ORDERS, "robin") == "/admin/checkout_integration/checkout/?q=robin"
    order = rows.make_order(checkout=checkouts[0])
    assert led(admin_client, ORDERS, "robin") == page_address("order", order)


def test_a_customer_is_found_by_the_account(client: Client) -> None:
    """For viewers who may see customers and personal data; for others a hit would confirm a guess."""
    customer = rows.make_customer("player-7")
    rows.make_customer("player-8")
    customer.account = User.objects.create_user("robin")
    customer.save()
    client.force_login(rows.make_staff("view_order", "view_checkoutuser", "view_personal_data", name="sees"))
    assert led(client, ORDERS, "robin") == page_address("checkoutuser", customer)
    for number, permissions in enumerate((["view_checkoutuser"], ["view_personal_data"])):
        client.force_login(rows.make_staff("view_order", *permissions, name=f"looks-{number}"))
        assert led(client, ORDERS, "robin") == f"{ORDERS}?q=robin"


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
    """To see orders; who sees customers only has the box too, and searches their list."""
    app = "/admin/checkout_integration/"
    client.force_login(rows.make_staff("view_order"))
    assert client.post(f"{ORDERS}find/", {"q": "order-1"}).status_code == 405
    assert f'action="{ORDERS}find/"' in client.get(app).content.decode()
    client.force_login(rows.make_staff("view_checkoutuser", name="of-customers"))
    assert client.get(f"{ORDERS}find/", {"q": "player-7"}).status_code == 403
    assert f'action="{CUSTOMERS}"' in client.get(app).content.decode()
    client.force_login(rows.make_staff("view_money", name="accountant"))
    assert 'id="ci-find"' not in client.get(app).content.decode()
