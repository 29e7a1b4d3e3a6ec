"""How many SQL statements a notification costs, on every database. Transaction control and item rows are not counted."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import Checkout, Order
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderItemDocumentFactory, RefundDocumentFactory
from tests.flows.shop import notification, statements

pytestmark = pytest.mark.django_db
FIRST, REVERSAL, DUPLICATE, FORGED = 16, 14, 8, 0
NOT_COUNTED = re.compile(
    r"BEGIN|SAVEPOINT|RELEASE|ROLLBACK|COMMIT|(INSERT INTO|DELETE FROM) .checkout_integration_orderitem"
)


@pytest.fixture(autouse=True)
def _left_to_a_worker(checkout_deliver: Deliver, settings: Any) -> None:
    """Leave receivers to a worker; let the process have seen its project installed."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout_deliver()


@pytest.fixture
def buyer() -> User:
    """Give an account of the shop."""
    return User.objects.create(username="ada")


def paid(checkout: Checkout, **changes: Any) -> dict[str, Any]:
    """The Order of a sale's payment, with everything that a real one has."""
    return order_document_for(
        checkout, items=[OrderItemDocumentFactory(), OrderItemDocumentFactory()], **changes
    )


def within(limit: int, deliver: Callable[[], Any], status: int = 200) -> None:
    """Delivers, and names every statement where there are more than the limit."""
    with statements() as seen:
        assert deliver().status_code == status
    counted = [statement[:110] for statement in seen if not NOT_COUNTED.match(statement)]
    assert len(counted) <= limit, "\n".join([f"{len(counted)} statements, at most {limit}:", *counted])


def test_first_success_of_an_order_that_is_new_here(checkout_deliver: Deliver, buyer: User) -> None:
    """The order comes from a token or from "try again"; its customer is seen for the first time."""
    checkout = CheckoutFactory(user=buyer)
    told = paid(checkout, id="another")
    within(FIRST, lambda: checkout_deliver(order=told))
    order = Order.objects.get(checkout=checkout, user__account=buyer)
    assert (order.verdict, order.items.count(), order.receipt_email) == ("verified", 2, told["receipt_email"])


@pytest.mark.parametrize("guest", [False, True])
def test_first_success_of_an_order_that_was_created_here(
    checkout_deliver: Deliver, checkout_sandbox: Sandbox, buyer: User, guest: bool
) -> None:
    """The commonest way: ``create_checkout`` has recorded the order; a guest is known by the service's id only."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD", user=None if guest else buyer)
    told = paid(checkout, **({"user__external_id": ""} if guest else {}))
    within(FIRST, lambda: checkout_deliver(order=told))
    assert Order.objects.get(checkout=checkout, user__isnull=False).verdict == "verified"


@pytest.mark.parametrize("later", [False, True])
def test_duplicate_of_a_success(checkout_deliver: Deliver, buyer: User, later: bool) -> None:
    """The same bytes again, or a later attempt, whose times are another."""
    document = notification(order=paid(CheckoutFactory(user=buyer)))
    checkout_deliver(document)
    again = notification(order=document["object"], delivery_try=1) if later else document
    within(DUPLICATE, lambda: checkout_deliver(again))


@pytest.mark.parametrize("event", ["payment.refund", "payment.chargeback"])
def test_first_reversal_of_a_paid_order(checkout_deliver: Deliver, buyer: User, event: str) -> None:
    """Money goes back: order, personal data, refund, sale, history and outbox are written."""
    checkout = CheckoutFactory(user=buyer)
    order = paid(checkout)
    checkout_deliver(order=order)
    status = {"payment.refund": "refunded", "payment.chargeback": "chargeback"}[event]
    back = {**order, "status": status, "refunded": True, "refund": RefundDocumentFactory()}
    within(REVERSAL, lambda: checkout_deliver(notification(event, back)))
    checkout.refresh_from_db()
    assert checkout.status == "reversed"


def test_cancellation_of_an_order_that_was_created_here(
    checkout_deliver: Deliver, checkout_sandbox: Sandbox, buyer: User
) -> None:
    """The customer gave up."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD", user=buyer)
    order = paid(checkout, status="canceled")
    within(FIRST, lambda: checkout_deliver(notification("payment.cancel", order)))
    assert Order.objects.get(checkout=checkout).status == "canceled"


def test_forged_notification(checkout_deliver: Deliver, buyer: User) -> None:
    """What is not signed is refused before the database is asked anything."""
    order = paid(CheckoutFactory(user=buyer))
    within(FORGED, lambda: checkout_deliver(order=order, secret="not the secret"), status=401)
