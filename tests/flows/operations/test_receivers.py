"""Runs of receivers, where the grant that they are about was handed to another order of the same checkout."""

from __future__ import annotations

import io
from datetime import timedelta
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.monitoring import order_queues
from checkout_integration.models import Order, OutboxMessage, ReceiverRun, Transition
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import Failing, Listening, notification

pytestmark = pytest.mark.django_db


@pytest.fixture
def orders(checkout_deliver: Deliver, listen: Listening) -> tuple[Order, Order]:
    """The first payment of a checkout, refunded before its receiver completed, and the second one, which stands."""
    listen(checkout_paid, Failing(), name="grant")
    checkout = CheckoutFactory()
    first = order_document_for(checkout)
    checkout_deliver(order=first)
    flows.run_due()
    checkout_deliver(order={**order_document_for(checkout), "id": "again"})
    checkout_deliver(notification("payment.refund", {**first, "status": "refunded"}))
    checkout.refresh_from_db()
    assert (checkout.status, checkout.paid_order.order_id) == ("paid", "again")
    return Order.objects.get(order_id=first["id"]), checkout.paid_order


def test_its_runs_are_those_of_the_order_that_pays_now(orders: tuple[Order, Order]) -> None:
    """For the buttons of both orders, and for the run itself."""
    first, second = orders
    run = ReceiverRun.objects.get()
    assert run.order == second
    operations = flows.operations
    assert list(operations.retryable_runs([first])) == list(operations.markable_runs(first)) == []
    assert list(operations.retryable_runs([second])) == list(operations.markable_runs(second)) == [run]
    assert list(operations.retryable_runs([first, second])) == [run]


def test_the_queue_lists_the_order_that_pays_now(orders: tuple[Order, Order]) -> None:
    """And counts one, once its goods have waited for five minutes."""
    OutboxMessage.objects.update(recorded_at=timezone.now() - timedelta(minutes=6))
    _label, condition = order_queues()["not_granted"]
    assert list(Order.objects.filter(condition)) == [orders[1]]
    (queue,) = [each for each in flows.operations.staff_queues() if each.name == "not_granted"]
    assert queue.count == 1


def test_the_mark_is_in_the_history_of_the_same_order(orders: tuple[Order, Order]) -> None:
    """Whose button was pressed."""
    (run,) = flows.operations.markable_runs(orders[1])
    assert flows.operations.mark_granted(run, staff=User.objects.create_user("grace"), reason="by post")
    assert Transition.objects.get(act="mark_granted").order == orders[1]


@pytest.mark.parametrize("choice", ["failing", "waiting"])
def test_the_list_and_the_page_show_the_order_that_pays_now(
    orders: tuple[Order, Order], admin_client: Client, choice: str
) -> None:
    """The first one says why no receiver runs for it."""
    _first, second = orders
    listed = admin_client.get(f"/admin/checkout_integration/order/?receivers={choice}")
    assert list(listed.context["cl"].queryset) == [second]
    pages = [
        admin_client.get(f"/admin/checkout_integration/order/{order.pk}/change/").content.decode()
        for order in orders
    ]
    assert ["grant – due" in page for page in pages] == [False, True]
    assert "another order has paid the checkout" in pages[0]


def test_the_search_and_the_evidence_have_it_with_the_order_that_pays_now(
    orders: tuple[Order, Order], admin_client: Client
) -> None:
    """The list of runs by the order's id, and the file of an order."""
    runs = [
        list(
            admin_client.get("/admin/checkout_integration/receiverrun/", {"q": order.order_id})
            .context["cl"]
            .result_list
        )
        for order in orders
    ]
    assert [len(each) for each in runs] == [0, 1]
    (run,) = flows.operations.markable_runs(orders[1])
    assert flows.operations.mark_granted(run, staff=User.objects.create_user("grace"), reason="by post")
    packs = []
    for order in orders:
        answer = admin_client.get(f"/admin/checkout_integration/order/{order.pk}/evidence/")
        with ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as pack:  # type: ignore[attr-defined]
            packs.append(pack.read("annex/timeline.csv").decode().count("delivered"))
    assert packs == [0, 1]
