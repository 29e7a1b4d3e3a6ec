"""A shop with orders from before the installation: old payments grant nothing, new ones grant once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import Incident, Installation, Order, OutboxMessage
from checkout_integration.signals import checkout_paid, payment_review, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Listening, notification, record_listed
from tests.support.scale import times

pytestmark = pytest.mark.django_db
INSTALLED = datetime.now(UTC) - timedelta(minutes=30)
PAID = INSTALLED + timedelta(minutes=5)


@pytest.fixture(autouse=True)
def _installed(settings: Any) -> None:
    """Install the app half an hour ago; orders without a checkout are accepted."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "UNBOUND_ORDERS": "accept"}
    Installation.objects.create(project="default", installed_at=INSTALLED)


def created(before: timedelta, **changes: Any) -> dict[str, Any]:
    """An order that was created so long before the installation."""
    return OrderDocumentFactory(created_at=(INSTALLED - before).isoformat(), **changes)


def let_arrive(deliver: Deliver, way: str, order: Mapping[str, Any]) -> None:
    """Its success, signed or from the list."""
    if way == "listed":
        record_listed([order])
    else:
        assert deliver(notification(order=order, at=PAID)).status_code == 200
    flows.run_due()


@pytest.mark.parametrize("ways", [["listed", "signed"], ["signed", "listed"]])
def test_a_payment_after_the_installation_is_granted(
    checkout_deliver: Deliver, listen: Listening, ways: list[str]
) -> None:
    """Its order is an hour older; the list may be read before the notification comes, or after."""
    granted = listen(checkout_paid)
    order = created(timedelta(hours=1))
    for way in ways:
        let_arrive(checkout_deliver, way, order)
    assert (Order.objects.get().verdict, len(granted)) == ("accepted", 1)


@pytest.mark.parametrize("ways", [["listed", "signed"], ["signed", "listed"]])
def test_without_the_setting_staff_accept_it(
    checkout_deliver: Deliver, listen: Listening, settings: Any, ways: list[str]
) -> None:
    """In review both ways."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "UNBOUND_ORDERS": "review"}
    granted = listen(checkout_paid)
    order = created(timedelta(hours=1))
    for way in ways:
        let_arrive(checkout_deliver, way, order)
    assert (Order.objects.get().verdict, granted) == ("review", [])
    accept()
    assert (Order.objects.get().verdict, len(granted)) == ("accepted", 1)


def test_the_list_alone_is_reviewed(checkout_deliver: Deliver, listen: Listening) -> None:
    """It does not say when the payment was; no setting accepts it, and staff can."""
    granted, review = listen(checkout_paid), listen(payment_review)
    let_arrive(checkout_deliver, "listed", created(timedelta(hours=1)))
    assert [each["reason"] for each in review] == ["before_installation"]
    accept()
    assert len(granted) == 1


def test_a_captured_success_of_two_years_ago_grants_nothing(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """It is correctly signed, but old."""
    granted = listen(checkout_paid)
    long_ago = INSTALLED - timedelta(days=730)
    order = created(timedelta(days=730))
    assert checkout_deliver(notification(order=order, at=long_ago)).status_code == 200
    flows.run_due()
    assert (Order.objects.get().verdict_reason, granted) == ("before_installation", [])


def test_a_first_pass_over_old_orders_says_nothing() -> None:
    """No signal and no incident, whatever became of them."""
    count = times(200, 10_000)
    statuses = ("processed", "refunded", "chargeback", "canceled", "rejected", "created", "pending")
    for begin in range(0, count, 100):
        rows = [
            created(timedelta(days=2 + number), status=statuses[number % len(statuses)])
            for number in range(begin, begin + 100)
        ]
        record_listed(rows)
    assert Order.objects.count() >= count * 5 // 7
    assert (OutboxMessage.objects.count(), Incident.objects.count()) == (0, 0)


def test_staff_can_accept_a_historic_payment(listen: Listening) -> None:
    """Staff know the purchase."""
    granted = listen(checkout_paid)
    record_listed([created(timedelta(days=30))])
    assert Order.objects.get().verdict == "historic"
    accept()
    assert (Order.objects.get().verdict, len(granted)) == ("accepted", 1)


def accept() -> None:
    """A member of staff accepts the one order."""
    staff = User.objects.get_or_create(username="sam")[0]
    flows.operations.accept_payment(Order.objects.get(), staff=staff, reason="moved shop")
    flows.run_due()


@pytest.mark.parametrize("ways", [["listed", "signed"], ["signed", "listed"]])
def test_staff_review_it_once(
    checkout_deliver: Deliver, listen: Listening, settings: Any, ways: list[str]
) -> None:
    """Whether the list or the notification is read first, about an open order from before the installation."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "UNBOUND_ORDERS": "review"}
    review, facts = listen(payment_review), listen(payment_success)
    order = created(timedelta(hours=1))
    for way in ways:
        let_arrive(checkout_deliver, way, order)
    assert (len(review), len(facts), Order.objects.get().verdict_reason) == (1, 1, "unbound")
    assert [incident.kind for incident in Incident.objects.filter(resolved_at=None)] == ["review:unbound"]


@pytest.mark.parametrize("ways", [["listed", "signed"], ["signed", "listed"]])
def test_what_was_recorded_in_silence_is_reported_with_its_notification(
    checkout_deliver: Deliver, listen: Listening, settings: Any, ways: list[str]
) -> None:
    """An old order that was paid after the installation: the same signals and incidents, whatever came first."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "UNBOUND_ORDERS": "review"}
    review, facts = listen(payment_review), listen(payment_success)
    order = created(timedelta(days=30), charge_amount=-1, charge_currency="USD")
    for way in ways:
        let_arrive(checkout_deliver, way, order)
    assert ([each["reason"] for each in review], len(facts)) == (["unbound"], 1)
    assert sorted(Incident.objects.values_list("kind", flat=True)) == ["negative_charge", "review:unbound"]
