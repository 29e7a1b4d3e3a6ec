"""`checkout_work`: slots, an orderly end, and how far behind the receivers are."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from checkout_integration import flows
from checkout_integration.flows.monitoring import backlog as queue_status
from checkout_integration.flows.operations import QueueState
from checkout_integration.models import Installation, Notification, Order, ReceiverRun
from checkout_integration.signals import checkout_paid, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.management.test_commands import run
from tests.support.flows.shop import Failing, Listening, own, owned
from tests.support.flows.threads import Gate, at_work
from tests.support.plans import empty_tables, fill_queue, plans_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """Restore the signal handlers."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def sell(count: int) -> None:
    """Payments of so many checkouts, recorded; their receivers have not run."""
    for _ in range(count):
        OrderFactory(checkout=CheckoutFactory())


def status() -> QueueState:
    """The state of the queue, as monitors see it."""
    return flows.operations.queue_state()


def counts(queue: QueueState) -> dict[str, int]:
    """The queue in numbers."""
    return {name: getattr(queue, name) for name in ("due", "running", "waiting", "failed")}


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_slots_run_at_the_same_time(listen: Listening) -> None:
    """Two runs of one receiver are inside at once, half of the four slots; the other two run the rest."""
    gate = Gate()
    listen(checkout_paid, gate, name="slow")
    quick = listen(payment_success, name="quick")
    sell(5)

    def stop_when_both_are_inside() -> None:
        gate.await_inside(2)
        gate.open()

    with at_work(1, stop_when_both_are_inside):
        code, printed = run("checkout_work", "--once", "--slots", "4")
    run("checkout_work", "--once")
    assert (code, gate.most, len(quick)) == (0, 2, 5)
    assert "0 failed" in printed
    assert not ReceiverRun.objects.exclude(state="done").exists()


@pytest.mark.django_db(transaction=True)
def test_termination_ends_it_after_the_receiver_at_hand(listen: Listening) -> None:
    """The others stay due; no receiver is interrupted."""

    def stop(order: Order, **arguments: Any) -> None:
        own(order)
        signal.raise_signal(signal.SIGTERM)

    listen(checkout_paid, stop)
    sell(3)
    call_command("checkout_work", "--slots", "1", stdout=StringIO(), stderr=StringIO())
    assert (owned(), ReceiverRun.objects.filter(state="done").count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_all_slots_end_and_give_their_connections_back(listen: Listening) -> None:
    """A supervisor's signal reaches the slots that only wait, too."""
    heard = listen(checkout_paid, lambda **arguments: os.kill(os.getpid(), signal.SIGTERM))
    sell(1)
    printed = StringIO()
    call_command("checkout_work", "--interval", "0.01", stdout=printed, stderr=StringIO())
    assert (len(heard), printed.getvalue()) == (1, "1 run, 0 failed, 0 postponed\n")
    assert not [each for each in threading.enumerate() if each.name.startswith("checkout-slot")]
    connections.close_all()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--interval", value) for value in ("1e300", "-1", "0", "nan", "soon", "")),
        *(("--slots", value) for value in ("-3", "0", "1.5", "1000000")),
    ],
)
def test_impossible_numbers_are_refused(option: str, value: str) -> None:
    """Nothing is run; the message names the allowed range."""
    with pytest.raises(
        CommandError, match=rf"argument {option}: '{value}' is not a .*number from \S+ to \d+$"
    ):
        run("checkout_work", "--once", f"{option}={value}")


def test_status_of_an_empty_queue() -> None:
    """Nothing waits."""
    assert not any(asdict(status()).values())


def test_notification_that_nobody_applies_ages(checkout_deliver: Deliver, settings: Any) -> None:
    """It is left for as long as it could have been applied."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout_deliver()
    Notification.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=10))
    queue = status()
    assert (queue.stored, 600 <= queue.oldest_seconds < 700) == (1, True)
    run("checkout_work", "--once")
    assert (status().stored, status().oldest_seconds) == (0, 0)


def test_delivery_that_nobody_runs_ages(listen: Listening) -> None:
    """From the time when it could have run, or was claimed by a dead process; SQLite does not know which have died."""
    listen(checkout_paid)
    sell(2)
    past = datetime.now(UTC) - timedelta(minutes=10)
    ReceiverRun.objects.update(due_at=past)
    dead = ReceiverRun.objects.order_by("pk")[0]
    ReceiverRun.objects.filter(pk=dead.pk).update(state=ReceiverRun.State.RUNNING)
    queue = status()
    assert 600 <= queue.oldest_seconds < 700
    sqlite = connection.vendor == "sqlite"
    assert counts(queue) == {"due": 2 - sqlite, "running": int(sqlite), "waiting": 0, "failed": 0}


def test_waiting_and_running_are_no_reason_to_worry(listen: Listening) -> None:
    """A failing receiver waits for its retry, and finished runs are finished: the worker is healthy."""
    listen(checkout_paid, Failing(), name="failing")
    listen(payment_success, name="sound")
    sell(2)
    run("checkout_work", "--once")
    long_ago = datetime.now(UTC) - timedelta(days=1)
    ReceiverRun.objects.filter(receiver="sound", state=ReceiverRun.State.DONE).update(due_at=long_ago)
    first, second = ReceiverRun.objects.filter(receiver="failing").order_by("pk")
    ReceiverRun.objects.filter(pk=first.pk).update(state=ReceiverRun.State.FAILED)
    assert status().oldest_seconds == 0
    assert counts(status()) == {"due": 0, "running": 0, "waiting": 1, "failed": 1}
    now = datetime.now(UTC)
    ReceiverRun.objects.filter(pk=second.pk).update(state=ReceiverRun.State.RUNNING, due_at=now)
    assert counts(status()) == {"due": 0, "running": 1, "waiting": 0, "failed": 1}


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_receiver_that_hangs_is_overdue_and_holds_up_no_other_order(listen: Listening, settings: Any) -> None:
    """The status is not well from its deadline on; what else is due is run meanwhile."""
    gate = Gate()
    listen(checkout_paid, lambda **arguments: gate(**arguments) if not gate.most else None)
    sell(1)
    with at_work(1, lambda: run("checkout_work", "--once")):
        try:
            gate.await_inside(1)
            assert status().overdue == 0
            settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RECEIVER_DEADLINE": 0.001}
            assert (status().running, status().overdue) == (1, 1)
            sell(2)
            run("checkout_work", "--once")
            assert counts(status()) == {"due": 0, "running": 1, "waiting": 0, "failed": 0}
        finally:
            gate.open()
    assert status().overdue == 0


def test_status_counts_to_an_end(listen: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the queue is, it is read by its index, and not to its end."""
    monkeypatch.setattr(queue_status, "MOST_COUNTED", 2)
    listen(checkout_paid)
    sell(3)
    with CaptureQueriesContext(connection) as seen:
        assert status().due == 2
    assert len(seen) == 1


@pytest.mark.postgres
def test_status_reads_indexes_only() -> None:
    """No statement of it reads a table as a whole, nor sorts; the few installations are read whole."""
    empty_tables()
    fill_queue()
    plans = plans_of(status)
    assert "ci_receiver_run_due" in set().union(*(plan.indexes() for plan in plans))
    for plan in plans:
        assert plan.tables_read("Seq Scan") <= {Installation._meta.db_table}, plan
        assert not plan.kinds() & {"Bitmap Heap Scan", "Sort"}, plan
