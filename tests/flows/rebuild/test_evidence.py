"""Orders of which a part of the evidence is gone cannot be proven; what is left is still compared with them."""

from __future__ import annotations

import pytest

from checkout_integration import flows
from checkout_integration.flows.rebuild import Gap
from checkout_integration.models import Notification, Order
from checkout_integration.testing.delivery import Deliver
from tests.support.customer import PRIVACY_REQUEST
from tests.support.flows.rebuilt import different, paid, rebuilt
from tests.support.flows.shop import notification

pytestmark = pytest.mark.django_db


def test_an_erased_order_cannot_be_proven(checkout_deliver: Deliver) -> None:
    """Nothing differs, and the report says why it proves nothing; what the row itself contradicts is found."""
    order = paid(checkout_deliver, user__external_id="ada", issuer={"utm_source": "letter"})
    (person,) = flows.privacy.find_persons(project="default", external_id="ada")
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    found = rebuilt()
    assert not found.differences and found.gaps == {Gap.ERASED, Gap.BODIES}
    Order.objects.filter(pk=order.pk).update(amount="1.00", status="refunded")
    assert list(different()) == ["status", "amount"]


def test_an_order_without_bodies_cannot_be_proven(checkout_deliver: Deliver) -> None:
    """What is left of its notifications is still compared with it."""
    order = paid(checkout_deliver)
    Notification.objects.update(body=None)
    found = rebuilt()
    assert not found.differences and found.gaps == {Gap.BODIES}
    checkout_deliver(notification("payment.refund", {**order.document, "status": "refunded"}))
    assert rebuilt().gaps == {Gap.BODIES}
    facts = Order.objects.get().facts
    facts["slots"].pop("refunded/notification")
    Order.objects.update(facts=facts)
    assert "facts.slots.refunded/notification" in different()


def test_an_order_without_its_notifications_cannot_be_proven(checkout_deliver: Deliver) -> None:
    """A transition shows that there was one."""
    paid(checkout_deliver)
    Notification.objects.all().delete()
    found = rebuilt()
    assert not found.differences and found.gaps == {Gap.NOTIFICATIONS}


def test_a_notification_that_this_version_cannot_read(checkout_deliver: Deliver) -> None:
    """As after a change of our rules."""
    paid(checkout_deliver)
    Notification.objects.update(body=b"{")
    found = rebuilt()
    assert not found.differences and found.gaps == {Gap.UNREADABLE}


@pytest.mark.parametrize("state", ["stored", "failed", "quarantined"])
def test_what_is_not_applied_yet_does_not_count(checkout_deliver: Deliver, state: str) -> None:
    """It is not a part of the order's state."""
    order = paid(checkout_deliver)
    checkout_deliver(notification("payment.refund", {**order.document, "status": "refunded"}))
    Notification.objects.filter(event="payment.refund").update(state=state)
    assert different()["status"] == ("refunded", "processed")
