"""The object of a notification: an order or a customer, and the row that has its id."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration.models import Notification, Order
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory

pytestmark = pytest.mark.django_db


@pytest.mark.spec("WHK-01", "WHK-03", "WHK-08", "EVT-03", "EVT-04", "EVT-05", "EVT-06", "EVT-08")
@pytest.mark.parametrize("identifier", ["order-1", "Order/2"])
@pytest.mark.parametrize("event", [each for each in Event if each is not Event.USER_VALIDATE])
def test_a_notification_names_its_order(checkout_deliver: Deliver, event: Event, identifier: str) -> None:
    """Staff find it by the id of its order, and by its event."""
    checkout_deliver(event=event, order=OrderDocumentFactory(id=identifier))
    stored = Notification.objects.get()
    assert (stored.event, stored.object_id) == (event, identifier)
    assert stored.notification_id != ""
    assert Order.objects.get().order_id == identifier


@pytest.mark.spec("WHK-08", "EVT-07", "EVT-08", "USR-01")
@pytest.mark.parametrize("identifier", ["u-1", "User/2"])
def test_a_question_names_its_customer(checkout_deliver: Deliver, identifier: str) -> None:
    """user.validate has a User, and makes no order."""
    user: dict[str, Any] = {"id": identifier, "object": "user", "external_id": "ada"}
    checkout_deliver(event=Event.USER_VALIDATE, user=user)
    stored = Notification.objects.get()
    assert (stored.event, stored.object_id) == (Event.USER_VALIDATE, identifier)
    assert not Order.objects.exists()
