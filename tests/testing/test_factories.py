"""The factories make what the app itself would have made."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import Checkout, Notification
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.signals import order_changed
from checkout_integration.testing.assertions import assert_in_review
from checkout_integration.testing.factories import (
    CheckoutFactory,
    NotificationFactory,
    OrderFactory,
    order_document_for,
    renewal_document_for,
)
from tests.support.documents import ROOT
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db
STATES = re.findall(
    r"^\| ([^|]+) \| `(OrderFactory[^|]+)` \| `(\w+)` \| `(\w+)` \|$",
    (ROOT / "docs" / "reference" / "testing.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""The table of the page: what an order does, the call that makes it, its status, its verdict."""


@pytest.mark.parametrize(
    ("call", "status", "verdict"), [row[1:] for row in STATES], ids=[row[0] for row in STATES]
)
def test_an_order_is_made_in_each_state_of_the_page(call: str, status: str, verdict: str) -> None:
    """By the call that the page has."""
    ada, bob = (User.objects.create_user(name) for name in ("ada", "bob"))
    names = {"checkout": CheckoutFactory.create(), "ada": ada, "bob": bob}
    order = eval(
        call, {**names, **{each.__name__: each for each in (OrderFactory, CheckoutFactory, Decimal)}}
    )
    assert (order.status, order.verdict) == (status, verdict)


def test_the_page_has_a_row_for_each_kind_of_order() -> None:
    """Those that an order can come to: every status, every verdict, and what the states do not say."""
    assert {row[2] for row in STATES} == {*OrderStatus}
    assert {row[3] for row in STATES} == {*VerdictStatus}
    calls = " ".join(row[1] for row in STATES)
    for word in ("partly_refunded", "restored", "historic", "test=True", "recipient", "agreement", "renews"):
        assert word in calls


def test_a_gift_has_a_recipient_and_goods_that_are_theirs() -> None:
    """A keyword is enough."""
    ada, bob = (User.objects.create_user(name) for name in ("ada", "bob"))
    gift, own = CheckoutFactory.create(user=ada, recipient=bob), CheckoutFactory.create(user=ada)
    assert (gift.gift, gift.owner, own.gift, own.owner) == (True, bob, False, ada)


def test_a_renewal_is_another_order_of_the_same_agreement() -> None:
    """With a grant of its own; a payment that began no agreement has none."""
    checkout = CheckoutFactory.create()
    first = OrderFactory.create(checkout=checkout, agreement=True)
    renewal = OrderFactory.create(renews=first)
    assert renewal.order_id != first.order_id and renewal.recurring_id == first.recurring_id
    assert sorted(checkout.grants.values_list("order", flat=True)) == [first.pk, renewal.pk]
    with pytest.raises(AssertionError, match="agreement=True"):
        renewal_document_for(order_document_for(checkout))


@pytest.mark.spec("STA-01")
@pytest.mark.parametrize(
    ("status", "known"),
    [
        pytest.param("created", ["created/creation"], marks=pytest.mark.spec("STA-02")),
        pytest.param("processed", ["processed/notification"], marks=pytest.mark.spec("STA-03")),
        pytest.param(
            "refunded",
            ["processed/notification", "refunded/notification"],
            marks=pytest.mark.spec("STA-06", "EVT-05"),
        ),
        pytest.param(
            "chargeback",
            ["chargeback/notification", "processed/notification"],
            marks=pytest.mark.spec("STA-07", "EVT-04"),
        ),
        pytest.param("canceled", ["canceled/notification"], marks=pytest.mark.spec("STA-04")),
        pytest.param("rejected", ["rejected/notification"], marks=pytest.mark.spec("STA-05")),
    ],
)
def test_an_order_comes_to_its_status_through_the_ledger(status: str, known: list[str]) -> None:
    """The displayed status follows from the facts in the ledger: the events that bring a payment there."""
    order = OrderFactory(status=status)
    assert (order.status, sorted(order.facts["slots"])) == (status, known)


@pytest.mark.parametrize(
    "contents",
    [
        {},
        {"type": "key", "products": ["starfall-key"]},
        {"type": "product", "products": ["cloak", "hat"]},
        {"type": "virtual_currency", "virtual_currency_amount": Decimal(500)},
    ],
)
@pytest.mark.spec("SVC-03", "ORD-37")
def test_the_order_of_a_checkout_pays_for_it(contents: dict[str, object]) -> None:
    """An order made for a checkout is verified, whatever is sold."""
    checkout = CheckoutFactory(**contents)
    order = OrderFactory(checkout=checkout)
    checkout.refresh_from_db()
    assert (order.verdict, checkout.status, checkout.paid_order) == ("verified", Checkout.Status.PAID, order)


@pytest.mark.spec("ORD-42")
def test_a_live_checkout_is_paid_live() -> None:
    """The order's mode follows the checkout's."""
    orders = [OrderFactory(checkout=CheckoutFactory(test=test)) for test in (False, True)]
    assert [(order.is_production, order.verdict) for order in orders] == [
        (True, "verified"),
        (False, "verified"),
    ]


@pytest.mark.spec("USR-03", "ORD-32", "EP2-08")
def test_the_order_of_a_checkout_has_its_account_and_attributes() -> None:
    """Of two customers; beside the reference."""
    for name, metadata in (("ada", {"basket": "7"}), ("bob", {})):
        account = User.objects.create_user(name)
        checkout = CheckoutFactory(user=account, metadata=metadata)
        document = order_document_for(checkout)
        assert document["user"]["external_id"] == str(account.pk)
        assert document["metadata"] == {**metadata, "checkout_reference": checkout.reference}


def test_an_order_can_differ_from_its_checkout() -> None:
    """A keyword changes the document, so that a payment of too little can be made."""
    order = OrderFactory(checkout=CheckoutFactory(), amount=Decimal("0.01"))
    assert_in_review(order, "amount")


def test_what_an_order_announced_waits() -> None:
    """Making rows runs no receivers."""
    listening = Listening()
    listening(order_changed)
    try:
        order = OrderFactory()
        assert order in type(order).objects.awaiting_receivers()
        flows.run_due()
        assert order not in type(order).objects.awaiting_receivers()
    finally:
        listening.end()


@pytest.mark.spec("AUT-04", "WHK-08")
def test_a_notification_is_stored_and_applied() -> None:
    """The row is the one that the receiver made, and its order is there."""
    document = order_document_for(CheckoutFactory())
    notification = NotificationFactory(document__object=document)
    assert notification.state == Notification.State.APPLIED
    assert notification.object_id == document["id"]


def test_the_documents_of_one_checkout_agree_on_its_order() -> None:
    """However often they are made: a refund is no contradiction."""
    checkout = CheckoutFactory()
    paid, refunded = (order_document_for(checkout, status=each) for each in ("processed", "refunded"))
    assert (paid["id"], paid["created_at"]) == (refunded["id"], refunded["created_at"])
