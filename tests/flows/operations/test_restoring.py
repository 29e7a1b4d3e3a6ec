"""A staff member decides that a reversed payment stands: a dispute was won."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import Checkout, Grant, Order, Transition
from checkout_integration.signals import checkout_paid, checkout_reversed, payment_review
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import Listening, disown, notification, own, owned, record_listed

pytestmark = pytest.mark.django_db
BEGUN = datetime.now(UTC) - timedelta(hours=5)


class Dispute:
    """A payment that was charged back, and is restored by staff."""

    def __init__(self, deliver: Deliver, listen: Listening) -> None:
        listen(checkout_paid, own)
        listen(checkout_reversed, disown)
        self.review = listen(payment_review)
        self._deliver = deliver
        checkout = CheckoutFactory()
        self.paid = order_document_for(checkout)
        self.charged_back = {**self.paid, "status": "chargeback"}
        self.arrive("payment.success", 0, self.paid)
        self.arrive("payment.chargeback", 1, self.charged_back)

    def arrive(self, event: str, hours: float, order: dict[str, Any]) -> None:
        """A notification of some hours later."""
        at = BEGUN + timedelta(hours=hours)
        assert self._deliver(notification(event, order, at=at)).status_code == 200
        flows.run_due()

    def restore(self) -> None:
        """Staff decide."""
        staff = User.objects.get_or_create(username="sam")[0]
        flows.operations.restore_payment(Order.objects.get(), staff=staff, reason="dispute won")
        flows.run_due()

    @property
    def state(self) -> tuple[str, str, int]:
        """Status of order and checkout, and the goods."""
        return Order.objects.get().status, Checkout.objects.get().status, owned()


@pytest.fixture
def dispute(checkout_deliver: Deliver, listen: Listening) -> Dispute:
    """Give a dispute that is open."""
    return Dispute(checkout_deliver, listen)


def test_a_restored_payment_is_granted_again(dispute: Dispute) -> None:
    """By a second grant; the history has the member of staff."""
    assert dispute.state == ("chargeback", "reversed", 0)
    dispute.restore()
    assert dispute.state == ("processed", "paid", 1)
    assert list(Grant.objects.order_by("number").values_list("number", "state")) == [
        (1, "closed"),
        (2, "open"),
    ]
    assert Transition.objects.filter(source="staff", reason="dispute won").count() == 1


def test_what_was_known_before_the_decision_changes_nothing(dispute: Dispute) -> None:
    """The same notification again, and a later list row with the same facts."""
    dispute.restore()
    dispute.arrive("payment.chargeback", 1, dispute.charged_back)
    record_listed([dispute.charged_back])
    flows.run_due()
    assert dispute.state == ("processed", "paid", 1)
    assert dispute.review == []


@pytest.mark.spec("STA-06", "STA-07")
@pytest.mark.parametrize(
    ("event", "status"), [("payment.refund", "refunded"), ("payment.chargeback", "chargeback")]
)
def test_a_later_reversal_is_for_staff(dispute: Dispute, event: str, status: str) -> None:
    """Of another kind or of the same one: it is shown with an incident, and no goods are revoked."""
    dispute.restore()
    later = {**dispute.paid, "status": status, "refunded_at": ""}
    dispute.arrive(event, 24, later)
    assert dispute.state == (status, "reversed", 1)
    assert "reversal_after_decision" in [each["reason"] for each in dispute.review]


def test_only_a_reversed_payment_can_be_restored(checkout_deliver: Deliver) -> None:
    """Anything else stands by itself, or never came."""
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    staff = User.objects.create(username="sam")
    with pytest.raises(ValueError, match="restored"):
        flows.operations.restore_payment(Order.objects.get(), staff=staff, reason="")
