"""Many runs at the same time, on PostgreSQL and MariaDB."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.checkout.creating import commit_checkout
from checkout_integration.flows.database.transactions import with_retries
from checkout_integration.flows.inbox import apply_due
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Incident,
    Notification,
    Order,
    OutboxMessage,
    PersonalData,
    Transition,
    ValidationDecision,
)
from checkout_integration.protocol.creation import Customer
from checkout_integration.signals import checkout_paid, checkout_reversed, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.concurrency import at_once, await_waiting_locks, deadlocks, in_background
from tests.support.flows.shop import (
    Listening,
    ShopHooks,
    disown,
    notification,
    own,
    owned,
    record_listed,
    sell_more,
)
from tests.support.flows.two_transactions import meeting_at_the_order
from tests.support.scale import times

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
THREADS = 8
CROWD, ROUNDS = times(16, 64), times(5, 200)
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def levels() -> list[Any]:
    """The levels of isolation that a host may have set for this database."""
    if connection.vendor == "postgresql":
        from django.db.backends.postgresql.psycopg_any import IsolationLevel

        return list(IsolationLevel)
    words = ["read uncommitted", "read committed", "repeatable read", "serializable"]
    return words if connection.vendor == "mysql" else [""]


@pytest.fixture(params=levels(), ids=str)
def isolation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each isolation level of a host: our transactions still read the commits of others."""
    options = connection.settings_dict["OPTIONS"]  # of all threads
    connection.close()
    if request.param:
        options["isolation_level"] = request.param
    yield
    connection.close()
    options.pop("isolation_level", None)


def answered(deliver: Deliver, document: Mapping[str, Any] | None = None, **arguments: Any) -> int:
    """The status of one run."""
    return deliver(document, **arguments).status_code


def sold(checkout: Checkout, external_id: str) -> int:
    """Commit a checkout to a customer; 201 is its status."""
    commit_checkout(app_settings().project("default"), checkout, Customer(external_id=external_id))
    return 201


@pytest.mark.parametrize("same_attempt", [True, False])
def test_same_notification_from_many_threads(checkout_deliver: Deliver, same_attempt: bool) -> None:
    """One row for each distinct body, and one message of each kind; every response is 200."""
    before = deadlocks()
    for _ in range(ROUNDS):
        document = notification(order=OrderDocumentFactory())
        attempts = [0] * CROWD if same_attempt else range(CROWD)
        works = [partial(answered, checkout_deliver, document, delivery_try=attempt) for attempt in attempts]
        answers = at_once(works)
        assert answers == [200] * CROWD
    assert deadlocks() == before
    rows, receipts = (ROUNDS, CROWD) if same_attempt else (ROUNDS * CROWD, 1)
    assert (Notification.objects.count(), Order.objects.count()) == (rows, ROUNDS)
    assert set(Notification.objects.values_list("receipts", flat=True)) == {receipts}
    assert Transition.objects.count() == ROUNDS
    assert OutboxMessage.objects.filter(signal="payment_success").count() == ROUNDS
    assert not Incident.objects.filter(kind="not_applied").exists()


@pytest.mark.usefixtures("isolation")
def test_different_events_of_a_new_order_at_once(checkout_deliver: Deliver) -> None:
    """None knows the order yet, one inserts it first: the others repeat their whole transaction."""
    for _ in range(10):
        order = OrderDocumentFactory()
        begun = datetime.now(UTC)
        events = ["payment.success", "payment.cancel", "payment.refund", "payment.chargeback"]
        messages = [
            notification(event, {**order, "status": ""}, at=begun + timedelta(minutes=minutes))
            for minutes, event in enumerate(events)
        ]
        answers = at_once([partial(answered, checkout_deliver, document) for document in messages])
        assert answers == [200] * 4
    assert set(Order.objects.values_list("status", flat=True)) == {"chargeback"}
    assert set(Notification.objects.values_list("state", flat=True)) == {"applied"}


@pytest.mark.usefixtures("isolation")
def test_orders_of_one_new_customer_at_once(checkout_deliver: Deliver) -> None:
    """The customer's row is inserted by one of them."""
    for number in range(10):
        customer = {"user__external_id": f"player-of-round-{number}"}
        orders = [OrderDocumentFactory(**customer) for _ in range(THREADS)]
        answers = at_once([partial(answered, checkout_deliver, order=order) for order in orders])
        assert answers == [200] * THREADS
    assert Order.objects.filter(user=None).count() == 0
    assert Order.objects.values("user").distinct().count() == 10


