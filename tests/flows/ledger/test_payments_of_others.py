"""Payments without a checkout of this shop: an incident for each kind and day, however many there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from checkout_integration import flows
from checkout_integration.flows.monitoring import order_queues
from checkout_integration.models import Incident, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory
from checkout_integration.testing.payloads import ListedOrderDocumentFactory, OrderDocumentFactory
from tests.support.flows.concurrency import at_once, deadlocks, in_background
from tests.support.flows.shop import meet_more, notification, record_listed, statements

pytestmark = pytest.mark.django_db
PAGE = 500


def foreign(deliver: Deliver, **changes: Any) -> Order:
    """A payment for nothing that this shop sold."""
    document = OrderDocumentFactory(metadata={}, **changes)
    assert deliver(notification(order=document)).status_code == 200
    return Order.objects.get(order_id=document["id"])


def rows(number: int, **changes: Any) -> list[dict[str, Any]]:
    """Rows of the list about such payments, made after the installation."""
    created_at = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    return [ListedOrderDocumentFactory(metadata={}, created_at=created_at, **changes) for _ in range(number)]


def refuse_test_payments(settings: Any) -> None:
    """Let the shop take live payments only."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ACCEPT_TEST_PAYMENTS": False}


def accept(order: Order) -> None:
    """The decision of staff that grants the goods of a payment."""
    flows.operations.accept_payment(order, staff=None, reason="sold on the phone")


def found() -> list[tuple[str, bool]]:
    """The kind of each incident, and whether it is open."""
    rows = Incident.objects.order_by("pk").values_list("kind", "resolved_at")
    return [(kind, resolved_at is None) for kind, resolved_at in rows]


OPEN, RESOLVED = ("review:unbound", True), ("review:unbound", False)


@pytest.mark.slow
def test_a_page_of_them_opens_one_incident() -> None:
    """It names the first; each of them is in review. Another page only reads it."""
    page = rows(PAGE)
    record_listed(page)
    incident = Incident.objects.get()
    assert (incident.kind, incident.order) == ("review:unbound", None)
    assert incident.detail == ", ".join(sorted(row["id"] for row in page)[:5])
    with statements() as seen:
        record_listed(rows(PAGE))
    assert found() == [OPEN]
    assert Incident.objects.get().payments.count() == 2 * PAGE
    own = [sql for sql in seen if "checkout_integration_incident" in sql]
    assert [sql.partition(" ")[0] for sql in own] == ["SELECT"]


def test_what_says_nothing_new_opens_nothing(checkout_deliver: Deliver) -> None:
    """Neither another attempt, nor the list, nor what happens to the payment later."""
    message = notification(order=OrderDocumentFactory(metadata={}))
    checkout_deliver(message)
    flows.operations.resolve_incident(Incident.objects.get(), staff=User.objects.create_user("grace"))
    checkout_deliver({**message, "delivery_try": 1})
    record_listed([message["object"]])
    refunded = {**message["object"], "status": "refunded", "refunded": True}
    checkout_deliver(notification("payment.refund", refunded))
    assert Order.objects.get().status == "refunded"
    assert found() == [RESOLVED]


@pytest.mark.parametrize(
    ("refunds", "waits"),
    [
        (["3.00"], True),
        (["3.00", "4.99"], True),
        (["0"], True),
        (["3.00", "9.99"], False),
        (["9.99"], False),
        ([None], False),
    ],
)
def test_one_that_was_refunded_in_part_still_waits(
    checkout_deliver: Deliver, refunds: list[str | None], waits: bool
) -> None:
    """In staff's queue, and among the payments of its incident, until nothing of it is with the shop."""
    order = foreign(checkout_deliver, amount=Decimal("9.99"), currency="USD")
    for amount in refunds:
        refund = None if amount is None else {"amount": Decimal(amount), "currency": "USD"}
        document = {**order.whole_document, "status": "refunded", "refunded": True, "refund": refund}
        checkout_deliver(notification("payment.refund", document))
    order.refresh_from_db()
    assert (order.status, order.verdict, order.partly_refunded) == ("refunded", "review", waits)
    _label, condition = order_queues()["review"]
    assert Order.objects.filter(condition).exists() is waits
    assert Incident.objects.get(kind="review:unbound").payments.exists() is waits
    counted = {each.name: each.count for each in flows.operations.staff_queues()}
    assert counted["review"] == int(waits)


