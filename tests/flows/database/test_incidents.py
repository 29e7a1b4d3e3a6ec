"""Incidents end by themselves when their cause is over, and are opened again when it comes back."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.database import end_incidents, open_incidents
from checkout_integration.models import Incident
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import notification, record_listed

pytestmark = pytest.mark.django_db


def incident() -> Incident:
    """An incident that is not stored."""
    return Incident(key="one", kind="conflict:type", project="default")


def states() -> dict[str, str]:
    """What became of each kind."""
    return {
        row.kind: "over" if row.ended_itself else "resolved" if row.resolved_at else "open"
        for row in Incident.objects.all()
    }


def test_one_that_ended_by_itself_is_opened_again() -> None:
    """Staff have not looked at it."""
    open_incidents([incident()])
    end_incidents(["one"])
    assert states() == {"conflict:type": "over"}
    open_incidents([incident()])
    assert states() == {"conflict:type": "open"}
    assert Incident.objects.get().resolved_at is None


def test_one_that_staff_resolved_stays_resolved() -> None:
    """It does not end once more, and is not opened again."""
    open_incidents([incident()])
    flows.operations.resolve_incident(Incident.objects.get(), staff=User.objects.create_user("grace"))
    end_incidents(["one"])
    open_incidents([incident()])
    assert states() == {"conflict:type": "resolved"}
    assert Incident.objects.get().staff is not None


def refund(order: dict[str, Any]) -> dict[str, Any]:
    """A notification of its full refund."""
    return notification("payment.refund", {**order, "status": "refunded", "refunded": True, "refund": None})


def test_a_payment_in_review_that_was_refunded_is_no_question(checkout_deliver: Deliver) -> None:
    """Of this shop, or of nobody."""
    wrong = order_document_for(CheckoutFactory(), amount=Decimal("1.00"), original_amount=Decimal("1.00"))
    unbound = OrderDocumentFactory(metadata={})
    for order in (wrong, unbound):
        checkout_deliver(notification(order=order))
    assert states() == {"review:amount": "open", "review:unbound": "open"}
    for order in (wrong, unbound):
        checkout_deliver(refund(order))
    assert states() == {"review:amount": "over", "review:unbound": "over"}


def test_a_second_payment_that_was_refunded_is_no_question(checkout_deliver: Deliver) -> None:
    """Whichever of the two."""
    for position in range(2):
        checkout = CheckoutFactory(order_id=f"order-{position}")
        created = (timezone.now() - timedelta(hours=1)).isoformat()
        orders = [
            order_document_for(checkout, created_at=created),
            order_document_for(checkout, id=f"again-{position}", transaction=f"again-{position}"),
        ]
        for order in orders:
            checkout_deliver(notification(order=order))
        assert states() == {"review:paid_twice": "open"}
        checkout_deliver(refund(orders[position]))
        assert states() == {"review:paid_twice": "over"}
        Incident.objects.all().delete()


def test_a_declined_order_with_a_transaction_that_turns_out_paid_is_no_question(
    checkout_deliver: Deliver,
) -> None:
    """Another question takes its place: how it is listed."""
    order = order_document_for(CheckoutFactory())
    record_listed([{**order, "status": "rejected", "cancellation": None}])
    assert states() == {"listed_rejected_with_transaction": "open"}
    checkout_deliver(notification("payment.cancel", {**order, "status": "rejected"}))
    assert states() == {"listed_rejected_with_transaction": "over"}
