"""Staff revoke the goods of a payment whose money stays with the shop: a key that was sold on, a cheater."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import Checkout, Grant, Order, ReceiverRun, Transition
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import Listening, disown, notification, own, owned, record_listed

pytestmark = pytest.mark.django_db


class Sold:
    """A checkout of Robin's that is paid and delivered."""

    def __init__(self, deliver: Deliver, **document: Any) -> None:
        self.robin = User.objects.create_user("robin")
        self.sam = User.objects.create_user("sam")
        self.checkout = CheckoutFactory(user=self.robin)
        self.deliver, self.document = deliver, order_document_for(self.checkout, **document)
        self.pay()

    def pay(self, order_id: str = "", **changes: Any) -> Order:
        """A payment for the checkout, or the same one again."""
        document = {**self.document, **({"id": order_id} if order_id else {}), **changes}
        assert self.deliver(order=document).status_code == 200
        flows.run_due()
        return Order.objects.get(order_id=document["id"])

    @property
    def order(self) -> Order:
        """The first payment."""
        return Order.objects.get(order_id=self.document["id"])

    def revoke(self, order: Order | None = None) -> None:
        """Sam revokes the goods."""
        flows.operations.revoke_payment(order or self.order, staff=self.sam, reason="sold the key on")
        flows.run_due()

    @property
    def state(self) -> tuple[str, str, int, bool]:
        """Verdict, status of the checkout, the goods, and whether Robin's account has the checkout."""
        has = Checkout.objects.owned_by(self.robin).exists()
        return self.order.verdict, Checkout.objects.get().status, owned(), has


@pytest.fixture
def sold(checkout_deliver: Deliver, listen: Listening) -> Sold:
    """Sell something, with receivers that grant and revoke it."""
    listen(checkout_paid, own)
    listen(checkout_reversed, disown)
    return Sold(checkout_deliver)


def test_goods_are_revoked_while_the_payment_stays(sold: Sold) -> None:
    """The receivers of a reversal run, nobody owns it, and the history says who and why."""
    assert sold.state == ("verified", "paid", 1, True)
    sold.revoke()
    assert sold.state == ("revoked", "reversed", 0, False)
    assert (sold.order.status, Grant.objects.get().state) == ("processed", "closed")
    act = Transition.objects.get(act="revoke")
    assert (act.order, act.staff, act.reason) == (sold.order, sold.sam, "sold the key on")
    assert not Order.objects.paid().exists()


def test_no_later_observation_grants_them_again(sold: Sold) -> None:
    """The same notification, a row of the list, a document with other values, and a refund of a part."""
    sold.revoke()
    sold.pay()
    record_listed([sold.document])
    sold.pay(transaction="another", country="FR")
    part = {"amount": Decimal("1.00"), "currency": "USD"}
    sold.deliver(notification("payment.refund", {**sold.document, "status": "refunded", "refund": part}))
    flows.run_due()
    assert sold.state == ("revoked", "reversed", 0, False)
    assert Grant.objects.count() == 1


def test_the_money_may_go_back_afterwards(sold: Sold) -> None:
    """Nothing is revoked twice."""
    sold.revoke()
    sold.deliver(notification("payment.chargeback", {**sold.document, "status": "chargeback"}))
    flows.run_due()
    assert sold.state == ("revoked", "reversed", 0, False)
    assert ReceiverRun.objects.filter(message__signal="checkout_reversed").count() == 1


def test_accepting_gives_them_again(sold: Sold) -> None:
    """By the next grant; and they can be revoked again."""
    sold.revoke()
    flows.operations.accept_payment(sold.order, staff=sold.sam, reason="it was his brother")
    flows.run_due()
    assert sold.state == ("accepted", "paid", 1, True)
    assert list(Grant.objects.order_by("number").values_list("number", "state")) == [
        (1, "closed"),
        (2, "open"),
    ]
    sold.revoke()
    assert sold.state == ("revoked", "reversed", 0, False)


def test_a_second_payment_that_is_known_does_not_take_over(sold: Sold) -> None:
    """Paid twice: both are revoked, each with its own row of the history. A later one pays for the goods anew."""
    second = sold.pay("second")
    sold.revoke(second)
    assert sold.state == ("revoked", "reversed", 0, False)
    assert set(Transition.objects.filter(act="revoke").values_list("order__order_id", flat=True)) == {
        "second",
        sold.order.order_id,
    }
    sold.pay("third")
    assert sold.state == ("revoked", "paid", 1, True)


def test_a_renewal_keeps_its_own_goods(checkout_deliver: Deliver, listen: Listening) -> None:
    """And is revoked by itself."""
    listen(checkout_paid, own)
    revoked = listen(checkout_reversed)
    sold = Sold(checkout_deliver, recurring=True, recurring_id="agreement")
    renewal = sold.pay("renewal")
    sold.revoke()
    assert [each["order"] for each in revoked] == [sold.order]
    assert sold.state[:2] == ("revoked", "paid")
    sold.revoke(renewal)
    assert [each["order"] for each in revoked] == [sold.order, renewal]
    assert sold.state[:2] == ("revoked", "reversed")


def test_goods_that_staff_granted_by_hand_are_revoked(checkout_deliver: Deliver, listen: Listening) -> None:
    """The receiver of the reversal runs for them."""
    heard = listen(checkout_paid, name="goods")
    gone = listen(checkout_reversed)
    sold = Sold(checkout_deliver)
    assert len(heard) == 1
    sold.revoke()
    assert [each["order"] for each in gone] == [sold.order]


@pytest.mark.parametrize("status", ["refunded", "chargeback"])
def test_what_went_back_is_not_revoked_by_hand(sold: Sold, status: str) -> None:
    """It was revoked with the money."""
    event = "payment.refund" if status == "refunded" else "payment.chargeback"
    sold.deliver(notification(event, {**sold.document, "status": status}))
    with pytest.raises(ValueError, match="revoked"):
        sold.revoke()


def test_what_is_in_review_has_nothing_to_revoke(checkout_deliver: Deliver) -> None:
    """Nothing was granted for it."""
    sold = Sold(checkout_deliver, amount=Decimal("5"))
    with pytest.raises(ValueError, match="revoked"):
        sold.revoke()
    assert not Transition.objects.filter(act="revoke").exists()
