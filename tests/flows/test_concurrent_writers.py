"""All writers of orders at the same time on the same checkouts: none is refused, and every end is right."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.checkout.creating import record_created
from checkout_integration.flows.database.transactions import with_retries
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Incident,
    Notification,
    Order,
    PersonalData,
)
from checkout_integration.protocol.creation import OrderRequest
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.customer import PRIVACY_REQUEST
from tests.support.flows.concurrency import at_once, deadlocks
from tests.support.flows.shop import Listening, disown, make_due, notification, own, owned, record_listed
from tests.support.scale import times

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
Document = dict[str, Any]
ROUNDS = times(3, 100)
SALES, DELIVERERS, READERS = 8, 3, 2


class Checkouts:
    """Some checkouts: all are paid, every other one is refunded, and one customer of two of them is erased meanwhile."""

    def __init__(self, number: int, deliver: Deliver) -> None:
        self.chance = random.Random(number)
        self.deliver = deliver
        self.customer = f"erased-{number}@example.com"
        self.checkouts = CheckoutFactory.create_batch(SALES)
        self.orders = [self._order(*each) for each in enumerate(self.checkouts)]
        self.refunded = self.orders[1::2]
        deliver(self._canceled(self.orders[0]))  # so that the customer is known

    def _order(self, index: int, checkout: Checkout) -> Document:
        erased = {"user__external_id": self.customer, "receipt_email": self.customer}
        return order_document_for(checkout, **(erased if index < 2 else {}))

    def _canceled(self, order: Document) -> Document:
        return notification(
            "payment.cancel", {**order, "status": "canceled"}, at=datetime.now(UTC) - timedelta(days=2)
        )

    def shares(self) -> list[list[Document]]:
        """All notifications, some of them twice, shuffled and in shares."""
        now = datetime.now(UTC)
        messages = [self._canceled(each) for each in self.orders]
        messages += 2 * [notification(order=each, at=now - timedelta(hours=2)) for each in self.orders]
        for each in self.refunded:
            back = {**each, "status": "refunded", "refunded": True}
            messages += 2 * [notification("payment.refund", back, at=now - timedelta(hours=1))]
        self.chance.shuffle(messages)
        return [messages[share::DELIVERERS] for share in range(DELIVERERS)]

    def hear(self, messages: Iterable[Document]) -> int:
        """Deliver notifications and return the worst status."""
        return max(self.deliver(each).status_code for each in messages)

    def read(self, pages: Iterable[list[Document]]) -> int:
        """Read pages of the list."""
        for page in pages:
            with_retries(partial(record_listed, page))
        return 200

    def create(self) -> int:
        """Record the service's responses to the creation of the orders."""
        project = app_settings().project("default")
        for checkout, order in zip(self.checkouts, self.orders, strict=True):
            request = OrderRequest(metadata=order["metadata"])
            with_retries(partial(record_created, project, checkout, request))
        return 200

    def run_receivers(self) -> int:
        """Work through the queue, a few times."""
        for _ in range(4):
            flows.run_due()
        return 200

    def erase(self) -> int:
        """Erase the customer."""
        for person in flows.privacy.find_persons(external_id=self.customer):
            flows.privacy.erase_customer(person, PRIVACY_REQUEST)
        return 200

    def all_at_once(self) -> None:
        """Each in a thread of its own."""
        pages = [[self.chance.sample(self.orders, SALES // 2) for _ in range(3)] for _ in range(READERS)]
        works: list[Callable[[], int]] = [
            *(partial(self.hear, share) for share in self.shares()),
            *(partial(self.read, share) for share in pages),
            self.create,
            self.run_receivers,
            self.erase,
        ]
        assert at_once(works) == [200] * len(works)


def test_everything_at_once(checkout_deliver: Deliver, listen: Listening) -> None:
    """Each order ends in its last state, goods are granted for orders that stay paid, and erased customers stay erased."""
    listen(checkout_paid, own)
    listen(checkout_reversed, disown)
    before = deadlocks()
    for number in range(ROUNDS):
        checkouts = Checkouts(number, checkout_deliver)
        checkouts.all_at_once()
        ends = dict(Order.objects.filter(checkout__in=checkouts.checkouts).values_list("order_id", "status"))
        back = {each["id"] for each in checkouts.refunded}
        assert ends == {
            each["id"]: "refunded" if each["id"] in back else "processed" for each in checkouts.orders
        }
        assert not CheckoutUser.objects.filter(external_id=checkouts.customer).exists()
        assert not PersonalData.objects.filter(email=checkouts.customer).exists()
    assert deadlocks() == before
    make_due()
    flows.run_due()
    assert owned() == ROUNDS * SALES // 2
    assert set(Notification.objects.values_list("state", flat=True)) == {"applied"}
    assert not Incident.objects.filter(kind="not_applied").exists()
