"""Reversals of the list: documents with an id of their own, which are never a second checkout."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import Checkout, Order, PersonalData, Refund, Transition
from checkout_integration.signals import checkout_paid, checkout_reversed, payment_chargeback, payment_refund
from checkout_integration.testing.assertions import assert_revoked
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.customer import PRIVACY_REQUEST
from tests.support.flows.shop import Listening, notification, record_listed

pytestmark = pytest.mark.django_db
STATUSES = ["refunded", "chargeback"]
PAID_AT = timezone.now() - timedelta(days=2)
REVERSED_AT = timezone.now() - timedelta(days=1)


@pytest.mark.spec("RFD-06")
def test_a_refunds_receipt_is_stored_in_one_place(checkout_deliver: Deliver) -> None:
    """Where it can be erased: with the order's personal data, and nowhere else."""
    document = order_document_for(CheckoutFactory(), reversed=True, status="refunded")
    address = document["refund"]["receipt_url"]
    checkout_deliver(event="payment.refund", order=document)
    refund = Refund.objects.get()
    assert refund.receipt_url == address
    PersonalData.objects.update(document={})
    left = [list(model.objects.values()) for model in (Order, Refund, Transition)]
    assert address not in str(left)
    assert Refund.objects.get().receipt_url == ""


@pytest.mark.spec("RFD-06")
@pytest.mark.parametrize("together", [True, False], ids=["one page", "a page each"])
@pytest.mark.parametrize("ordering", list(permutations(range(3))), ids=str)
def test_each_part_has_the_receipt_of_its_own_document(ordering: tuple[int, ...], together: bool) -> None:
    """Two parts: each row shows its address, in whichever sequence the list is read, until the customer is erased."""
    paid, _, document = checkout_and_reversal("refunded")
    addresses = [f"https://service.example.com/receipt/{name}" for name in "ab"]
    parts = [
        {**document, "id": address[-1], "refund": {**document["refund"], "amount": 4, "receipt_url": address}}
        for address in addresses
    ]
    rows = [[paid, *parts][position] for position in ordering]
    for page in 2 * ([rows] if together else [[row] for row in rows]):
        record_listed(page)
    refunds = Refund.objects.order_by("document_id")
    assert [each.receipt_url for each in refunds] == addresses
    (person,) = flows.privacy.find_persons(order=only_order())
    exported = "".join(flows.privacy.export_customer([person], PRIVACY_REQUEST))
    assert [address in exported for address in addresses] == [True, True]
    left = [list(model.objects.values()) for model in (Order, Refund, Transition)]
    assert all(address not in str(left) for address in addresses[:1])
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    record_listed(rows)
    assert [each.receipt_url for each in Refund.objects.all()] == ["", ""]
    assert "receipt/" not in str(list(PersonalData.objects.values()))


