"""The factories make what the app itself would have made."""

from __future__ import annotations

from decimal import Decimal

import pytest

from checkout_integration import flows
from checkout_integration.models import Checkout, Notification
from checkout_integration.signals import order_changed
from checkout_integration.testing.assertions import assert_in_review
from checkout_integration.testing.factories import (
    CheckoutFactory,
    NotificationFactory,
    OrderFactory,
    order_document_for,
)
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("status", ["created", "processed", "refunded", "chargeback", "canceled", "rejected"])
def test_an_order_comes_to_its_status_through_the_ledger(status: str) -> None:
    """The displayed status follows from the facts in the ledger."""
    order = OrderFactory(status=status)
    assert order.status == status
    assert order.facts


@pytest.mark.parametrize(
    "contents",
    [
        {},
        {"type": "key", "products": ["starfall-key"]},
        {"type": "product", "products": ["cloak", "hat"]},
        {"type": "virtual_currency", "virtual_currency_amount": Decimal(500)},
    ],
)
def test_the_order_of_a_checkout_pays_for_it(contents: dict[str, object]) -> None:
    """An order made for a checkout is verified, whatever is sold."""
    checkout = CheckoutFactory(**contents)
    order = OrderFactory(checkout=checkout)
    checkout.refresh_from_db()
    assert (order.verdict, checkout.status, checkout.paid_order) == ("verified", Checkout.Status.PAID, order)


def test_a_live_checkout_is_paid_live() -> None:
    """The order's mode follows the checkout's."""
    assert OrderFactory(checkout=CheckoutFactory(test=False)).verdict == "verified"


def test_an_order_can_differ_from_its_checkout() -> None:
    """A keyword changes the document, so that a payment of too little can be made."""
    order = OrderFactory(checkout=CheckoutFactory(), amount=Decimal("0.01"))
    assert_in_review(order, "amount")


def test_what_an_order_announced_waits() -> None:
    """Making rows runs no receivers."""
    listening = Listening()
    listening(order_changed)
    try:
        order = OrderFactory()
        assert order in type(order).objects.awaiting_receivers()
        flows.run_due()
        assert order not in type(order).objects.awaiting_receivers()
    finally:
        listening.end()


def test_a_notification_is_stored_and_applied() -> None:
    """The row is the one that the receiver made, and its order is there."""
    document = order_document_for(CheckoutFactory())
    notification = NotificationFactory(document__object=document)
    assert notification.state == Notification.State.APPLIED
    assert notification.object_id == document["id"]
