"""Tables of related rows on a page: for those who may view them, the newest only, and each linked."""

from __future__ import annotations

import pytest
from django.test import Client

from checkout_integration.admin.site import read_only
from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db


def test_they_need_the_view_permission_of_their_table(client: Client) -> None:
    """Who may view customers does not thereby see their orders."""
    order = rows.make_order(user=rows.make_customer())
    page = page_address("checkoutuser", order.user)
    client.force_login(rows.make_staff("view_checkoutuser", name="looks"))
    assert order.order_id not in client.get(page).content.decode()
    client.force_login(rows.make_staff("view_checkoutuser", "view_order", name="sees"))
    assert page_address("order", order) in client.get(page).content.decode()


def test_only_the_newest_are_read(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A customer may have thousands of orders."""
    monkeypatch.setattr(read_only, "NEWEST", 2)
    customer = rows.make_customer()
    orders = [rows.make_order(user=customer) for _ in range(3)]
    page = admin_client.get(page_address("checkoutuser", customer)).content.decode()
    assert [page_address("order", order) in page for order in orders] == [False, True, True]


def test_runs_of_a_signal_are_linked(admin_client: Client) -> None:
    """The signal's page leads to the page of each receiver's run."""
    run = rows.make_run(rows.make_order())
    page = admin_client.get(page_address("outboxmessage", run.message)).content.decode()
    assert page_address("receiverrun", run) in page


def test_an_empty_table_says_so(admin_client: Client) -> None:
    """An unpaid checkout."""
    page = admin_client.get(page_address("checkout", rows.make_checkout())).content.decode()
    assert "No order yet." in page
