"""Refunds in parts and renewals as the sandbox makes them: by notification and by list, in both profiles."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.models import Checkout, Order, Refund
from checkout_integration.testing.service import running_sandbox
from tests.support.flows.list_service import document, list_service, listed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spec("RFD-01", "ORD-46", "ORD-47", "STA-06", "STA-07")
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("notified", [True, False])
def test_parts_and_renewals_end_alike(profile: str, notified: bool, settings: Any, live_server: Any) -> None:
    """One part leaves the checkout paid; the rest and the chargeback of the renewal reverse it."""
    with running_sandbox(settings, live_server.url if notified else "", profile=profile) as sandbox:
        order_id = flows.create_checkout(amount=Decimal("9.99"), currency="USD").order_id
        sandbox.pay(order_id, recurring=True)
        renewal = sandbox.renew(order_id)
        sandbox.clock.advance(3600)
        sandbox.refund(order_id, "4.00")
        learn(notified)
        assert Checkout.objects.get().status == "paid"
        sandbox.refund(order_id)
        sandbox.chargeback(renewal)
        learn(notified)
    statuses = dict(Order.objects.values_list("order_id", "status"))
    assert statuses == {order_id: "refunded", renewal: "chargeback"}
    assert Order.objects.get(order_id=order_id).refund_amount == Decimal("9.99")
    assert Checkout.objects.get().status == "reversed"


@pytest.mark.spec("RFD-01")
def test_each_part_in_the_list_is_a_row(settings: Any) -> None:
    """With the identifier and the amount of its own item."""
    with running_sandbox(settings) as sandbox:
        order_id = flows.create_checkout(amount=Decimal("9.99"), currency="USD").order_id
        sandbox.pay(order_id)
        sandbox.clock.advance(3600)
        sandbox.refund(order_id, "4.00")
        sandbox.refund(order_id)
        flows.sync.sync_transactions()
    rows = Refund.objects.order_by("amount").values_list("order__order_id", "amount")
    assert list(rows) == [(order_id, Decimal("4.00")), (order_id, Decimal("5.99"))]
    documents = set(Refund.objects.values_list("document_id", flat=True))
    assert len(documents) == 2 and order_id not in documents


def learn(notified: bool) -> None:
    """Report the events to the shop: by notifications, or by the list alone."""
    if not notified:
        flows.sync.sync_transactions()
    flows.run_due()


@pytest.mark.spec("RFD-01")
@pytest.mark.parametrize("parts", [("4.00", "5.99"), ("5.99", "4.00")])
def test_the_refunded_amount_is_the_sum_of_its_parts(settings: Any, parts: tuple[str, str]) -> None:
    """Whichever part stands in the order's document."""
    refunds = [
        document(f"part {part}", "paid", minutes, refund={"amount": Decimal(part), "currency": "USD"})
        for minutes, part in enumerate(parts, 20)
    ]
    with list_service(settings, listed("paid"), *refunds):
        flows.sync.sync_transactions()
    order = Order.objects.get()
    assert str(order.document["refund"]["amount"]) in parts
    assert (order.refund_amount, order.refund_currency) == (Decimal("9.99"), "USD")
