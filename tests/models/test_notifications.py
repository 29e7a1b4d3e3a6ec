"""Each field of a notification is a column of its row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checkout_integration.models import Notification
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import NotificationDocumentFactory

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC).replace(microsecond=0)
FIRST = {
    "id": "note-1",
    "event": "payment.success",
    "live": False,
    "created_at": NOW.isoformat(),
    "expires_at": "",
    "delivery_try": 0,
}
SECOND = {
    "id": "note-2",
    "event": "payment.cancel",
    "live": True,
    "created_at": (NOW - timedelta(hours=1)).isoformat(),
    "expires_at": (NOW + timedelta(days=2)).isoformat(),
    "delivery_try": 3,
}


@pytest.mark.spec("EVT-10", "WHK-01", "WHK-03", "WHK-04", "WHK-05", "WHK-06", "WHK-07")
def test_each_row_has_the_values_of_its_notification(checkout_deliver: Deliver) -> None:
    """Two that differ in every field; an empty expires_at is no time (WHK-06)."""
    orders = [order_document_for(CheckoutFactory()) for _ in range(2)]
    for fields, order in zip((FIRST, SECOND), orders, strict=True):
        checkout_deliver(NotificationDocumentFactory(object=order, **fields))
    first, second = Notification.objects.order_by("notification_id")
    assert values(first) == ("note-1", "payment.success", False, NOW, None, 0, orders[0]["id"])
    assert values(second) == (
        "note-2",
        "payment.cancel",
        True,
        NOW - timedelta(hours=1),
        NOW + timedelta(days=2),
        3,
        orders[1]["id"],
    )


@pytest.mark.spec("WHK-03", "EVT-03", "EVT-04", "EVT-05", "EVT-06", "EVT-07")
@pytest.mark.parametrize(
    "event",
    ["payment.success", "payment.chargeback", "payment.refund", "payment.cancel", "user.validate", "x" * 64],
)
def test_a_row_names_the_event_in_full(checkout_deliver: Deliver, event: str) -> None:
    """Each event of the specification, and a longer one that it may get."""
    document = order_document_for(CheckoutFactory())
    checkout_deliver(NotificationDocumentFactory(event=event, object=document))
    assert [row.event for row in Notification.objects.all()] == [event]


@pytest.mark.spec("EVT-08", "WHK-08")
@pytest.mark.parametrize("event", list(Event))
def test_only_a_payment_is_about_an_order(event: str) -> None:
    """The object of user.validate is a customer, whose id is no order's."""
    row = Notification(event=event, object_id="id-1")
    assert (row.order_id, row.log_ids["order_id"]) == (
        ("", "") if event == "user.validate" else ("id-1", "id-1")
    )


@pytest.mark.spec("WHK-02")
@pytest.mark.parametrize("kind", ["notification", "message"])
def test_the_type_is_always_notification_so_that_nothing_depends_on_it(
    checkout_deliver: Deliver, kind: str
) -> None:
    """A payment is not lost because a service gives the envelope another name."""
    order = order_document_for(checkout := CheckoutFactory())
    response = checkout_deliver(NotificationDocumentFactory(object=order, type=kind))
    checkout.refresh_from_db()
    assert (response.status_code, checkout.status) == (200, "paid")


def values(row: Notification) -> tuple[Any, ...]:
    """Return what the row says about the envelope."""
    return (
        row.notification_id,
        row.event,
        row.live,
        row.created_at,
        row.expires_at,
        row.delivery_try,
        row.object_id,
    )