@pytest.mark.usefixtures("isolation")
def test_questions_and_checkouts_of_one_new_customer_at_once(checkout_deliver: Deliver) -> None:
    """Each reserves the identity of the customer without a row, beside a first order that inserts it."""
    half = THREADS // 2
    for number in range(10):
        name = f"player-of-round-{number}"
        works = [partial(sold, CheckoutFactory.build(user=None), name) for _ in range(half)]
        questions = [
            notification("user.validate", {"external_id": name}, id=f"{name}-{n}") for n in range(half)
        ]
        works += [partial(answered, checkout_deliver, each) for each in questions]
        works.append(partial(answered, checkout_deliver, order=OrderDocumentFactory(user__external_id=name)))
        assert at_once(works) == [201] * half + [403] * half + [200]
    assert Checkout.objects.count() == ValidationDecision.objects.count() == 10 * half
    known = set(CheckoutUser.objects.values_list("external_id", flat=True))
    assert known == {f"player-of-round-{number}" for number in range(10)}


def test_mixed_events_and_list_pages_end_right(checkout_deliver: Deliver, listen: Listening) -> None:
    """Shuffled events of twenty orders and pages of the list, from eight threads: no deadlock, the right ends."""
    listen(checkout_paid, own)
    listen(checkout_reversed, disown)
    before, chance = deadlocks(), random.Random(7)
    begun = datetime.now(UTC) - timedelta(hours=2)
    checkouts = CheckoutFactory.create_batch(20)
    paid, refunded = checkouts[:10], checkouts[10:]
    messages: list[dict[str, Any]] = []
    rows = []
    for checkout in checkouts:
        order = order_document_for(checkout)
        messages += [notification(order=order, at=begun)] * 3
        rows.append(order)
        if checkout in refunded:
            back = {
                **order,
                **order_document_for(checkout, status="refunded"),
                "created_at": order["created_at"],
            }
            messages += [notification("payment.refund", back, at=begun + timedelta(hours=1))] * 2
    chance.shuffle(messages)

    def deliver(documents: Sequence[dict[str, Any]]) -> int:
        return max(checkout_deliver(document).status_code for document in documents)

    def read_list() -> int:
        for _ in range(4):
            page = chance.sample(rows, 10)
            with_retries(partial(record_listed, page))
            flows.run_due()
        return 200

    shares = [messages[number :: THREADS - 1] for number in range(THREADS - 1)]
    works = [partial(deliver, share) for share in shares]
    assert at_once([*works, read_list]) == [200] * THREADS
    flows.run_due()
    assert deadlocks() == before
    ends = dict(Order.objects.values_list("checkout", "status"))
    assert ends == {each.pk: "processed" for each in paid} | {each.pk: "refunded" for each in refunded}
    assert owned() == len(paid)
    assert not Incident.objects.filter(kind="not_applied").exists()


@pytest.mark.usefixtures("isolation")
def test_one_checkout_is_paid_once(checkout_deliver: Deliver) -> None:
    """Eight tries of one checkout succeed at the same time: one pays it, seven are paid twice."""
    for _ in range(5):
        checkout = CheckoutFactory()
        tries = [order_document_for(checkout, id=f"{checkout.pk}-{number}") for number in range(THREADS)]
        answers = at_once([partial(answered, checkout_deliver, order=order) for order in tries])
        assert answers == [200] * THREADS
        others = Order.objects.filter(checkout=checkout).exclude(paid_checkouts=checkout)
        assert others.filter(incidents__kind="review:paid_twice").count() == others.count() == THREADS - 1
        assert OutboxMessage.objects.filter(signal="checkout_paid", checkout=checkout).count() == 1


