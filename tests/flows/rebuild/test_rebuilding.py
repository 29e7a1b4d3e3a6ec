"""Proof of state: each order is what its evidence adds up to, and whatever else is written into a row is found."""

from __future__ import annotations

import random
from itertools import combinations, islice
from types import ModuleType
from typing import Any, Final

import pytest
from django.db import connection

from checkout_integration.conf import UnknownAlias
from checkout_integration.flows.rebuild import Gap, rebuild_orders
from checkout_integration.models import (
    Installation,
    Notification,
    Order,
)
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.flows.test_arrival_orders import let_arrive
from tests.flows.test_orderings import tell
from tests.support.documents import block
from tests.support.flows.arrival_orders import EVENTS, Story
from tests.support.flows.rebuilt import WHOLE, paid, rebuilt, undone
from tests.support.flows.shop import notification, statements
from tests.support.policy.histories import BEGIN, ORDERS, trial
from tests.support.scale import times

pytestmark = pytest.mark.django_db
HISTORIES: Final = times(10, 300)
STORIES: Final = times(15, 300)
SEED: Final = 20261123


@pytest.mark.slow
def test_every_history_is_proven(checkout_deliver: Deliver, settings: Any) -> None:
    """With the field's timing, in ten orders of arrival each, by notifications, list and creation."""
    accepted = {"UNBOUND_ORDERS": "accept", "ACCEPT_TEST_PAYMENTS": False}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **accepted}
    Installation.objects.create(project="default", installed_at=BEGIN)
    for history, orders in islice(trial(SEED), HISTORIES // ORDERS):
        for arrivals in filter(None, orders):
            with undone():
                for observation in arrivals:
                    tell(checkout_deliver, observation)
                assert all(order.is_proven for order in rebuild_orders()), (history, list(rebuild_orders()))


@pytest.mark.slow
def test_every_story_of_a_checkout_is_proven(checkout_deliver: Deliver) -> None:
    """Bound orders, partial refunds and reversal documents of the list among them."""
    source = random.Random(SEED)  # repeatable on purpose
    every = [events for size in range(1, 6) for events in combinations(EVENTS, size)]
    for _ in range(STORIES):
        with undone():
            story = Story(CheckoutFactory())
            events = source.choice(every)
            for event in source.sample(events, len(events)):
                arrive = story.listed if source.random() < 0.5 else story.notified
                let_arrive(checkout_deliver, arrive(event))
            assert all(order.is_proven for order in rebuild_orders()), (events, list(rebuild_orders()))


def test_a_row_that_cannot_be_read_costs_itself_only(checkout_deliver: Deliver) -> None:
    """Its neighbours are proven."""
    broken, _sound = paid(checkout_deliver), paid(checkout_deliver)
    Order.objects.filter(pk=broken.pk).update(facts={"slots": ["nonsense"]})
    found = {each.order_id: each for each in rebuild_orders()}
    assert [each.field for each in found.pop(broken.order_id).differences] == ["row"]
    assert all(each.is_proven for each in found.values())


def test_what_arrives_meanwhile_is_no_difference(checkout_deliver: Deliver) -> None:
    """Rows that differ are read again under the lock of their orders."""
    order = paid(checkout_deliver)
    refund = notification("payment.refund", {**order.document, "status": "refunded"})
    arriving = [refund]

    def arrive(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if arriving and "checkout_integration_transition" in sql:
            checkout_deliver(arriving.pop())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(arrive):
        found = rebuilt()
    assert not arriving
    assert found.is_proven
    assert Order.objects.get().status == "refunded"


def test_orders_are_chosen_by_id_project_and_time(checkout_deliver: Deliver) -> None:
    """All without a choice; another project has none."""
    first = paid(checkout_deliver, created_at="2024-01-01T00:00:00Z")
    second = paid(checkout_deliver, created_at="2024-02-01T00:00:00Z")

    def ids(**chosen: Any) -> list[str]:
        return [each.order_id for each in rebuild_orders(**chosen)]

    between = BEGIN.replace(month=1, day=15)
    assert ids() == [first.order_id, second.order_id]
    assert ids(order_ids=[second.order_id]) == [second.order_id]
    assert ids(date_to=between) == [first.order_id]
    assert ids(date_from=between) == [second.order_id]
    with pytest.raises(UnknownAlias):
        ids(project="nobody")


def test_a_batch_costs_the_same_for_any_number_of_orders(checkout_deliver: Deliver) -> None:
    """No statement for an order, and none that writes."""

    def cost() -> list[str]:
        with statements() as seen:
            assert all(each.is_proven for each in rebuild_orders())
        return seen

    paid(checkout_deliver, **WHOLE)
    few = cost()
    for _ in range(5):
        paid(checkout_deliver, **WHOLE)
    many = cost()
    assert len(many) == len(few)
    assert all(sql.startswith("SELECT") for sql in many)


def test_orders_of_the_factory_have_no_notifications() -> None:
    """So they cannot be proven, and nothing differs."""
    OrderFactory(checkout=CheckoutFactory())
    found = rebuilt()
    assert not found.differences and found.gaps == {Gap.NOTIFICATIONS}


def test_the_audit_of_the_page(checkout_deliver: Deliver) -> None:
    """Its code finds what was forged, and what cannot be proven."""
    page = ModuleType("shop.audit")
    exec(block("docs/reconciliation.md", "# shop/audit.py"), vars(page))
    order = paid(checkout_deliver)
    assert (page.forged(), page.unproven()) == ([], {})
    Order.objects.update(country="FR")
    Notification.objects.update(body=None)
    assert page.forged() == [f"{order.order_id} country: FR instead of DE"]
    assert page.unproven() == {order.order_id: ["bodies"]}
