"""Order before checkout: transactions that meet wait for each other, and never in a circle."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from checkout_integration.conf import app_settings
from checkout_integration.flows.checkout.creating import record_created
from checkout_integration.flows.privacy.erasing import erase_checkouts
from checkout_integration.models import Checkout, Order, PersonalData, Refund
from checkout_integration.protocol.creation import OrderRequest
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.concurrency import meeting
from tests.support.flows.shop import notification, record_listed

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
Document = dict[str, Any]
LONG_AGO = datetime.now(UTC) - timedelta(days=2)


def create(deliver: Deliver, order: Document) -> None:
    """Record the service's response to the creation of an order that a notification has already reported."""
    checkout = Checkout.objects.get(order_id=order["id"])
    record_created(app_settings().project("default"), checkout, OrderRequest(metadata=order["metadata"]))


def refund(deliver: Deliver, order: Document) -> None:
    """Deliver the notification of an order's refund."""
    deliver(notification("payment.refund", {**order, "status": "refunded", "refunded": True}))


WAYS: dict[str, Callable[[Deliver, Document], object]] = {
    "a page": lambda deliver, order: record_listed([order, order_document_for(CheckoutFactory())]),
    "a row": lambda deliver, order: record_listed([order]),
    "a success": lambda deliver, order: deliver(order=order),
    "a refund": refund,
    "a creation": create,
}


@pytest.fixture
def order(checkout_deliver: Deliver) -> Document:
    """Give the order of a checkout: known here by a cancellation, and paid since then."""
    document: Document = order_document_for(CheckoutFactory())
    checkout_deliver(notification("payment.cancel", {**document, "status": "canceled"}, at=LONG_AGO))
    return document


# Of two notifications of one order the later one waits for no lock: it is left to the process that has the earlier one.
PAIRS = [pair for pair in permutations(WAYS, 2) if set(pair) != {"a success", "a refund"}]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_that_meet_at_one_checkout(
    checkout_deliver: Deliver, order: Document, first: str, second: str
) -> None:
    """Both wait until the checkout's row is given back; then one goes on, and the other after it."""
    with meeting() as others:
        Checkout.objects.select_for_update().get()
        for way in (first, second):
            others.comes(lambda way=way: WAYS[way](checkout_deliver, order))  # type: ignore[misc]
    end = "refunded" if "a refund" in (first, second) else "processed"
    assert Order.objects.get(order_id=order["id"]).status == end


@pytest.mark.parametrize("way", WAYS)
def test_one_that_waits_for_an_order_holds_no_checkout(
    checkout_deliver: Deliver, order: Document, way: str
) -> None:
    """A checkout is locked first only where its order is not known yet."""
    with meeting() as others:
        Order.objects.select_for_update().get()
        others.comes(lambda: WAYS[way](checkout_deliver, order))
        Checkout.objects.select_for_update(nowait=True).get(order_id=order["id"])


def test_page_that_waits_for_personal_data_holds_its_order(
    checkout_deliver: Deliver, order: Document
) -> None:
    """Of two tables in one statement the order's comes first, however few rows there are."""
    others_order = OrderDocumentFactory()
    for other in (others_order, OrderDocumentFactory()):
        checkout_deliver(order=other)
    its_own = PersonalData.objects.get(order__order_id=order["id"])
    with meeting() as others:
        PersonalData.objects.select_for_update().get(pk=its_own.pk)
        others.comes(lambda: record_listed([order, others_order]))
        free = Order.objects.select_for_update(skip_locked=True).values_list("order_id", flat=True)
        assert order["id"] not in free


def test_page_takes_an_order_that_was_inserted_while_it_waited(checkout_deliver: Deliver) -> None:
    """Another transaction inserted the order meanwhile; the page must not lose such a race, since more may follow."""
    checkouts = CheckoutFactory.create_batch(2)
    page = [order_document_for(checkout) for checkout in checkouts]
    with meeting() as others:
        Checkout.objects.select_for_update().get(pk=checkouts[0].pk)
        others.comes(lambda: record_listed(page))
        checkout_deliver(order=page[0])
    assert Order.objects.filter(checkout__in=checkouts, status="processed").count() == len(checkouts)


def reversal(number: int) -> Document:
    """Return the list's document of a refund of an unknown order."""
    document = {"id": f"reversal-{number}", "transaction": f"transaction-{number}", "status": "refunded"}
    return {**document, "created_at": datetime.now(UTC).isoformat(), "amount": 1, "currency": "USD"}


def test_reversal_that_waits_for_its_order_comes_after_the_checkout(
    checkout_deliver: Deliver, order: Document
) -> None:
    """The order that it reverses is just being paid: its success takes the reversal up under the checkout's lock."""
    page = [order | {"status": "canceled"}, reversal(1)]
    record_listed(page)
    with meeting() as others:
        Checkout.objects.select_for_update().get()
        others.comes(lambda: checkout_deliver(order={**order, "id": "again", "transaction": "transaction-1"}))
        others.comes(lambda: record_listed(page))
    record_listed(page)
    assert Order.objects.get(order_id="again").status == "refunded"


def test_pages_with_the_same_waiting_reversals_in_another_order() -> None:
    """Each page takes them in the same order, whatever its own."""
    page = [reversal(number) for number in range(3)]
    with meeting() as others:
        record_listed(page[1:2])
        others.comes(lambda: record_listed(page))
        others.comes(lambda: record_listed(page[::-1]))
    assert Refund.objects.filter(order=None).count() == len(page)


def test_erasing_meets_a_refund_at_its_end(checkout_deliver: Deliver, order: Document) -> None:
    """PostgreSQL checks at the commit whether the order that paid an erased checkout is still there."""
    checkout_deliver(order=order)
    checkout = Checkout.objects.get()
    with meeting() as others:
        erase_checkouts([checkout.pk])
        others.comes(lambda: refund(checkout_deliver, order))
    checkout.refresh_from_db()
    assert (checkout.status, checkout.metadata) == ("reversed", {})
