"""The default mode of notifications: payments only, after they ended, and again until they are acknowledged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.models import Checkout, Notification, Order, Transition, ValidationDecision
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import notification

pytestmark = pytest.mark.django_db


@pytest.mark.spec("EVT-01")
@pytest.mark.parametrize(
    ("action", "event", "status"),
    [("pay", "payment.success", "paid"), ("decline", "payment.cancel", "cancelled")],
)
def test_only_the_end_of_a_payment_is_notified(
    checkout_sandbox: Sandbox, live_server: LiveServer, action: str, event: str, status: str
) -> None:
    """Success and failure come as one notification, without a user.validate before."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    getattr(checkout_sandbox.payments, action)(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    assert list(Notification.objects.values_list("event", flat=True)) == [event]
    assert not ValidationDecision.objects.exists()
    assert Checkout.objects.get().status == status


@pytest.mark.spec("EVT-12")
@pytest.mark.parametrize(
    "gap", [timedelta(0), timedelta(seconds=7), timedelta(minutes=10), timedelta(days=30)]
)
def test_attempts_may_come_at_any_interval(checkout_deliver: Deliver, gap: timedelta) -> None:
    """The schedule is not shown: an attempt at once and one of a month later change nothing alike."""
    order, begun = OrderDocumentFactory(), datetime.now(UTC) - timedelta(days=60)
    for attempt in range(3):
        response = checkout_deliver(notification(order=order, at=begun + gap * attempt), delivery_try=attempt)
        assert response.status_code == 200
    assert (Notification.objects.count(), Transition.objects.count()) == (3, 1)
    assert Order.objects.get().status == "processed"