def test_each_kind_has_its_own(checkout_deliver: Deliver, settings: Any) -> None:
    """A test payment is another thing than one for nothing sold here."""
    refuse_test_payments(settings)
    foreign(checkout_deliver, is_production=False)
    for _ in range(2):
        foreign(checkout_deliver, is_production=True)
    assert found() == [("review:mode", True), OPEN]


def test_each_day_has_its_own(checkout_deliver: Deliver) -> None:
    """The first payment of a new day opens an incident."""
    foreign(checkout_deliver)
    Incident.objects.update(key="of yesterday")
    foreign(checkout_deliver)
    assert found() == [OPEN, OPEN]


def test_another_payment_opens_a_resolved_one_again(checkout_deliver: Deliver) -> None:
    """Staff have not seen it yet."""
    foreign(checkout_deliver)
    flows.operations.resolve_incident(Incident.objects.get(), staff=User.objects.create_user("grace"))
    assert found() == [RESOLVED]
    foreign(checkout_deliver)
    assert found() == [OPEN]
    assert Incident.objects.get().staff is None


def test_it_is_resolved_with_its_last_payment(checkout_deliver: Deliver) -> None:
    """Accepted, bound or reversed: nothing is left to decide."""
    staff = User.objects.create_user("grace")
    accepted, bound, reversed_one = (foreign(checkout_deliver) for _ in range(3))
    accept(accepted)
    refunded = {**reversed_one.whole_document, "status": "refunded", "refunded": True}
    checkout_deliver(notification("payment.refund", refunded))
    assert found() == [OPEN]
    checkout = CheckoutFactory(expected_amount=bound.amount, currency=bound.currency)
    flows.operations.bind_order(bound, to=checkout, staff=staff, reason="sold here")
    assert found()[0] == RESOLVED
    assert Incident.objects.get(kind="review:unbound").staff == staff


def test_those_of_another_project_and_kind_stay_open(checkout_deliver: Deliver) -> None:
    """A decision is about the payments of its own kind and project."""
    order = foreign(checkout_deliver)
    others = [("other", "review:unbound"), ("default", "review:before_installation")]
    for number, (project, kind) in enumerate(others):
        Incident.objects.create(key=str(number), project=project, kind=kind)
    Order.objects.create(
        project="default", order_id="old", verdict="review", verdict_reason="before_installation"
    )
    accept(order)
    assert set(Incident.objects.filter(resolved_at=None).values_list("project", "kind")) == set(others)


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_the_first_ones_of_a_day_arrive_together(checkout_deliver: Deliver) -> None:
    """One opens the incident, and the database refuses none."""
    before = deadlocks()
    messages = [notification(order=OrderDocumentFactory(metadata={})) for _ in range(24)]
    answers = at_once([lambda each=each: checkout_deliver(each).status_code for each in messages])  # type: ignore[misc]
    assert answers == [200] * 24
    flows.inbox.apply_due()
    assert found() == [OPEN]
    assert Incident.objects.get().payments.count() == 24
    assert deadlocks() == before


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_a_process_that_does_not_commit_holds_up_nobody(checkout_deliver: Deliver) -> None:
    """It has recorded such a payment, and stopped; those of others are recorded."""
    foreign(checkout_deliver)
    meet_more()
    recorded, go_on, went_on = Event(), Event(), list[bool]()

    def stop_before_the_commit() -> None:
        with transaction.atomic():
            record_listed(rows(1))
            recorded.set()
            went_on.append(go_on.wait(20))

    stopped = in_background(stop_before_the_commit)
    assert recorded.wait(60)
    record_listed(rows(1))
    go_on.set()
    stopped.join()
    assert went_on == [True]
    assert Order.objects.count() == 3
    assert found() == [OPEN]
