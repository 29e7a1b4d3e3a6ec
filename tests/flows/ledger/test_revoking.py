"""When goods are taken back: whatever became of the verdict since they were granted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.models import Order
from checkout_integration.signals import checkout_paid, checkout_reversed, payment_review
from checkout_integration.testing.assertions import assert_in_review, assert_revoked
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Listening, notification

pytestmark = pytest.mark.django_db


def settle(settings: Any, **changes: Any) -> None:
    """Change settings of the app."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **changes}


@pytest.mark.spec("EVT-04", "EVT-05", "STA-06", "STA-07")
@pytest.mark.parametrize(
    ("event", "status"), [("payment.refund", "refunded"), ("payment.chargeback", "chargeback")]
)
def test_reversal_takes_back(checkout_deliver: Deliver, listen: Listening, event: str, status: str) -> None:
    """Once per checkout and cause."""
    listen(checkout_paid)
    heard = listen(checkout_reversed)
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    for attempt in range(3):
        document = order_document_for(checkout, status=status)
        checkout_deliver(notification(event, document), delivery_try=attempt)
    assert [each["checkout"] for each in heard] == [checkout]
    assert_revoked(checkout)


def test_reversal_of_an_accepted_unbound_payment_takes_back(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """Goods were granted without a checkout; they go back the same way."""
    listen(checkout_paid)
    heard = listen(checkout_reversed)
    settle(settings, UNBOUND_ORDERS="accept")
    document = OrderDocumentFactory()
    checkout_deliver(order=document)
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    assert [each["order"].order_id for each in heard] == [document["id"]]


def test_reversal_of_what_was_never_granted_takes_nothing_back(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """A payment in review granted nothing."""
    heard = listen(checkout_reversed)
    document = OrderDocumentFactory()
    checkout_deliver(order=document)
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    assert heard == []


def test_conflict_withdraws_the_verdict(checkout_deliver: Deliver, listen: Listening) -> None:
    """A paid order with two amounts is no longer verified, and staff get an incident."""
    review = listen(payment_review)
    checkout = CheckoutFactory()
    document = order_document_for(checkout)
    checkout_deliver(order=document)
    assert Order.objects.get().verdict == "verified"
    checkout_deliver(notification(order={**document, "amount": Decimal("1.00")}), delivery_try=1)
    assert_in_review(Order.objects.get(), "conflict")
    assert not Order.objects.paid().exists()
    assert {each["reason"] for each in review} == {"conflict", "conflict:amount"}


@pytest.mark.parametrize("accepted", [False, True])
def test_refund_after_a_withdrawn_verdict_takes_back(
    checkout_deliver: Deliver, listen: Listening, settings: Any, accepted: bool
) -> None:
    """The goods were granted before the conflict was seen, so the refund takes them back all the same."""
    listen(checkout_paid)
    heard = listen(checkout_reversed)
    settle(settings, UNBOUND_ORDERS="accept")
    document = OrderDocumentFactory() if accepted else order_document_for(CheckoutFactory())
    checkout_deliver(order=document)
    checkout_deliver(notification(order={**document, "amount": Decimal("1.00")}), delivery_try=1)
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    assert [each["order"].order_id for each in heard] == [document["id"]]


@pytest.mark.parametrize("accepted", [False, True])
def test_refund_after_a_cancel_takes_back(
    checkout_deliver: Deliver, listen: Listening, settings: Any, accepted: bool
) -> None:
    """A cancel after the success takes nothing back by itself; the refund that follows does."""
    listen(checkout_paid)
    heard = listen(checkout_reversed)
    settle(settings, UNBOUND_ORDERS="accept")
    begun = datetime.now(UTC)
    document = OrderDocumentFactory() if accepted else order_document_for(CheckoutFactory())
    checkout_deliver(notification(order=document, at=begun))
    ended = {**document, "status": "canceled"}
    checkout_deliver(notification("payment.cancel", ended, at=begun + timedelta(minutes=20)))
    assert (Order.objects.get().status, heard) == ("canceled", [])
    checkout_deliver(
        notification("payment.refund", {**document, "status": "refunded"}, at=begun + timedelta(minutes=40))
    )
    assert [each["order"].order_id for each in heard] == [document["id"]]


def test_full_refund_after_a_partial_one_takes_back(checkout_deliver: Deliver, listen: Listening) -> None:
    """Both say refunded; only the second leaves nothing with the shop."""
    listen(checkout_paid)
    heard, review = listen(checkout_reversed), listen(payment_review)
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    partial = order_document_for(checkout, status="refunded", refund__amount=Decimal("1"))
    checkout_deliver(notification("payment.refund", partial))
    assert (heard, [each["reason"] for each in review]) == ([], [])
    full = order_document_for(checkout, status="refunded")
    checkout_deliver(notification("payment.refund", full), delivery_try=1)
    assert [each["checkout"] for each in heard] == [checkout]
    assert_revoked(checkout)


def test_goods_are_granted_though_only_a_partial_refund_is_known(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """The success was lost: the checkout is paid, and its form is not offered again."""
    heard, checkout = listen(checkout_paid), CheckoutFactory()
    partial = order_document_for(checkout, status="refunded", refund__amount=Decimal("1"))
    checkout_deliver(notification("payment.refund", partial))
    checkout_deliver(order=order_document_for(checkout))
    checkout.refresh_from_db()
    assert (checkout.status, len(heard)) == ("paid", 1)


def test_goods_are_granted_once_though_a_verdict_was_withdrawn(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """The payment of "try again" pays for the goods that were granted before; its refund revokes them."""
    paid, reversed_ = listen(checkout_paid), listen(checkout_reversed)
    checkout = CheckoutFactory()
    document = order_document_for(checkout)
    again = order_document_for(checkout, id="again", transaction="again")
    checkout_deliver(order=document)
    checkout_deliver(notification(order={**document, "amount": Decimal("1.00")}), delivery_try=1)
    checkout_deliver(order=again)
    assert (len(paid), [grant.state for grant in checkout.grants.all()]) == (1, ["open"])
    checkout_deliver(notification("payment.refund", {**again, "status": "refunded"}))
    assert [each["order"].order_id for each in reversed_] == ["again"]


def test_a_grant_is_revoked_once(checkout_deliver: Deliver, listen: Listening) -> None:
    """A refund after a chargeback, or the reverse, is a second loss: staff look, and nothing is revoked twice."""
    listen(checkout_paid)
    heard, review = listen(checkout_reversed), listen(payment_review)
    checkout = CheckoutFactory()
    begun = datetime.now(UTC)
    checkout_deliver(notification(order=order_document_for(checkout), at=begun))
    for minutes, (event, status) in enumerate(
        [("payment.refund", "refunded"), ("payment.chargeback", "chargeback")]
    ):
        document = {**order_document_for(checkout, status=status), "refunded_at": ""}
        checkout_deliver(notification(event, document, at=begun + timedelta(minutes=30 * minutes)))
    assert (len(heard), [each["reason"] for each in review]) == (1, ["double_loss"])
