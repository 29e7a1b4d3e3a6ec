"""Draining: how web processes work after a response, and the time that any process has."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import partial
from threading import Event, current_thread
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows import inbox, outbox
from checkout_integration.flows.database import key_of
from checkout_integration.flows.inbox import applying
from checkout_integration.flows.inbox.claiming import heads
from checkout_integration.flows.operations import draining
from checkout_integration.flows.outbox import (
    claiming,
    finish,
    running,
)
from checkout_integration.models import Notification, OutboxMessage, Receiver, ReceiverRun
from checkout_integration.signals import checkout_paid, order_changed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.concurrency import in_background
from tests.support.flows.shop import Failing, Listening, notification, statements
from tests.support.flows.threads import PATIENCE

pytestmark = pytest.mark.django_db


class Clock:
    """A clock that goes on when a test says so, or when somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *modules: object) -> None:
        self.now = 0.0
        for module in modules:
            replaced = SimpleNamespace(monotonic=lambda: self.now, sleep=self.take)
            monkeypatch.setattr(module, "time", replaced)

    def take(self, seconds: float) -> None:
        """Let so much time pass."""
        self.now += seconds


@pytest.fixture
def _without_budget(checkout_deliver: Deliver, settings: Any) -> None:
    """Let a web process work on its own notifications only."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "REQUEST_BUDGET": 0}


def by_worker(settings: Any) -> None:
    """Leave what comes now to a worker."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}


def by_request(settings: Any, budget: float = 0) -> None:
    """Let web processes work."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "RUNNER": "request",
        "REQUEST_BUDGET": budget,
    }


@pytest.mark.usefixtures("_without_budget")
def test_every_receiver_of_its_own_once(checkout_deliver: Deliver, listen: Listening) -> None:
    """One after the other, since they are of one checkout; a failing one waits for its retry and blocks no other."""
    failing = Failing()
    heard = [
        listen(order_changed, name="a"),
        listen(checkout_paid, name="b"),
        listen(order_changed, name="d"),
    ]
    listen(order_changed, failing, name="c")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert ([len(each) for each in heard], failing.tries) == ([1, 1, 1], 1)


@pytest.mark.parametrize("budget", [0, 0.2])
def test_the_last_payment_of_a_day_behind_slow_receivers(
    checkout_deliver: Deliver,
    listen: Listening,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    budget: float,
) -> None:
    """A thousand of other sales are due and nobody calls again: it is delivered first; then the budget is for others."""
    by_request(settings, budget)
    clock = Clock(monkeypatch, draining, running)
    sold = [
        OutboxMessage(idempotency_key=key_of(number), signal="order_changed", project="default")
        for number in range(1_000)
    ]
    slow = listen(order_changed, lambda **arguments: clock.take(0.1), name="slow")
    heard = listen(checkout_paid, name="deliver")
    with transaction.atomic():
        outbox.write_messages(sold)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert len(heard) == 1
    assert len(slow) <= 1 + budget * 20


def test_a_payment_behind_a_long_backlog_of_notifications(
    checkout_deliver: Deliver, listen: Listening, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take longer than it may work: its own is applied by itself."""
    by_worker(settings)
    for _ in range(3):
        checkout_deliver(order=OrderDocumentFactory())
    by_request(settings)
    clock, heard = Clock(monkeypatch, draining, applying), listen(checkout_paid)

    def look(most: int, passed: Collection[int]) -> list[int]:
        clock.take(4.0)
        return heads(1, passed)

    default = applying.apply_due.__kwdefaults__ or {}
    monkeypatch.setattr(applying.apply_due, "__kwdefaults__", {**default, "look": look})
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert len(heard) == 1
    assert Notification.objects.filter(state="stored").exists()


