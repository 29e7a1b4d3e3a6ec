"""Claims of an order's receivers: by one process at a time, and by another one after its death."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.outbox import claiming
from checkout_integration.flows.outbox.claiming import claim
from checkout_integration.flows.outbox.running import attempt, load
from checkout_integration.models import Checkout, Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import (
    checkout_paid,
    checkout_reversed,
    payment_success,
    user_validated,
)
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from tests.support.flows.shop import Listening, notification, own, owned

pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)


def paid(checkout: Checkout) -> Order:
    """A checkout's payment, recorded; its receivers have not run."""
    order: Order = OrderFactory(checkout=checkout)
    return order


def refund(deliver: Deliver, checkout: Checkout) -> None:
    """The service gives the money back."""
    document = order_document_for(checkout, status="refunded")
    assert deliver(notification("payment.refund", document)).status_code == 200


def states() -> list[str]:
    """States of all runs, in the order of their making."""
    return list(ReceiverRun.objects.order_by("pk").values_list("state", flat=True))


def die_at_work() -> None:
    """Leaves every run as a process leaves it that died in its receiver, long ago."""
    past = timezone.now() - timedelta(minutes=1)
    running = {"state": ReceiverRun.State.RUNNING, "attempts": 1, "fence": "of-the-dead", "due_at": past}
    for run in ReceiverRun.objects.all():
        ReceiverRun.objects.filter(pk=run.pk).update(**running, exclusive=run.line)


def test_delivery_of_a_dead_process_is_taken_over(listen: Listening) -> None:
    """Its attempt was counted before it began, so that a run that always kills its worker fails in the end."""
    heard = listen(checkout_paid)
    paid(CheckoutFactory())
    die_at_work()
    flows.run_due()
    assert [each["attempt"] for each in heard] == [2]
    assert states() == ["done"]


def test_delivery_of_a_living_process_is_left_alone(listen: Listening) -> None:
    """Claimed runs that are not begun stay its own for a while, and so does the turn of their checkout."""
    heard = listen(checkout_paid, name="first"), listen(checkout_paid, name="second")
    paid(CheckoutFactory())
    assert len(claim()) == 1
    flows.run_due()
    assert heard == ([], [])


def test_one_run_of_an_order_is_claimed(listen: Listening) -> None:
    """Of its two receivers one has the turn, whatever the limit."""
    listen(checkout_paid, name="a")
    listen(checkout_paid, name="b")
    paid(CheckoutFactory())
    assert [run.receiver for run in claim()] == ["a"]
    assert claim() == []


def test_a_turn_that_was_taken_meanwhile_is_not_claimed(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both looked at the same moment and chose different receivers of one order: the column is unique, so one wins."""
    listen(checkout_paid, name="a")
    paid(CheckoutFactory())
    mark = claiming._mark

    def be_overtaken_and_mark(runs: Any, *arguments: Any) -> Any:
        message = runs[0].message
        other = ReceiverRun(message=message, receiver="b", line=message.line, due_at=timezone.now())
        other.exclusive, other.state, other.fence = message.line, ReceiverRun.State.RUNNING, "of-another"
        other.save()
        return mark(runs, *arguments)

    monkeypatch.setattr(claiming, "_mark", be_overtaken_and_mark)
    assert claim() == []
    assert ReceiverRun.objects.values_list("receiver", "state", "attempts").get() == ("a", "due", 0)


def test_claims_are_batches_of_one_receiver(listen: Listening) -> None:
    """A receiver that hangs blocks its own runs only, and others take these over; each is of another checkout."""
    listen(checkout_paid, name="a")
    listen(payment_success, name="b")
    for _ in range(3):
        paid(CheckoutFactory())
    first, second = claim(), claim()
    assert {run.receiver for run in first} == {"b"} and len({run.line for run in first}) == 3
    assert second == []


def test_run_that_belongs_to_no_order_is_claimed_once(
    listen: Listening, checkout_deliver: Deliver, settings: Any
) -> None:
    """Such as a decision about a customer."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    listen(user_validated)
    checkout_deliver(event="user.validate")
    assert [len(claim()), len(claim())] == [1, 0]
    assert ReceiverRun.objects.get().attempts == 1


def test_run_that_ended_meanwhile_is_not_claimed(
    listen: Listening, checkout_deliver: Deliver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process ended it after the queue was read: it is not run once more."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    heard = listen(user_validated)
    checkout_deliver(event="user.validate")
    lock_and_mark = claiming._claim_free

    def be_overtaken(*arguments: Any) -> Any:
        ReceiverRun.objects.update(state=ReceiverRun.State.DONE)
        return lock_and_mark(*arguments)

    monkeypatch.setattr(claiming, "_claim_free", be_overtaken)
    flows.run_due()
    assert heard == []


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """Run in a thread with its own connection, which is a process to the database."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@in_threads
@pytest.mark.postgres
def test_deliveries_of_one_order_run_one_at_a_time(listen: Listening) -> None:
    """While one process is in a receiver of the order, another runs receivers of other orders only."""
    entered, leave = threading.Event(), threading.Event()

    def wait(**arguments: Any) -> None:
        entered.set()
        assert leave.wait(20)

    listen(checkout_paid, wait, name="a")
    later = listen(checkout_reversed, name="b")
    other = listen(payment_success, name="c")
    busy, idle = CheckoutFactory(), CheckoutFactory()
    paid(busy)
    OutboxMessage.objects.exclude(signal="checkout_paid").delete()
    first = in_thread(flows.run_due)
    assert entered.wait(20)
    try:
        OrderFactory(checkout=busy, status="refunded")
        OrderFactory(checkout=idle)
        OutboxMessage.objects.filter(order__checkout=idle, signal="checkout_paid").delete()
        flows.run_due()
        assert (len(later), [each["checkout"] for each in other]) == (0, [idle])
    finally:
        leave.set()
        first.join()
    flows.run_due()
    assert len(later) == 1


def test_slow_process_does_not_attempt_what_another_took_over(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was suspended between its claim and the attempt: its fence is no longer valid."""
    heard = listen(checkout_paid, own)
    paid(CheckoutFactory())
    suspended = load(claim())
    monkeypatch.setattr(claiming, "GRACE", timedelta(0))
    flows.run_due()
    assert [attempt(each).did_anything for each in suspended] == [False]
    assert ([each["attempt"] for each in heard], owned(), states()) == ([2], 1, ["done"])


@in_threads
@pytest.mark.postgres
def test_processes_share_what_is_due(listen: Listening) -> None:
    """Four drains at once run every run exactly once."""
    heard = listen(checkout_paid, own)
    for _ in range(20):
        paid(CheckoutFactory())
    workers = [in_thread(flows.run_due) for _ in range(4)]
    for worker in workers:
        worker.join()
    flows.run_due()
    assert (owned(), len({each["order"].pk for each in heard}), states()) == (20, 20, ["done"] * 20)
