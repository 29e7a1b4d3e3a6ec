"""Screens are read-only, and mask personal data. What each permission opens is in test_rights."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.test import Client

from tests.support.admin import rows
from tests.support.admin.screens import SCREENS, make_row, page_address

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("screen", SCREENS)
def test_even_a_superuser_changes_nothing(admin_client: Client, screen: str) -> None:
    """There is no form to add, change or delete a row."""
    row = make_row(screen)
    assert admin_client.get(f"/admin/checkout_integration/{screen}/add/").status_code == 403
    assert admin_client.post(page_address(screen, row), {"status": "processed"}).status_code == 405
    delete = page_address(screen, row).replace("/change/", "/delete/")
    assert admin_client.post(delete, {"post": "yes"}).status_code == 403


@pytest.mark.spec("USR-04", "USR-05", "USR-07", "USR-09", "MTH-07", "ORD-25")
@pytest.mark.parametrize("text", rows.PERSONAL_TEXTS)
def test_personal_data_is_masked(client: Client, text: str) -> None:
    """Order, customer and notification show no personal text without the permission for it."""
    order = rows.make_order(user=rows.make_customer())
    rows.make_history(order)
    client.force_login(rows.make_staff("view_order", "view_checkoutuser", "view_notification"))
    notification = order.transitions.get().notification
    assert notification is not None
    for screen, row in (("order", order), ("checkoutuser", order.user), ("notification", notification)):
        assert text not in client.get(page_address(screen, row)).content.decode()


@pytest.mark.spec("ORD-12", "USR-04", "USR-05", "USR-07", "USR-09", "USR-11", "MTH-07", "ORD-25")
@pytest.mark.parametrize("text", rows.PERSONAL_TEXTS)
def test_the_permission_shows_personal_data(client: Client, text: str) -> None:
    """With it, the order's page shows each of them."""
    order = rows.make_order()
    client.force_login(rows.make_staff("view_order", "view_personal_data"))
    assert text in client.get(page_address("order", order)).content.decode()


@pytest.mark.spec("USR-05")
def test_the_document_of_a_refund_needs_the_permission(client: Client) -> None:
    """A reversal that waits for its order is a whole Order object, customer included."""
    refund = rows.make_refund(None, document={"user": {"email": "ada@buyers.example"}})
    client.force_login(rows.make_staff("view_refund"))
    assert "ada@buyers.example" not in client.get(page_address("refund", refund)).content.decode()


@pytest.mark.spec("ORD-15", "RFD-06", "TOK-02")
def test_the_links_of_a_customer_need_the_permission(client: Client) -> None:
    """The addresses of receipts and forms give access to personal data."""
    receipt, form = "https://service.example/receipts/canary", "https://service.example/form/?token=canary"
    order = rows.make_order(document={"receipt_url": receipt, "refund": {"receipt_url": receipt}})
    shown = [
        page_address("order", order),
        page_address("refund", rows.make_refund(order)),
        page_address("checkout", rows.make_checkout(payment_form_url=form)),
    ]
    looks = ["view_order", "view_refund", "view_checkout"]
    client.force_login(rows.make_staff(*looks, name="looks"))
    assert ["canary" in client.get(page).content.decode() for page in shown] == [False] * 3
    client.force_login(rows.make_staff(*looks, "view_personal_data", name="sees"))
    assert ["canary" in client.get(page).content.decode() for page in shown] == [True] * 3


@pytest.mark.spec("ITM-07")
def test_activation_codes_are_masked(client: Client) -> None:
    """A code can be redeemed: neither the table of items nor the document shows it."""
    items = [{"id": "1", "name": "Game", "code": "CODE-1234-ABCD"}]
    order = rows.make_order(document={"items": items})
    rows.make_history(order)
    client.force_login(rows.make_staff("view_order"))
    assert "CODE-1234-ABCD" not in client.get(page_address("order", order)).content.decode()


@pytest.mark.spec("WHK-08")
def test_the_raw_body_needs_the_permission(client: Client) -> None:
    """The body of a notification is the customer's data."""
    notification = rows.make_notification("order-1")
    client.force_login(rows.make_staff("view_notification", "view_personal_data"))
    assert "ada@buyers.example" in client.get(page_address("notification", notification)).content.decode()


@pytest.mark.parametrize(
    "lookup", ["document__contains=x", "personal_data__email__startswith=a", "order_id__startswith=o"]
)
def test_columns_cannot_be_probed_through_the_address(client: Client, lookup: str) -> None:
    """Only the filters of the list are lookups; anything else would spell out masked columns."""
    client.force_login(rows.make_staff("view_order"))
    assert client.get(f"/admin/checkout_integration/order/?{lookup}").status_code == 400


def test_a_body_cannot_be_probed_through_the_address(client: Client) -> None:
    """The same for the bytes of notifications."""
    client.force_login(rows.make_staff("view_notification"))
    assert client.get("/admin/checkout_integration/notification/?body__contains=x").status_code == 400


def test_links_lead_only_where_the_viewer_may_go(client: Client) -> None:
    """Without the permission for checkouts the order's page names the checkout and does not link it."""
    checkout = rows.make_checkout()
    order = rows.make_order(checkout=checkout)
    client.force_login(rows.make_staff("view_order"))
    html = client.get(page_address("order", order)).content.decode()
    assert checkout.reference in html
    assert page_address("checkout", checkout) not in html


@pytest.mark.parametrize("key", ["999999", "nobody", "9" * 40, "_2F"])
def test_a_page_that_is_not_there_leads_back_with_a_message(admin_client: Client, key: str) -> None:
    """An old or mistyped address is no server error."""
    answer = admin_client.get(f"/admin/checkout_integration/order/{key}/change/", follow=True)
    assert "doesn’t exist" in answer.content.decode()


def test_every_screen_is_covered_here() -> None:
    """A screen that is added later is tested too."""
    registered = {
        m._meta.model_name for m in admin.site._registry if m._meta.app_label == "checkout_integration"
    }
    reports = {"failures", "installation", "money", "syncdifference"}
    assert registered == {*SCREENS, *reports}, (
        "the reports are in test_failure_groups, test_health, test_money and test_reconciliation"
    )