def checkout_and_reversal(status: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A paid order, the same once reversed, and the document of its reversal: rows of the list as seen in the field."""
    checkout = CheckoutFactory()
    shared = {"transaction": f"bank-{checkout.pk}", "seen": True}
    paid = order_document_for(checkout, created_at=PAID_AT.isoformat(), **shared)
    moment = {} if status == "chargeback" else {"refunded_at": REVERSED_AT.isoformat()}
    reversed_one = {
        **paid,
        **order_document_for(checkout, status=status, **shared),
        "created_at": paid["created_at"],
        "refunded": status == "refunded",
        "refunded_at": "",
        **moment,
    }
    document = {
        **reversed_one,
        "id": f"reversal-of-{checkout.order_id}",
        "created_at": REVERSED_AT.isoformat(),
    }
    return paid, reversed_one, document


def only_order() -> Order:
    """The one order; its id is not that of a reversal document."""
    order: Order = Order.objects.get()
    assert not order.order_id.startswith("reversal-of")
    return order


@pytest.mark.spec("ORD-02", "STA-06", "STA-07")
@pytest.mark.parametrize("status", STATUSES)
def test_reversal_after_its_order(checkout_deliver: Deliver, listen: Listening, status: str) -> None:
    """The order is reversed, goods are taken back, once."""
    signal = payment_refund if status == "refunded" else payment_chargeback
    facts, back, granted = listen(signal), listen(checkout_reversed), listen(checkout_paid)
    paid, _, document = checkout_and_reversal(status)
    checkout_deliver(notification(order=paid, at=PAID_AT))
    for _ in range(2):
        record_listed([document])
    flows.run_due()
    order = only_order()
    assert (order.status, len(facts), len(back), len(granted)) == (status, 1, 1, 1)
    assert order.checkout is not None
    assert_revoked(order.checkout)


@pytest.mark.spec("ORD-11", "ORD-06")
@pytest.mark.parametrize("first", ["the order", "the reversal"])
@pytest.mark.parametrize("stated", [True, False])
def test_the_time_of_a_refund_is_that_of_its_document(first: str, stated: bool) -> None:
    """Its own where it states one, else that of its creation; whichever came first."""
    paid, _, document = checkout_and_reversal("refunded")
    at = REVERSED_AT + timedelta(seconds=20)
    document |= {"refunded_at": at.isoformat() if stated else ""}
    for rows in ([paid], [document]) if first == "the order" else ([document], [paid]):
        record_listed(rows)
    assert Refund.objects.get().refunded_at == (at if stated else REVERSED_AT)
    assert only_order().refunded_at == (at if stated else REVERSED_AT)


@pytest.mark.spec("STA-06", "STA-07", "ORD-02")
@pytest.mark.parametrize("status", STATUSES)
def test_reversal_before_its_order_waits(checkout_deliver: Deliver, listen: Listening, status: str) -> None:
    """It waits as a refund without an order, and is attached when its order arrives."""
    granted = listen(checkout_paid)
    paid, _, document = checkout_and_reversal(status)
    record_listed([document])
    waiting = Refund.objects.get()
    assert (waiting.order, waiting.document_id, Order.objects.count()) == (None, document["id"], 0)
    checkout_deliver(notification(order=paid, at=PAID_AT))
    assert (only_order().status, granted) == (status, [])
    assert Refund.objects.filter(order=None).count() == 0


@pytest.mark.spec("ORD-02", "STA-06", "STA-07")
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("together", [True, False], ids=["one page", "a page each"])
@pytest.mark.parametrize("ordering", list(permutations(range(2))), ids=str)
@pytest.mark.parametrize("order_known", [True, False], ids=["answered", "answer lost"])
def test_list_alone_tells_of_a_reversed_order(
    listen: Listening, status: str, together: bool, ordering: tuple[int, ...], order_known: bool
) -> None:
    """Every notification was lost: of two rows with one transaction the earlier is the order, of the checkout it names."""
    granted = listen(checkout_paid)
    _, reversed_one, document = checkout_and_reversal(status)
    if not order_known:
        Checkout.objects.update(order_id="", status=Checkout.Status.UNKNOWN)
    rows = [[reversed_one, document][position] for position in ordering]
    for page in [rows] if together else [[row] for row in rows]:
        record_listed(page)
    flows.run_due()
    assert (only_order().status, only_order().order_id) == (status, reversed_one["id"])
    assert granted == []
    assert only_order().amount is not None
    assert (only_order().verdict, Checkout.objects.get().status) == ("verified", Checkout.Status.REVERSED)


@pytest.mark.spec("ORD-02", "STA-06", "STA-07")
@pytest.mark.parametrize("ordering", list(permutations(range(3))), ids=str)
@pytest.mark.parametrize("status", STATUSES)
def test_any_order_of_arrival_ends_alike(
    checkout_deliver: Deliver, status: str, ordering: tuple[int, ...]
) -> None:
    """Success by notification, the order's own row, the reversal's row."""
    paid, reversed_one, document = checkout_and_reversal(status)
    steps: list[Callable[[], object]] = [
        lambda: checkout_deliver(notification(order=paid, at=PAID_AT)),
        lambda: record_listed([reversed_one]),
        lambda: record_listed([document]),
    ]
    for position in ordering:
        steps[position]()
    order = only_order()
    assert (order.status, order.verdict) == (status, "verified")
    assert Refund.objects.filter(order=None).count() == 0


@pytest.mark.spec("ORD-02")
def test_payments_of_several_transactions_stay_apart() -> None:
    """A reversal belongs to its own transaction, and an empty transaction matches no order."""
    first, _, document = checkout_and_reversal("refunded")
    second, _, _ = checkout_and_reversal("refunded")
    record_listed([first, second, {**document, "id": "without", "transaction": ""}])
    record_listed([document])
    statuses = dict(Order.objects.values_list("order_id", "status"))
    assert (statuses[first["id"]], statuses[second["id"]]) == ("refunded", "processed")


@pytest.mark.spec("ORD-02")
def test_other_projects_transaction_is_another_one(settings: Any) -> None:
    """Transactions are compared within one project."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    other = {"PROJECT_ID": "other", "SECRET_KEY": "sandbox_other_secret"}
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "PROJECTS": {"default": own, "other": other},
    }
    paid, _, document = checkout_and_reversal("refunded")
    record_listed([paid])
    record_listed([document], project="other")
    assert Order.objects.get().status == "processed"