@pytest.mark.usefixtures("_without_budget")
def test_what_no_process_here_can_run_is_not_waited_for(
    checkout_deliver: Deliver, listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a receiver that failed."""
    clock = Clock(monkeypatch, draining)
    listen(checkout_paid, Failing(), name="failing")
    seen = dict.fromkeys(("first_seen", "last_seen", "last_ready"), timezone.now())
    Receiver.objects.create(signal="checkout_paid", name="absent", names=["absent"], **seen)
    outbox.record_own()
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert set(ReceiverRun.objects.values_list("receiver", "state", "attempts")) == {
        ("failing", "due", 1),
        ("absent", "due", 0),
    }
    assert clock.now == 0


@pytest.mark.usefixtures("_without_budget")
@pytest.mark.parametrize("place", [(inbox, "apply_due"), (outbox, "run_due")])
def test_a_busy_database_is_tried_again(
    checkout_deliver: Deliver, listen: Listening, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str]
) -> None:
    """SQLite refuses a process while others write; nobody calls again."""
    clock, heard, refusals = Clock(monkeypatch, draining), listen(checkout_paid), [OperationalError] * 3
    work = getattr(*place)

    def busy(*given: Any, **named: Any) -> Any:
        if refusals:
            raise refusals.pop()("database is locked")
        return work(*given, **named)

    monkeypatch.setattr(*place, busy)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert (len(heard), refusals) == (1, [])
    assert 0 < clock.now < draining.OWN_SECONDS


def test_another_process_has_the_turn_of_its_checkout(
    checkout_deliver: Deliver, listen: Listening, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receivers wait for that one's end."""
    by_worker(settings)
    order, heard = order_document_for(CheckoutFactory()), [listen(order_changed, name="other")]
    checkout_deliver(notification("payment.cancel", {**order, "status": "canceled"}))
    inbox.apply_due()
    (claimed,) = claiming.claim()
    by_request(settings)
    heard.append(listen(order_changed, name="deliver"))

    def end(seconds: float) -> None:
        assert finish(claimed, ReceiverRun.State.DONE)

    monkeypatch.setattr(draining, "time", SimpleNamespace(monotonic=time.monotonic, sleep=end))
    checkout_deliver(notification(order=order))
    assert [len(each) for each in heard] == [1, 1]


def test_it_waits_for_another_process_no_longer_than_ten_seconds(
    checkout_deliver: Deliver, listen: Listening, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose receiver of the same checkout does not end: that process looks when it does."""
    by_worker(settings)
    order, heard = order_document_for(CheckoutFactory()), listen(order_changed)
    checkout_deliver(notification("payment.cancel", {**order, "status": "canceled"}))
    inbox.apply_due()
    assert claiming.claim()
    by_request(settings)
    clock = Clock(monkeypatch, draining)
    monkeypatch.setattr(draining, "PAUSE", 1.0)  # few rounds: the dead are not taken over meanwhile
    checkout_deliver(notification(order=order))
    assert heard == []
    assert draining.OWN_SECONDS <= clock.now < 2 * draining.OWN_SECONDS


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_without_budget")
def test_one_thread_of_a_process_works_for_all(checkout_deliver: Deliver, listen: Listening) -> None:
    """Others leave theirs to it and are free at once, even if it has looked for theirs for the last time."""
    threads, in_receiver, go_on = [], Event(), Event()

    def deliver(**arguments: Any) -> None:
        threads.append(current_thread())
        in_receiver.set()
        assert go_on.wait(PATIENCE)

    listen(checkout_paid, deliver, name="deliver")
    payments = [order_document_for(CheckoutFactory()) for _ in range(3)]
    first = in_background(lambda: checkout_deliver(order=payments[0]))
    assert in_receiver.wait(PATIENCE)
    for payment in payments[1:]:
        other = in_background(partial(checkout_deliver, order=payment))
        other.join(PATIENCE)
        assert not other.is_alive()
    assert list(Notification.objects.order_by("pk").values_list("state", flat=True)) == [
        "applied",
        "stored",
        "stored",
    ]
    go_on.set()
    first.join(PATIENCE)
    assert threads == [first] * 3


@pytest.mark.usefixtures("_without_budget")
def test_a_failure_leaves_nobodys_payment(
    checkout_deliver: Deliver, listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that fails over its own goes on with what another one has left to it meanwhile."""
    heard, work = listen(checkout_paid), draining._run_own
    second = order_document_for(CheckoutFactory())

    def fail_once(*given: Any) -> None:
        monkeypatch.setattr(draining, "_run_own", work)
        checkout_deliver(order=second)  # of another thread
        raise LookupError

    monkeypatch.setattr(draining, "_run_own", fail_once)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert [arguments["order"].order_id for arguments in heard] == [second["id"]]


def test_no_receiver_is_begun_when_the_time_is_over(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of a batch becomes due again, and no attempt is counted."""
    clock = Clock(monkeypatch, running)
    listen(order_changed, lambda **arguments: clock.take(0.05), name="a")
    for _ in range(6):
        OrderFactory(checkout=CheckoutFactory())
    ran = outbox.run_due(seconds=0.2)
    assert (ran.run, ran.ended_early) == (4, True)
    assert (
        sorted(ReceiverRun.objects.values_list("state", "attempts")) == [("done", 1)] * 4 + [("due", 0)] * 2
    )


def test_nothing_is_looked_for_without_time(listen: Listening) -> None:
    """An idle look would cost time of a request."""
    listen(order_changed, name="a")
    OrderFactory()
    with statements() as seen:
        assert flows.run_due(seconds=0.001).ended_early
    assert not seen


def test_batches_shrink_to_the_time_that_is_left(
    checkout_deliver: Deliver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten of 10 ms are expected to fit into 0.1 seconds. They take 0.08, so two more fit; and then none."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    clock = Clock(monkeypatch, applying)
    for _ in range(14):
        checkout_deliver(order=OrderDocumentFactory())

    def look(most: int, passed: Collection[int]) -> list[int]:
        clock.take(0.08)
        return heads(most, passed)

    applied = inbox.apply_due(look=look, seconds=0.1)
    assert (applied.applied, applied.ended_early) == (12, True)
    assert inbox.apply_due().applied == 2
