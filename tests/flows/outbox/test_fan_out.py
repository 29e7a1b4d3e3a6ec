"""Fanning out messages to receivers: no content of one message stops the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from checkout_integration import flows
from checkout_integration.flows.inbox import apply_due
from checkout_integration.flows.outbox import messages
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import checkout_paid, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from tests.support.flows.concurrency import in_background, meeting
from tests.support.flows.shop import Listening, notification, record_listed

pytestmark = pytest.mark.django_db


def lose_connection() -> None:
    """Let the server end this thread's connection."""
    own, end = {
        "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%s)"),
        "mysql": ("SELECT connection_id()", "KILL %s"),
    }[connection.vendor]

    def execute(statement: str, *values: int) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchone()

    (number,) = execute(own)
    in_background(lambda: execute(end, number)).join()


def test_signal_of_a_newer_version_stops_nothing(listen: Listening) -> None:
    """The message was stored by a newer version before a downgrade: no receiver here knows its signal."""
    heard = listen(checkout_paid)
    OutboxMessage.objects.create(idempotency_key="newer", signal="checkout_wondered", project="default")
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert len(heard) == 1
    assert OutboxMessage.objects.get(idempotency_key="newer").state == "no_receivers"


def test_long_queue_does_not_hold_a_run_up(listen: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without time hands nothing over, and loses nothing; the next one does."""
    monkeypatch.setattr(messages, "FAN_OUT_BATCH", 1)
    heard = listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due(seconds=0)
    assert not ReceiverRun.objects.exists()
    flows.run_due()
    assert len(heard) == 1


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_runner_though_the_connection_was_lost(listen: Listening) -> None:
    """With CELERY_DB_REUSE_MAX Celery reuses a worker's connection without a check."""
    heard = listen(payment_success)
    OrderFactory(checkout=CheckoutFactory())
    for _ in range(2):
        lose_connection()
        flows.run_due()
    assert len(heard) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_it_meets_a_page_of_the_list(checkout_deliver: Deliver, listen: Listening, settings: Any) -> None:
    """Receiver runs refer to orders in any sequence; the page has locked one of these orders, and waits for the other.

    MariaDB checks foreign keys at once, in the sequence of the rows: there one of the two may be retried.
    """
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    orders = [order_document_for(CheckoutFactory()) for _ in range(2)]
    for order in orders:
        canceled = {**order, "status": "canceled"}
        checkout_deliver(notification("payment.cancel", canceled, at=datetime.now(UTC) - timedelta(days=2)))
    flows.run_due()
    listen(payment_success)
    for order in reversed(orders):
        checkout_deliver(order=order)
    apply_due()
    with meeting() as others:
        Order.objects.select_for_update(no_key=True).get(order_id=orders[1]["id"])
        others.comes(lambda: record_listed([{**order, "status": "refunded"} for order in orders]))
        flows.outbox.fan_out()
    assert ReceiverRun.objects.count() == len(orders)
