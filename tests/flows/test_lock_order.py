"""Order before checkout: transactions that meet wait for each other, and never in a circle (A.11)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from checkout_integration.conf import app_settings
from checkout_integration.flows.checkout import _record_created
from checkout_integration.flows.erasing import _erase_sales
from checkout_integration.models import Checkout, Order, PersonalData, Refund
from checkout_integration.protocol.creation import OrderRequest
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.crowd import meeting
from tests.flows.shop import notification, record_listed

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
Document = dict[str, Any]
LONG_AGO = datetime.now(UTC) - timedelta(days=2)


def create(deliver: Deliver, order: Document) -> None:
    """Record the service's answer to the creation of an order, of which a notification has told before."""
    sale = Checkout.objects.get(order_id=order["id"])
    _record_created(app_settings().project("default"), sale, OrderRequest(metadata=order["metadata"]))


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
    """Give the order of a sale: known here by a cancellation, and paid since then."""
    told: Document = order_document_for(CheckoutFactory())
    checkout_deliver(notification("payment.cancel", {**told, "status": "canceled"}, at=LONG_AGO))
    return told


@pytest.mark.parametrize(("first", "second"), [*permutations(WAYS, 2)])
def test_two_that_meet_at_one_sale(
    checkout_deliver: Deliver, order: Document, first: str, second: str
) -> None:
    """Both wait until the sale's row is given back; then one goes on, and the other after it."""
    with meeting() as others:
        Checkout.objects.select_for_update().get()
        for way in (first, second):
            others.comes(lambda way=way: WAYS[way](checkout_deliver, order))  # type: ignore[misc]
    end = "refunded" if "a refund" in (first, second) else "processed"
    assert Order.objects.get(order_id=order["id"]).status == end


@pytest.mark.parametrize("way", WAYS)
def test_one_that_waits_for_an_order_holds_no_sale(
    checkout_deliver: Deliver, order: Document, way: str
) -> None:
    """A sale is locked first only where its order is not known yet."""
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
    """It knew the order no more than the sale's other news did; a page that lost such races would lose one after another."""
    sales = CheckoutFactory.create_batch(2)
    page = [order_document_for(sale) for sale in sales]
    with meeting() as others:
        Checkout.objects.select_for_update().get(pk=sales[0].pk)
        others.comes(lambda: record_listed(page))
        checkout_deliver(order=page[0])
    assert Order.objects.filter(checkout__in=sales, status="processed").count() == len(sales)


def reversal(number: int) -> Document:
    """Return the document of a refund whose order is not known, as the list tells of it."""
    told = {"id": f"reversal-{number}", "transaction": f"transaction-{number}", "status": "refunded"}
    return {**told, "created_at": datetime.now(UTC).isoformat(), "amount": 1, "currency": "USD"}


def test_reversal_that_waits_for_its_order_comes_after_the_sale(
    checkout_deliver: Deliver, order: Document
) -> None:
    """The order that it reverses is just being paid: its success takes the reversal up under the sale's lock."""
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
    """PostgreSQL checks at the commit whether the order that paid an erased sale is still there."""
    checkout_deliver(order=order)
    sale = Checkout.objects.get()
    with meeting() as others:
        _erase_sales([sale.pk])
        others.comes(lambda: refund(checkout_deliver, order))
    sale.refresh_from_db()
    assert (sale.status, sale.metadata) == ("reversed", {})