@pytest.mark.spec("STA-06", "STA-07")
@pytest.mark.parametrize("status", ["refunded", "chargeback"])
def test_a_reversal_that_waits_keeps_its_kind(status: str) -> None:
    """Whether the shop or the bank gave the money back."""
    record_listed([checkout_and_reversal(status)[2]])
    assert Refund.objects.get(order=None).status == status


@pytest.mark.spec("RFD-03")
def test_a_refund_without_a_reason_has_none(checkout_deliver: Deliver) -> None:
    """Nothing is made up for it."""
    paid = order_document_for(CheckoutFactory())
    refund = {"status": "refunded", "refunded": True, "refund": {"amount": 1, "currency": paid["currency"]}}
    checkout_deliver(order=paid)
    checkout_deliver(notification("payment.refund", {**paid, **refund}))
    assert [row.reason for row in Order.objects.get().refunds.all()] == [""]


@pytest.mark.spec("RFD-01", "STA-07")
@pytest.mark.parametrize("order_of_arrival", list(permutations(range(3))))
def test_a_chargeback_after_a_partial_refund_takes_the_rest(
    checkout_deliver: Deliver, order_of_arrival: tuple[int, ...]
) -> None:
    """Both have a row, whatever arrives first."""
    checkout = CheckoutFactory()
    paid = order_document_for(checkout)
    part = order_document_for(checkout, status="refunded", refund__amount="2.00")
    events = [
        notification("payment.success", paid, at=PAID_AT),
        notification("payment.refund", {**part, "refunded_at": None}, at=REVERSED_AT),
        notification("payment.chargeback", {**paid, "status": "chargeback"}, at=timezone.now()),
    ]
    for position in order_of_arrival:
        checkout_deliver(events[position])
    rows = Refund.objects.order_by("amount").values_list("status", "amount")
    assert [(status, f"{amount:.2f}") for status, amount in rows] == [
        ("refunded", "2.00"),
        ("chargeback", "7.99"),
    ]


@pytest.mark.spec("RFD-01", "STA-07")
def test_a_chargeback_after_a_document_of_a_partial_refund_takes_the_rest(checkout_deliver: Deliver) -> None:
    """The document stays, and the chargeback has a row beside it until there is a document of it."""
    paid, _, document = checkout_and_reversal("refunded")
    document["refund"] = {**document["refund"], "amount": "2.00"}
    checkout_deliver(notification(order=paid, at=PAID_AT))
    record_listed([document])
    charged_back = {**paid, "status": "chargeback"}
    checkout_deliver(notification("payment.chargeback", charged_back, at=timezone.now()))
    for _ in range(2):
        rows = Refund.objects.order_by("amount").values_list("status", "amount", "document_id")
        assert [(status, f"{amount:.2f}", key) for status, amount, key in rows] == [
            ("refunded", "2.00", document["id"]),
            ("chargeback", "7.99", ""),
        ]
        record_listed([charged_back, document])
