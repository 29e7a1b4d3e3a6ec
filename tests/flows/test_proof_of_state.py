"""Proof of state: each order is what its evidence adds up to (`oracle`), and the oracle sees whatever else is in a row."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import combinations, islice
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import (
    CheckoutUser,
    Installation,
    Notification,
    Order,
    OrderItem,
    PersonalData,
    Refund,
    Transition,
)
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory
from tests.flows.operations.test_binding import unbound
from tests.flows.test_arrival_orders import let_arrive
from tests.flows.test_orderings import tell
from tests.support.flows.arrival_orders import EVENTS, Story
from tests.support.flows.forging import WHOLE, paid, tear_out, undone
from tests.support.flows.oracle import all_differences, differences
from tests.support.flows.shop import notification, record_listed
from tests.support.policy.histories import BEGIN, ORDERS, trial
from tests.support.scale import times

pytestmark = pytest.mark.django_db
HISTORIES: Final = times(10, 300)
STORIES: Final = times(15, 300)
SEED: Final = 20261123
SABOTAGED: Final[dict[str, Any]] = {
    "status": "chargeback",
    "live": True,
    "is_production": True,
    "transaction": "t-2",
    "type": "product",
    "created_at": BEGIN,
    "canceled_at": BEGIN,
    "refunded_at": BEGIN,
    "country": "FR",
    "product": "Another one",
    "receipt_number": "r-2",
    "recurring_id": "a-2",
    "amount": "999.99",
    "currency": "EUR",
    "original_amount": "1",
    "charge_amount": "1",
    "charge_currency": "EUR",
    "tax_amount": "1",
    "tax_currency": "EUR",
    "fee_amount": "1",
    "fee_currency": "EUR",
    "net_revenue_amount": "1",
    "net_revenue_currency": "EUR",
    "refund_amount": "1",
    "refund_currency": "EUR",
    "partly_refunded": True,
    "virtual_currency_amount": "7",
    "method_type": "crypto",
    "tax_rate": "1",
    "vat_payer": "shop",
    "utm_source": "letter",
    "utm_medium": "letter",
    "utm_campaign": "letter",
    "referrer_host": "other.example",
}
OTHERWISE: Final = {
    "checkout",
    "user",
    "verdict",
    "verdict_reason",
    "document",
    "facts",
    "stamps",
    "conflicts",
}
"""Columns of their own tests below."""
NOT_COMPUTED: Final = {"id", "project", "order_id", "recorded_at", "changed_at", "ordered_at"}


def different() -> set[str]:
    """What differs of the one order."""
    return set(differences(Order.objects.get()))


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
                assert not all_differences(), history


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
            assert not all_differences(), events


def test_each_sabotaged_column_is_seen(checkout_deliver: Deliver) -> None:
    """That column and no other; a column that is added later is sabotaged here, too."""
    assert {column.name for column in Order._meta.concrete_fields} == {*SABOTAGED} | OTHERWISE | NOT_COMPUTED
    paid(checkout_deliver, **WHOLE)
    assert different() == set()
    for column, value in SABOTAGED.items():
        with undone():
            Order.objects.update(**{column: value})
            assert different() == {column}


def test_a_checkout_that_was_taken_away_or_exchanged_is_seen(checkout_deliver: Deliver) -> None:
    """Its verdict is judged against the checkout that it names."""
    paid(checkout_deliver)
    for checkout in (CheckoutFactory(), None):
        Order.objects.update(checkout=checkout)
        assert different() == {"checkout"}


def test_another_customer_is_seen(checkout_deliver: Deliver) -> None:
    """The document names the right one."""
    paid(checkout_deliver, user__external_id="ada")
    Order.objects.update(user=CheckoutUser.objects.create(project="default", identity="other"))
    assert different() == {"user"}


def test_json_columns_are_compared(checkout_deliver: Deliver) -> None:
    """The document, facts, stamps and conflicts."""
    order = paid(checkout_deliver)
    slot = order.facts["slots"]["processed/notification"]
    slots = {"refunded/notification": slot, "processed/notification": slot}
    stamps = {**order.stamps, "2020-01-01T00:00:00.000000Z notification": ["country"]}
    forged = [
        ("document", {**order.document, "amount": "0.01"}),
        ("facts", {"slots": slots}),
        ("facts", {"slots": {}}),
        ("stamps", stamps),
        ("conflicts", ["amount"]),
    ]
    for column, value in forged:
        with undone():
            Order.objects.update(**{column: value})
            assert different() == {column}


def test_personal_data_and_items_are_compared(checkout_deliver: Deliver) -> None:
    """Each in its own table."""
    paid(checkout_deliver, **WHOLE, receipt_email="ada@example.com")
    for column, value in {"document": {}, "email": "eve@example.com", "last4": "1"}.items():
        with undone():
            PersonalData.objects.update(**{column: value})
            assert different() == {"personal_data"}
    OrderItem.objects.update(code="OTHER")
    PersonalData.objects.all().delete()
    assert different() == {"items", "personal_data"}


def test_a_missing_link_of_the_history_is_seen(checkout_deliver: Deliver) -> None:
    """The transitions lead from nothing to the status."""
    order = paid(checkout_deliver)
    checkout_deliver(notification("payment.chargeback", order.document))
    assert different() == set()
    for transition in Transition.objects.all():
        with undone():
            tear_out(transition)
            assert different() == {"history"}


@pytest.mark.parametrize("listed", [False, True], ids=["notification", "list"])
def test_the_amount_of_a_refund_is_proven(checkout_deliver: Deliver, listed: bool) -> None:
    """The amounts of its rows are those that the facts add up to, and a forged one is seen."""
    order = paid(checkout_deliver)
    refunded = {**order.document, "status": "refunded", "refund": {"amount": "1.00", "currency": "USD"}}
    if listed:
        moment = datetime.now(UTC).isoformat()
        record_listed([{**refunded, "id": "a document", "created_at": moment, "refunded_at": moment}])
    else:
        checkout_deliver(notification("payment.refund", refunded))
    assert different() == set()
    Refund.objects.update(amount="9.00")
    assert different() == {"refunds"}


def accept(order: Order, staff: User) -> None:
    """Accept the payment."""
    flows.operations.accept_payment(order, staff=staff, reason="seen")


def bind(order: Order, staff: User) -> None:
    """Bind it to a checkout that it does not name."""
    flows.operations.bind_order(order, to=CheckoutFactory(), staff=staff, reason="seen")


def restore(order: Order, staff: User) -> None:
    """Charge it back, and restore the payment."""
    record_listed([{**order.document, "status": "chargeback"}], at=timezone.now() + timedelta(hours=1))
    flows.operations.restore_payment(order, staff=staff, reason="won")


@pytest.mark.parametrize("act", [accept, bind, restore])
def test_decisions_of_staff_are_evidence(checkout_deliver: Deliver, act: Callable[..., None]) -> None:
    """A verdict without its act is not, nor an act without its verdict."""
    order = unbound(checkout_deliver)
    act(order, User.objects.create_user("grace"))
    assert different() == set()
    if act is not bind:
        with undone():
            tear_out(*Transition.objects.exclude(act=""))
            assert "verdict" in different()
    if act is accept:
        Order.objects.update(verdict="review", verdict_reason="unbound")
        assert different() == {"verdict"}


@pytest.mark.parametrize("state", ["stored", "failed", "quarantined"])
def test_what_is_not_applied_yet_does_not_count(checkout_deliver: Deliver, state: str) -> None:
    """It is not a part of the order's state."""
    order = paid(checkout_deliver)
    checkout_deliver(notification("payment.refund", {**order.document, "status": "refunded"}))
    Notification.objects.filter(event="payment.refund").update(state=state)
    assert "status" in different()
