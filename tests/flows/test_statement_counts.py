"""How many SQL statements a notification costs, on every database. Transaction control and item rows are not counted."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from checkout_integration import flows
from checkout_integration.flows.database.server import limits_of
from checkout_integration.models import Checkout, Notification, Order
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderItemDocumentFactory, RefundDocumentFactory
from tests.support.flows.shop import Listening, notification, statements
from tests.support.scale import times

pytestmark = pytest.mark.django_db
STORED, COUNTED, FORGED = 1, 1, 0
MOST = {"postgresql": 18, "mysql": 18, "sqlite": 22}
"""To apply a batch of any size. On SQLite one begins the transaction as a writing one, and keys of new rows are read back."""
DEFAULT = {"postgresql": 31, "mysql": 32, "sqlite": 35}
"""To accept a first success; after the response to apply it, to run its receiver, and to look whether more is due."""
NOT_COUNTED = re.compile(r"BEGIN|SAVEPOINT|RELEASE|ROLLBACK|COMMIT|SET TRANSACTION")


@pytest.fixture(autouse=True)
def _left_to_a_worker(checkout_deliver: Deliver, settings: Any) -> None:
    """Leave applying to a worker; let the process have seen its project installed."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout_deliver()
    flows.inbox.apply_due()


@pytest.fixture
def buyer() -> User:
    """Give an account of the shop."""
    return User.objects.create(username="ada")


def paid(checkout: Checkout, **changes: Any) -> dict[str, Any]:
    """The Order of a checkout's payment, with everything that a real one has."""
    return order_document_for(
        checkout, items=[OrderItemDocumentFactory(), OrderItemDocumentFactory()], **changes
    )


def counted(limit: int, work: Callable[[], Any]) -> Any:
    """Do something, and name every statement where there are more than the limit."""
    with statements() as seen:
        result = work()
    queries = [statement[:110] for statement in seen if not NOT_COUNTED.match(statement)]
    assert len(queries) <= limit, "\n".join([f"{len(queries)} statements, at most {limit}:", *queries])
    return result


def most() -> int:
    """The limit for a batch here."""
    return MOST[connection.vendor]


def accept(limit: int, status: int, deliver: Callable[[], Any]) -> None:
    """Deliver within the limit; nothing is applied."""
    assert counted(limit, deliver).status_code == status


def test_a_first_success_is_stored_by_one_statement(checkout_deliver: Deliver, buyer: User) -> None:
    """With any content: no order is selected, and none is locked."""
    order = paid(CheckoutFactory(user=buyer))
    accept(STORED, 200, lambda: checkout_deliver(order=order))
    assert Notification.objects.get(object_id=order["id"]).state == "stored"


def test_a_duplicate_is_counted_by_one_statement(checkout_deliver: Deliver, buyer: User) -> None:
    """The same bytes again; nothing else of the row changes."""
    document = notification(order=paid(CheckoutFactory(user=buyer)))
    checkout_deliver(document)
    accept(COUNTED, 200, lambda: checkout_deliver(document))
    assert Notification.objects.get(object_id=document["object"]["id"]).receipts == 2


def test_a_forged_notification_costs_no_statement(checkout_deliver: Deliver, buyer: User) -> None:
    """Unsigned requests are refused before any query."""
    order = paid(CheckoutFactory(user=buyer))
    accept(FORGED, 401, lambda: checkout_deliver(order=order, secret="not the secret"))


def test_a_web_process_looks_once_for_what_others_have_left(checkout_deliver: Deliver, settings: Any) -> None:
    """A repetition in the default mode: it is counted, its order has no due runs, and no process left work behind."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "request"}
    document = notification(order=paid(CheckoutFactory()))
    checkout_deliver(document)
    accept(8, 200, lambda: checkout_deliver(document))


def test_a_payment_in_the_default_mode(
    checkout_deliver: Deliver, settings: Any, buyer: User, listen: Listening
) -> None:
    """A first success with one receiver is accepted, applied and run; then the process looks whether more is due."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "request"}
    heard = listen(checkout_paid, name="grant")
    order = paid(CheckoutFactory(user=buyer))
    limits_of(connection)  # which is asked for them once
    accept(DEFAULT[connection.vendor], 200, lambda: checkout_deliver(order=order))
    assert len(heard) == 1


@pytest.mark.parametrize("size", [1, 7, pytest.param(times(50, 500), marks=pytest.mark.postgres)])
def test_a_batch_of_any_size_is_applied_by_as_many_statements(
    checkout_deliver: Deliver, buyer: User, size: int
) -> None:
    """First successes of new orders and customers, with their items, goods granted; then their reversals, and duplicates."""
    orders = [paid(CheckoutFactory(user=buyer if number == 0 else None)) for number in range(size)]
    for order in orders:
        checkout_deliver(order=order)
    assert counted(most(), lambda: flows.inbox.apply_due(size, size)).applied == size
    assert Order.objects.filter(verdict="verified").count() == size
    for number, order in enumerate(orders):
        event, status = [("payment.refund", "refunded"), ("payment.chargeback", "chargeback")][number % 2]
        back = {**order, "status": status, "refunded": True, "refund": RefundDocumentFactory()}
        checkout_deliver(notification(event, back))
    assert counted(most(), lambda: flows.inbox.apply_due(size, size)).applied == size
    assert Checkout.objects.filter(status="reversed").count() == size
    for order in orders:
        checkout_deliver(notification(order=order, delivery_try=1))
    assert counted(most(), lambda: flows.inbox.apply_due(size, size)).applied == size


def test_an_order_that_was_created_here_costs_no_more(
    checkout_deliver: Deliver, checkout_sandbox: Sandbox, buyer: User
) -> None:
    """The commonest way: ``create_checkout`` has recorded the order; a guest is known by the service's id only."""
    for user in (None, buyer):
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD", user=user)
        checkout_deliver(order=paid(checkout, **({} if user else {"user__external_id": ""})))
        counted(most(), flows.inbox.apply_due)
        assert Order.objects.get(checkout=checkout, user__isnull=False).verdict == "verified"


def test_nothing_to_apply_costs_one_statement(checkout_deliver: Deliver) -> None:
    """A worker that looks every second."""
    counted(1, flows.inbox.apply_due)
