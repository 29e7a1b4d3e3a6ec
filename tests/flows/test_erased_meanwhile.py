"""A customer is erased while news of them is on its way through the ledger, on PostgreSQL and MariaDB (A.47)."""

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
from checkout_integration.flows import erasing, inbox
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.inbox import applying
from checkout_integration.flows.ledger import customers, record, writing
from checkout_integration.hooks import Refusal
from checkout_integration.models import Checkout, CheckoutUser, Notification, Order
from checkout_integration.protocol.creation import Customer
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.crowd import await_waiting_locks, deadlocks, in_background
from tests.flows.shop import ShopHooks, notification, record_listed, sell_more
from tests.flows.test_concurrency import isolation
from tests.flows.threads import PATIENCE
from tests.leaks.customer import EXTERNAL_ID, NAME, SERVICE_ID
from tests.leaks.tables import columns_with

__all__ = ["isolation"]

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("isolation"),
]
CANARIES = [EXTERNAL_ID, NAME, SERVICE_ID]
USER = {"id": SERVICE_ID, "external_id": EXTERNAL_ID, "name": NAME}


def order_of(sale: Checkout | None, **changes: Any) -> dict[str, Any]:
    """The customer's order that pays for a sale, or for none of this shop."""
    told: dict[str, Any] = order_document_for(sale, **changes) if sale else OrderDocumentFactory(**changes)
    return {**told, "user": USER}


