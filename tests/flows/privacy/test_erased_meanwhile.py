"""A customer is erased while the ledger records an observation of them, on PostgreSQL and MariaDB."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from threading import Event
from types import ModuleType
from typing import Any

import pytest
from django.db import transaction

from checkout_integration import flows
from checkout_integration.flows import inbox
from checkout_integration.flows.database.transactions import with_retries
from checkout_integration.flows.inbox import applying
from checkout_integration.flows.ledger import customers, record, recording
from checkout_integration.flows.privacy import erasing
from checkout_integration.hooks import Refusal
from checkout_integration.models import Checkout, CheckoutUser, Notification, Order
from checkout_integration.protocol.creation import Customer
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.test_concurrency import isolation
from tests.support.customer import EXTERNAL_ID, NAME, PRIVACY_REQUEST, SERVICE_ID
from tests.support.flows.concurrency import await_waiting_locks, deadlocks, in_background
from tests.support.flows.shop import ShopHooks, notification, record_listed, sell_more
from tests.support.flows.threads import PATIENCE
from tests.support.tables import columns_with

__all__ = ["isolation"]

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("isolation"),
]
CANARIES = [EXTERNAL_ID, NAME, SERVICE_ID]
USER = {"id": SERVICE_ID, "external_id": EXTERNAL_ID, "name": NAME}


def order_of(checkout: Checkout | None, **changes: Any) -> dict[str, Any]:
    """The customer's order, for a checkout of this shop or for none."""
    document: dict[str, Any] = (
        order_document_for(checkout, **changes) if checkout else OrderDocumentFactory(**changes)
    )
    return {**document, "user": USER}


