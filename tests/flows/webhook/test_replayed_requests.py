"""Replayed requests and wrong clocks: nothing happens twice, and no genuine request is refused."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.models import Incident, Notification, Order, Transition
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import Listening, disown, notification, own, owned
from tests.support.scale import times
from tests.support.tables import cells

pytestmark = pytest.mark.django_db
ENDS = {"payment.refund": "refunded", "payment.chargeback": "chargeback", "payment.cancel": "canceled"}
OF_THE_INBOX = "checkout_integration_notification."


def stories(count: int) -> list[dict[str, Any]]:
    """Paid checkouts, some of them reversed in one of three ways, each with signed notifications."""
    begun, messages = datetime.now(UTC) - timedelta(hours=1), []
    for number in range(count):
        order = order_document_for(CheckoutFactory())
        messages.append(notification(order=order, at=begun))
        for event, status in list(ENDS.items())[: number % 4]:
            messages.append(
                notification(event, {**order, "status": status}, at=begun + timedelta(minutes=number))
            )
    return messages


def test_captured_bodies_change_nothing(checkout_deliver: Deliver, listen: Listening) -> None:
    """A signed body is valid for ever: all of them again, three times, in any order."""
    listen(checkout_paid, own)
    listen(checkout_reversed, disown)
    messages = stories(times(8, 200))
    for each in messages:
        assert checkout_deliver(each).status_code == 200
    flows.run_due()
    before = sorted(cell for cell in cells() if not cell[0].startswith(OF_THE_INBOX))
    for seed in range(3):
        for each in random.Random(seed).sample(messages, len(messages)):
            assert checkout_deliver(each).status_code == 200
        flows.run_due()
    assert sorted(cell for cell in cells() if not cell[0].startswith(OF_THE_INBOX)) == before
    assert set(Notification.objects.values_list("receipts", "state")) == {(4, "applied")}


@pytest.mark.parametrize("hours", [-24, 0, 24])
def test_clock_that_is_a_day_off_refuses_nothing(
    checkout_deliver: Deliver, listen: Listening, hours: int
) -> None:
    """The service's, or ours: the same end, the same effects."""
    granted, taken = listen(checkout_paid, own), listen(checkout_reversed, disown)
    at = datetime.now(UTC) + timedelta(hours=hours)
    order = order_document_for(CheckoutFactory())
    back = {**order, "status": "refunded"}
    checkout_deliver(notification(order=order, at=at))
    checkout_deliver(notification("payment.refund", back, at=at + timedelta(hours=1)))
    flows.run_due()
    assert (Order.objects.get().status, owned()) == ("refunded", 0)
    assert [len(granted), len(taken), Transition.objects.count()] == [1, 1, 2]
    assert not Incident.objects.exists()
    assert set(Notification.objects.values_list("state", flat=True)) == {"applied"}