@pytest.mark.usefixtures("isolation")
def test_checkout_that_was_bound_meanwhile_stays_bound(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """The refund looked for the checkout before the success named it, and got the order's lock after that."""
    checkout, order = CheckoutFactory(), OrderDocumentFactory()
    checkout_deliver(notification("payment.cancel", {**order, "status": "canceled"}, at=LONG_AGO))
    meeting_at_the_order(
        lambda: checkout_deliver(order=order),
        lambda: with_retries(lambda: record_listed([{**order, "status": "refunded"}])),
        hooks,
        checkout,
    )
    stored = Order.objects.get()
    assert (stored.status, stored.checkout, stored.verdict) == ("refunded", checkout, "verified")
    assert OutboxMessage.objects.filter(signal="checkout_reversed", checkout=checkout).count() == 1


@pytest.mark.usefixtures("isolation")
def test_personal_data_of_the_first_survives_the_second(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """Data that another transaction wrote while a list page waited is merged, not overwritten."""
    order = OrderDocumentFactory()
    bare = {
        name: value for name, value in order.items() if name not in ("receipt_email", "receipt_phone", "user")
    }
    checkout_deliver(notification("payment.cancel", {**bare, "status": "canceled"}, at=LONG_AGO))
    meeting_at_the_order(
        lambda: checkout_deliver(order={**bare, "receipt_email": "ada@example.com"}),
        lambda: with_retries(
            lambda: record_listed([{**bare, "status": "refunded", "receipt_phone": "+4930901820"}])
        ),
        hooks,
        None,
    )
    stored = Order.objects.get()
    assert (stored.status, stored.receipt_email, stored.receipt_phone) == (
        "refunded",
        "ada@example.com",
        "+4930901820",
    )


@pytest.mark.parametrize("bound", [True, False])
def test_erasure_meanwhile_wins(checkout_deliver: Deliver, bound: bool) -> None:
    """A tombstone that was written while a notification waited for the order stands, whichever way it is locked."""
    document: dict[str, Any] = order_document_for(CheckoutFactory()) if bound else OrderDocumentFactory()
    order = {**document, "receipt_email": "ada@example.com"}
    changes = {"status": "refunded", "receipt_phone": "+4930901820"}
    checkout_deliver(order=order)
    with transaction.atomic():
        locked = Order.objects.select_for_update().get()
        waiting = in_background(
            lambda: checkout_deliver(notification("payment.refund", {**order, **changes}))
        )
        try:
            await_waiting_locks()
            personal = PersonalData.objects.filter(order=locked)
            personal.update(document={}, email="", last4="", erased_at=LONG_AGO)
        finally:
            transaction.on_commit(waiting.join)
    stored = PersonalData.objects.get()
    assert (Order.objects.get().status, stored.document, stored.email) == ("refunded", {}, "")


def nameless(order_id: str) -> Mapping[str, Any]:
    """A paid order without a customer."""
    made: Mapping[str, Any] = OrderDocumentFactory(id=order_id, user__id="", user__external_id="")
    return made


def test_announcement_that_is_committed_late_is_not_skipped(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """Its number was taken before that of another one, which has been run meanwhile."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    heard = listen(payment_success)
    stored_late, go_on = Event(), Event()

    def tell_late() -> None:
        with transaction.atomic():
            checkout_deliver(order=nameless("late"))
            apply_due()
            stored_late.set()
            assert go_on.wait(60)

    checkout_deliver(order=nameless("first"))
    flows.run_due()
    late = in_background(tell_late)
    assert stored_late.wait(60)
    checkout_deliver(order=nameless("quick"))
    flows.run_due()
    assert [each["order"].order_id for each in heard] == ["first", "quick"]
    go_on.set()
    late.join()
    flows.run_due()
    assert [each["order"].order_id for each in heard] == ["first", "quick", "late"]
    announced = OutboxMessage.objects.filter(signal="payment_success").order_by("pk")
    assert list(announced.values_list("order__order_id", flat=True)) == ["first", "late", "quick"]


def test_checkout_in_hand_holds_up_no_other(checkout_deliver: Deliver) -> None:
    """A database that read the whole table would wait for each row that another notification has locked."""
    busy, free = CheckoutFactory(), CheckoutFactory()
    sell_more()
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("SET innodb_lock_wait_timeout = 1")
    locked, go_on = Event(), Event()

    def hold() -> None:
        with transaction.atomic():
            Checkout.objects.select_for_update().get(pk=busy.pk)
            locked.set()
            assert go_on.wait(60)

    holding = in_background(hold)
    assert locked.wait(60)
    try:
        assert answered(checkout_deliver, order=order_document_for(free)) == 200
    finally:
        go_on.set()
        holding.join()
    connection.close()
    free.refresh_from_db()
    assert free.status == "paid"