def known_by_an_order(deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """They have bought before: a row of theirs stands in the table of customers."""
    deliver(order=order_of(CheckoutFactory()))


def known_by_a_question(deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """They have been refused once, and never bought: there is no such row."""
    hooks.user = staticmethod(lambda user: Refusal("BANNED", "not you"))
    assert deliver(event="user.validate", user=USER).status_code == 403


class Stop:
    """A function whose first caller waits inside until it is opened."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._inside, self._opened = Event(), Event()

    def __call__(self, *arguments: Any) -> Any:
        """Waits, and does what the function does."""
        self._inside.set()
        assert self._opened.wait(PATIENCE)
        return self._function(*arguments)

    def await_inside(self) -> None:
        """Returns when somebody is inside."""
        assert self._inside.wait(PATIENCE)

    def open(self) -> None:
        """Lets all through, from now on."""
        self._opened.set()


Known = Callable[[Deliver, type[ShopHooks]], None]
KNOWN: list[Known] = [known_by_an_order, known_by_a_question]


def erase(**whom: str) -> None:
    """Erase the one customer that is meant."""
    (person,) = flows.find_persons(**whom)  # type: ignore[arg-type]
    flows.erase(person)


def check_erased(sale: Checkout) -> None:
    """The payment counts, and nobody knows whose it was."""
    sale.refresh_from_db()
    assert sale.status == "paid" and sale.paid_order is not None
    assert sale.paid_order.personal_data.erased_at
    assert not CheckoutUser.objects.filter(erased_at=None).exists()
    assert columns_with(CANARIES) == set()
    assert not Notification.objects.exclude(state="applied").exists()


@pytest.mark.parametrize("known", KNOWN)
def test_new_order_that_waited_at_its_sale_is_kept_without_them(
    checkout_deliver: Deliver, hooks: type[ShopHooks], known: Known
) -> None:
    """The ledger asked for a tombstone before it waited for the sale's lock: there was none then."""
    known(checkout_deliver, hooks)
    sale = CheckoutFactory()
    sell_more()
    with transaction.atomic():
        Checkout.objects.select_for_update().get(pk=sale.pk)
        news = in_background(lambda: checkout_deliver(order=order_of(sale)))
        try:
            await_waiting_locks()
            in_background(lambda: erase(external_id=EXTERNAL_ID)).join()
        finally:
            transaction.on_commit(news.join)
    check_erased(sale)


def test_try_that_pays_nothing_is_kept_without_them(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """The sale is left as it is, and the order's customer was never seen here."""
    known_by_a_question(checkout_deliver, hooks)
    sale = CheckoutFactory()
    declined = notification("payment.cancel", order_of(sale, status="rejected"))
    with transaction.atomic():
        Checkout.objects.select_for_update().get(pk=sale.pk)
        news = in_background(lambda: checkout_deliver(declined))
        try:
            await_waiting_locks()
            in_background(lambda: erase(external_id=EXTERNAL_ID)).join()
        finally:
            transaction.on_commit(news.join)
    assert Order.objects.get().personal_data.erased_at
    assert columns_with(CANARIES) == set()


def test_page_of_the_list_that_was_being_looked_up_is_kept_without_them(
    checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several customers are asked for together; between that and their rows one of them is erased."""
    known_by_a_question(checkout_deliver, hooks)
    sale = CheckoutFactory()
    page = [order_of(sale), order_document_for(CheckoutFactory(), user__external_id="arthur")]
    stop = Stop(customers._new_user)
    monkeypatch.setattr(customers, "_new_user", stop)
    reading = in_background(lambda: with_retries(lambda: record_listed(page)))
    stop.await_inside()
    erase(external_id=EXTERNAL_ID)
    stop.open()
    reading.join()
    assert Order.objects.get(checkout=sale).personal_data.erased_at
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
    """News holds the customer's row, be it a new one: erasing waits for it, and then finds its order."""
    known(checkout_deliver, hooks)
    order = order_of(CheckoutFactory() if bound else None)
    meet(lambda: checkout_deliver(order=order), {"external_id": EXTERNAL_ID}, monkeypatch)
    assert Order.objects.get(order_id=order["id"]).personal_data.erased_at
    assert not CheckoutUser.objects.filter(erased_at=None).exists()
    assert columns_with(CANARIES) == set()


def test_guest_in_the_middle_of_the_ledger_is_found_by_their_sale(
    checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list does not tell the service's id: the news holds their sale, for which erasing waits."""
    sale = CheckoutFactory(order_id="first")
    nameless = {**order_of(sale), "user": {"name": NAME}}
    record_listed([{**nameless, "status": "rejected"}])
    again = {**nameless, "id": "again"}
    meet(lambda: with_retries(lambda: record_listed([again])), {"order_id": "first"}, monkeypatch)
    check_erased(sale)


def test_a_customer_who_is_erased_before_their_row_is_there(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """They have only asked so far; while their first order is recorded, the shop looks for their account."""
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
    sale = CheckoutFactory()
    checkout_deliver(order=order_of(sale))
    (person,) = flows.find_persons(external_id=EXTERNAL_ID)
    with transaction.atomic():
        erasing._leave_tombstones(person)
        second = in_background(lambda: flows.erase(person))
        try:
            await_waiting_locks()
        finally:
            transaction.on_commit(second.join)
    check_erased(sale)
    assert CheckoutUser.objects.count() == len(person.identities)


@pytest.mark.parametrize("approved", [False, True])
def test_question_in_the_middle_is_found(
    checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch, approved: bool
) -> None:
    """A customer who has never bought has no row: a question about them holds the place of one, or inserts it."""
    known_by_a_question(checkout_deliver, hooks)
    hooks.user = staticmethod(lambda user: approved)
    another = notification("user.validate", USER, id="another")
    meet(lambda: checkout_deliver(another), {"external_id": EXTERNAL_ID}, monkeypatch, (inbox, "store"))
    assert Notification.objects.count() == 2
    assert columns_with(CANARIES) == set()


@pytest.mark.usefixtures("checkout_sandbox")
def test_sale_in_the_middle_is_found(
    checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does a sale to them."""
    known_by_a_question(checkout_deliver, hooks)
    asked: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD", "metadata": {"buyer": NAME}}
    sell = partial(flows.create_token, customer=Customer(external_id=EXTERNAL_ID), **asked)
    meet(sell, {"external_id": EXTERNAL_ID}, monkeypatch, (customers, "any_erased"))
    assert Checkout.objects.get().erased_at
    assert columns_with(CANARIES) == set()


def test_erasing_and_a_repetition_do_not_block_each_other(
    checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Erasing leaves a notification that is being applied to whoever applies it, who then drops its body."""
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
    news: Callable[[], object],
    whom: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    at: tuple[ModuleType, str] = (writing, "forget_erased"),
) -> None:
    """The news stands inside its transaction, its customer found, until the erasing waits for it."""
    stop = Stop(getattr(*at))
    monkeypatch.setattr(*at, stop)
    threads = [in_background(news)]
    stop.await_inside()
    try:
        threads.append(in_background(lambda: erase(**whom)))
        await_waiting_locks()
    finally:
        stop.open()
        for thread in threads:
            thread.join()
