"""Who runs the receivers of an order: one process at a time, and another one when it dies (G4)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.outbox import claims as claims_module
from checkout_integration.flows.outbox.claims import Claim, claim, claims, ready
from checkout_integration.flows.outbox.running import fan_out
from checkout_integration.models import Checkout, Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import (
    checkout_paid,
    checkout_reversed,
    payment_success,
    user_validated,
)
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from tests.flows.shop import Listening, notification, own, owned

pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)


def paid(checkout: Checkout) -> Order:
    """A sale's payment, recorded; its receivers have not run."""
    order: Order = OrderFactory(checkout=checkout)
    return order


def refund(deliver: Deliver, checkout: Checkout) -> None:
    """The service gives the money back."""
    told = order_document_for(checkout, status="refunded")
    assert deliver(notification("payment.refund", told)).status_code == 200


def states() -> list[str]:
    """States of all runs, in the order of their making."""
    return list(ReceiverRun.objects.order_by("pk").values_list("state", flat=True))


def die_at_work() -> None:
    """Leaves every run as a process leaves it that died in its receiver, long ago."""
    fan_out()
    past = timezone.now() - timedelta(seconds=1)
    running = {"state": ReceiverRun.State.RUNNING, "attempts": 1, "fence": "of-the-dead", "due_at": past}
    for run in ReceiverRun.objects.all():
        ReceiverRun.objects.filter(pk=run.pk).update(**running, exclusive=run.line)


def test_delivery_of_a_dead_process_is_taken_over(listen: Listening) -> None:
    """Its attempt was counted before it began, so that what always kills its worker is failed in the end."""
    heard = listen(checkout_paid)
    paid(CheckoutFactory())
    die_at_work()
    flows.run_due()
    assert [each["attempt"] for each in heard] == [2]
    assert states() == ["done"]


def test_delivery_of_a_living_process_is_left_alone(listen: Listening) -> None:
    """While the lease lasts, nobody else runs receivers of this checkout."""
    heard = listen(checkout_paid, name="first"), listen(checkout_paid, name="second")
    paid(CheckoutFactory())
    fan_out()
    next(claims())
    flows.run_due()
    assert heard == ([], [])


def test_order_is_claimed_by_one_process(listen: Listening) -> None:
    """Two looked at the same moment and found different runs of one order: one of them wins."""
    listen(checkout_paid, name="a")
    listen(checkout_paid, name="b")
    paid(CheckoutFactory())
    fan_out()
    (found,) = ready()
    assert [claim(each) for each in found] == [Claim.WON, Claim.LOST]


def test_delivery_is_claimed_by_one_process(
    listen: Listening, checkout_deliver: Deliver, settings: Any
) -> None:
    """Also one that belongs to no order, such as a decision about a customer."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RECEIVERS_RUN": "worker"}
    listen(user_validated)
    checkout_deliver(event="user.validate")
    fan_out()
    found = [run for _ in range(2) for (run,) in ready()]
    assert [claim(each) for each in found] == [Claim.WON, Claim.LOST]
    assert ReceiverRun.objects.get().attempts == 1


def test_delivery_that_ended_meanwhile_is_not_found(
    listen: Listening, checkout_deliver: Deliver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process ended it after the queue was read: it is not run once more."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RECEIVERS_RUN": "worker"}
    heard = listen(user_validated)
    checkout_deliver(event="user.validate")
    fan_out()
    look_up = claims_module._not_held_back

    def be_overtaken_and_look_up(*arguments: Any) -> Any:
        ReceiverRun.objects.update(state=ReceiverRun.State.DONE)
        return look_up(*arguments)

    monkeypatch.setattr(claims_module, "_not_held_back", be_overtaken_and_look_up)
    flows.run_due()
    assert heard == []


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """A process of its own, as far as the database can tell: a thread with a connection of its own."""

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


@in_threads
@pytest.mark.postgres
def test_slow_process_loses_its_effects_to_the_one_that_took_over(listen: Listening) -> None:
    """Both ran the receiver, and one effect is left: the fence of the slow one is no longer valid."""
    runs: list[int] = []

    def grant(attempt: int, **arguments: Any) -> None:
        runs.append(attempt)
        Group.objects.create(name=f"goods of {uuid.uuid4()}")
        if attempt == 1:
            in_thread(take_over).join()

    def take_over() -> None:
        past = timezone.now() - timedelta(seconds=1)
        ReceiverRun.objects.update(due_at=past)
        flows.run_due()

    listen(checkout_paid, grant)
    paid(CheckoutFactory())
    flows.run_due()
    assert (runs, owned(), states()) == ([1, 2], 1, ["done"])


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