def known_by_an_order(deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """They have bought before: a row of theirs stands in the table of customers."""
    deliver(order=order_of(CheckoutFactory()))


def known_by_a_question(deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """They have been refused once, and never bought: there is no such row."""
    hooks.user = staticmethod(lambda user: Refusal("BANNED", "not you"))
    assert deliver(event="user.validate", user=USER).status_code == 403


class Stop:
    """A wrapper that stops its first caller inside until it is opened."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._inside, self._opened = Event(), Event()

    def __call__(self, *arguments: Any) -> Any:
        """Wait, then call the function."""
        self._inside.set()
        assert self._opened.wait(PATIENCE)
        return self._function(*arguments)

    def await_inside(self) -> None:
        """Return when a caller is inside."""
        assert self._inside.wait(PATIENCE)

    def open(self) -> None:
        """Lets all through, from now on."""
        self._opened.set()


Known = Callable[[Deliver, type[ShopHooks]], None]
KNOWN: list[Known] = [known_by_an_order, known_by_a_question]


def erase(**whom: str) -> None:
    """Erase the one customer that is meant."""
    (person,) = flows.privacy.find_persons(**whom)  # type: ignore[arg-type]
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)


def check_erased(checkout: Checkout) -> None:
    """Assert that the payment counts, and that no data of its customer is left."""
    checkout.refresh_from_db()
    assert checkout.status == "paid" and checkout.paid_order is not None
    assert checkout.paid_order.personal_data.erased_at
    assert not CheckoutUser.objects.filter(erased_at=None).exists()
    assert columns_with(CANARIES) == set()
    assert not Notification.objects.exclude(state="applied").exists()


@pytest.mark.parametrize("known", KNOWN)
def test_new_order_that_waited_at_its_checkout_is_stored_without_them(
    checkout_deliver: Deliver, hooks: type[ShopHooks], known: Known
) -> None:
    """The ledger looked for a tombstone before it waited for the checkout's lock: there was none then."""
    known(checkout_deliver, hooks)
    checkout = CheckoutFactory()
    sell_more()
    with transaction.atomic():
        Checkout.objects.select_for_update().get(pk=checkout.pk)
        recording = in_background(lambda: checkout_deliver(order=order_of(checkout)))
        try:
            await_waiting_locks()
            in_background(lambda: erase(external_id=EXTERNAL_ID)).join()
        finally:
            transaction.on_commit(recording.join)
    check_erased(checkout)


def test_try_that_pays_nothing_is_stored_without_them(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """The checkout is left as it is, and the order's customer was never seen here."""
    known_by_a_question(checkout_deliver, hooks)
    checkout = CheckoutFactory()
    declined = notification("payment.cancel", order_of(checkout, status="rejected"))
    with transaction.atomic():
        Checkout.objects.select_for_update().get(pk=checkout.pk)
        recording = in_background(lambda: checkout_deliver(declined))
        try:
            await_waiting_locks()
            in_background(lambda: erase(external_id=EXTERNAL_ID)).join()
        finally:
            transaction.on_commit(recording.join)
    assert Order.objects.get().personal_data.erased_at
    assert columns_with(CANARIES) == set()


def test_page_of_the_list_that_was_being_looked_up_is_stored_without_them(
    checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several customers are looked up together; then, before their rows are written, one of them is erased."""
    known_by_a_question(checkout_deliver, hooks)
    checkout = CheckoutFactory()
    page = [order_of(checkout), order_document_for(CheckoutFactory(), user__external_id="arthur")]
    stop = Stop(customers._row_of)
    monkeypatch.setattr(customers, "_row_of", stop)
    reading = in_background(lambda: with_retries(lambda: record_listed(page)))
    stop.await_inside()
    erase(external_id=EXTERNAL_ID)
    stop.open()
    reading.join()
    assert Order.objects.get(checkout=checkout).personal_data.erased_at
    assert [row.external_id for row in CheckoutUser.objects.filter(erased_at=None)] == ["arthur"]
    assert columns_with(CANARIES) == set()


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("bound", [True, False])
def test_new_order_in_the_middle_of_the_ledger_is_found(
    checkout_deliver: Deliver,
    hooks: type[ShopHooks],
    monkeypatch: pytest.MonkeyPatch,
    known: Known,
    bound: bool,
) -> None:
    """The ledger locks the customer's row, even a new one: the erasure waits for it, and then finds its order."""
    known(checkout_deliver, hooks)
    order = order_of(CheckoutFactory() if bound else None)
    meet(lambda: checkout_deliver(order=order), {"external_id": EXTERNAL_ID}, monkeypatch)
    assert Order.objects.get(order_id=order["id"]).personal_data.erased_at
    assert not CheckoutUser.objects.filter(erased_at=None).exists()
    assert columns_with(CANARIES) == set()


def test_guest_in_the_middle_of_the_ledger_is_found_by_their_checkout(
    checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list has no id of the service: the ledger locks their checkout, and the erasure waits for that."""
    checkout = CheckoutFactory(order_id="first")
    nameless = {**order_of(checkout), "user": {"name": NAME}}
    record_listed([{**nameless, "status": "rejected"}])
    again = {**nameless, "id": "again"}
    meet(lambda: with_retries(lambda: record_listed([again])), {"order_id": "first"}, monkeypatch)
    check_erased(checkout)


def test_a_customer_who_is_erased_before_their_row_is_there(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """So far only user.validate named them; while their first order is recorded, the hook looks for their account."""
    known_by_a_question(checkout_deliver, hooks)

    def erase_meanwhile(_: object) -> None:
        hooks.find = staticmethod(lambda _: None)
        in_background(lambda: erase(external_id=EXTERNAL_ID)).join()

    hooks.find = staticmethod(erase_meanwhile)
    assert checkout_deliver(order=order_of(None)).status_code == 200
    assert Order.objects.get().personal_data.erased_at
    assert columns_with(CANARIES) == set()


def test_two_erasings_at_once_leave_one_tombstone(
    checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second waits for the row that the first makes a tombstone, and so frees its identity."""
    checkout = CheckoutFactory()
    checkout_deliver(order=order_of(checkout))
    (person,) = flows.privacy.find_persons(external_id=EXTERNAL_ID)
    with transaction.atomic():
        erasing._leave_tombstones(person)
        second = in_background(lambda: flows.privacy.erase_customer(person, PRIVACY_REQUEST))
        try:
            await_waiting_locks()
        finally:
            transaction.on_commit(second.join)
    check_erased(checkout)
    assert CheckoutUser.objects.count() == len(person.identities)


@pytest.mark.parametrize("approved", [False, True])
def test_question_in_the_middle_is_found(
    checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch, approved: bool
) -> None:
    """A new customer has no row: user.validate reserves its identity, or inserts it."""
    known_by_a_question(checkout_deliver, hooks)
    hooks.user = staticmethod(lambda user: approved)
    another = notification("user.validate", USER, id="another")
    meet(lambda: checkout_deliver(another), {"external_id": EXTERNAL_ID}, monkeypatch, (inbox, "store"))
    assert Notification.objects.count() == 2
    assert columns_with(CANARIES) == set()


@pytest.mark.usefixtures("checkout_sandbox")
def test_checkout_in_the_middle_is_found(
    checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does a checkout to them."""
    known_by_a_question(checkout_deliver, hooks)
    terms: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD", "metadata": {"buyer": NAME}}
    sell = partial(flows.create_token, customer=Customer(external_id=EXTERNAL_ID), **terms)
    meet(sell, {"external_id": EXTERNAL_ID}, monkeypatch, (customers, "is_tombstoned"))
    assert Checkout.objects.get().erased_at
    assert columns_with(CANARIES) == set()


def test_erasing_and_a_repetition_do_not_block_each_other(
    checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The erasure leaves a notification that is being applied; the applying process then deletes its body."""
    order = order_of(None, id="order-1")
    checkout_deliver(notification(order=order))
    claimed, erased, before = Event(), Event(), deadlocks()

    def record_later(*arguments: Any, **named: Any) -> Any:
        claimed.set()
        assert erased.wait(PATIENCE)
        return record(*arguments, **named)

    monkeypatch.setattr(applying, "record", record_later)
    threads = [in_background(lambda: checkout_deliver(notification(order=order, delivery_try=1)))]
    assert claimed.wait(PATIENCE)
    erase(order_id="order-1")
    erased.set()
    for thread in threads:
        thread.join()
    assert deadlocks() == before
    assert set(Notification.objects.values_list("state", flat=True)) == {"applied"}
    assert columns_with(CANARIES) == set()


def meet(
    recording: Callable[[], object],
    whom: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    at: tuple[ModuleType, str] = (recording, "forget_erased"),
) -> None:
    """Stop the ledger's transaction after it has found the customer, until the erasure waits for it."""
    stop = Stop(getattr(*at))
    monkeypatch.setattr(*at, stop)
    threads = [in_background(recording)]
    stop.await_inside()
    try:
        threads.append(in_background(lambda: erase(**whom)))
        await_waiting_locks()
    finally:
        stop.open()
        for thread in threads:
            thread.join()
