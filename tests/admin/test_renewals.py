"""What the page of an order says of a renewal."""

from __future__ import annotations

from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import Checkout, Order
from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
AGREEMENT = "agreement-1"


def renewed(**columns: Any) -> Order:
    """A renewal that was declined, beside the first payment of the same agreement."""
    checkout, customer = rows.make_checkout(**columns), rows.make_customer()
    common: dict[str, Any] = {
        "checkout": checkout,
        "user": customer,
        "recurring_id": AGREEMENT,
        "product": "Tin raven",
    }
    first = rows.make_order(created_at=datetime.now(UTC), **common)
    Checkout.objects.filter(pk=checkout.pk).update(paid_order=first)
    return rows.make_order(status="rejected", created_at=datetime.now(UTC), **common)


def page_of(client: Client, order: Order) -> str:
    """The page as text."""
    return unescape(client.get(page_address("order", order)).content.decode())


def test_a_declined_renewal_says_what_follows(admin_client: Client) -> None:
    """Until when the customer has what was paid for before; an earlier payment of the agreement is nothing to look at."""
    order = renewed(lasts_days=30, owned_until=datetime(2030, 1, 2, tzinfo=UTC))
    page = page_of(admin_client, order)
    assert "This is a renewal, and it was not paid. What was paid before is owned until" in page
    assert "2030-01-02" in page and "in another order too" not in page
    Order.objects.filter(pk=order.pk).update(recurring_id="")
    page = page_of(admin_client, order)
    assert "This is a renewal" not in page and "in another order too" in page


def test_a_renewal_says_that_it_is_one(admin_client: Client) -> None:
    """And until when it is paid. The first payment of the agreement is none."""
    checkout = rows.make_checkout(lasts_days=30, owned_until=datetime(2030, 1, 2, tzinfo=UTC))
    first = rows.make_order(checkout=checkout, recurring_id=AGREEMENT)
    Checkout.objects.update(order_id=first.order_id, status="paid")
    second = rows.make_order(checkout=checkout, recurring_id=AGREEMENT)
    sentence = "This is a renewal: its agreement is paid until"
    assert sentence in page_of(admin_client, second) and sentence not in page_of(admin_client, first)


def test_without_an_end_the_customer_keeps_it(admin_client: Client) -> None:
    """The first payment of the agreement itself says nothing of it."""
    order = renewed()
    assert "so the customer keeps what was paid for before." in page_of(admin_client, order)
    first = Order.objects.get(paid_checkouts=order.checkout)
    assert "This is a renewal" not in page_of(admin_client, first)
    Checkout.objects.update(paid_order=None)
    assert "This is a renewal" not in page_of(admin_client, order), "a first payment that was declined"
