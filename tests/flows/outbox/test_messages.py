"""Messages, written together with the runs of their receivers; no content of one stops the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from checkout_integration import flows
from checkout_integration.flows.database import with_retries
from checkout_integration.flows.inbox import apply_due
from checkout_integration.flows.outbox import life_cycle_message, receivers, write_messages
from checkout_integration.models import Order, OutboxMessage, Receiver, ReceiverRun
from checkout_integration.signals import notification_failed, payment_success
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


def alert(*words: str) -> OutboxMessage:
    """A message without a line."""
    return life_cycle_message(notification_failed, "default", *words, source="notification")


def write(*messages: OutboxMessage) -> None:
    """Write messages in a transaction of their own, as flows do."""

    def written() -> None:
        with transaction.atomic():
            write_messages(messages)

    with_retries(written)


def test_a_message_is_written_once_whoever_writes_it(listen: Listening) -> None:
    """With one run for each receiver: those connected here, and those that another process has recorded."""
    listen(notification_failed, name="a")
    write(alert("one"), alert("one"))
    now = datetime.now(UTC)
    Receiver.objects.create(
        signal="notification_failed", name="b", names=["b"], undoes=[], first_seen=now, last_seen=now
    )
    write(alert("one"), alert("two"))
    runs = ReceiverRun.objects.order_by("pk").values_list("message__idempotency_key", "receiver", "state")
    one, two = (alert(word).idempotency_key for word in ("one", "two"))
    assert list(runs) == [(one, "a", "due"), (two, "a", "due"), (two, "b", "due")]


class Overwritten(receivers.ThisProcess):
    """What a process remembers, while another of its threads writes the table that it has read before."""

    def __setattr__(self, name: str, value: object) -> None:
        """Let the other thread come after each."""
        super().__setattr__(name, receivers.Remembered() if name == "remembered" else value)


def test_another_thread_is_just_recording_the_receivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that another process has recorded gets its run all the same."""
    now = datetime.now(UTC)
    Receiver.objects.create(
        signal="notification_failed", name="b", names=["b"], undoes=[], first_seen=now, last_seen=now
    )
    monkeypatch.setattr(receivers, "this_process", Overwritten())
    write(alert("one"))
    assert ReceiverRun.objects.get().receiver == "b"


def test_a_message_that_nobody_hears_says_so() -> None:
    """A receiver that is connected later can get it by `checkout_replay`."""
    write(alert("one"))
    assert OutboxMessage.objects.get().state == "no_receivers"


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_two_processes_write_the_same_alert(listen: Listening) -> None:
    """They have no lock in common: the later one waits for the first, and finds that it is sent."""
    listen(notification_failed, name="a")
    with meeting() as others:
        write_messages([alert("one"), alert("two")])
        others.comes(lambda: write(alert("one"), alert("two"), alert("three")))
    keys = OutboxMessage.objects.order_by("pk").values_list("idempotency_key", flat=True)
    assert list(keys) == [alert(word).idempotency_key for word in ("one", "two", "three")]
    assert ReceiverRun.objects.count() == 3


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
def test_runs_meet_a_page_of_the_list(checkout_deliver: Deliver, listen: Listening, settings: Any) -> None:
    """Messages and runs refer to orders in any sequence; the page has locked one of these orders, and waits for the other.

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
    with meeting() as others:
        Order.objects.select_for_update(no_key=True).get(order_id=orders[1]["id"])
        others.comes(apply_due)
        others.comes(lambda: record_listed([{**order, "status": "refunded"} for order in orders]))
    assert ReceiverRun.objects.count() == len(orders)
