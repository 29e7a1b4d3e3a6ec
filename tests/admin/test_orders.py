"""The list of orders, and the page of one."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.models import Order
from tests.admin import rows

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/order/"


def page_of(client: Client, order: Order) -> str:
    """The HTML of an order's page."""
    return client.get(f"{LIST}{order.pk}/change/").content.decode()


def test_list_tells_each_order_in_words(admin_client: Client) -> None:
    """Status, amount, verdict and its reason, mode and customer stand in the list."""
    rows.make_order(
        "order-77", user=rows.make_customer("player-9"), verdict="review", verdict_reason="amount"
    )
    html = admin_client.get(LIST).content.decode()
    for text in ("order-77", "paid", "9.99\N{NO-BREAK SPACE}USD", "in review", "The amount is not the one", "TEST", "player-9"):
        assert text in html


def test_page_answers_on_top(admin_client: Client) -> None:
    """What was paid, what arrives, whether goods were granted and by whom, and where the receipt is."""
    order = rows.make_order(checkout=rows.make_checkout())
    rows.make_history(order)
    html = page_of(admin_client, order)
    for text in ("9.20\N{NO-BREAK SPACE}EUR", "8.10\N{NO-BREAK SPACE}EUR", "granted", "shop.receivers.grant"):
        assert text in html
    assert '<a href="https://service.example/receipts/R-0001"' in html
