"""The lock of its row distinguishes a run in progress from one that a dead process left."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from checkout_integration import flows
from checkout_integration.flows.outbox import claiming, running
from checkout_integration.flows.outbox.claiming import claim, give_back
from checkout_integration.models import Order, ReceiverRun
from checkout_integration.signals import checkout_paid, user_validated
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.shop import Listening, own, owned, statements
from tests.support.flows.threads import Gate, at_work

pytestmark = pytest.mark.django_db
with_row_locks = [
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.django_db(transaction=True),
]


def marked(test: Any) -> Any:
    """A test that needs several processes at the same time: not on SQLite, where one receiver has the only write lock."""
    for mark in with_row_locks:
        test = mark(test)
    return test


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let claimed runs without an attempt be taken over at once."""
    monkeypatch.setattr(claiming, "GRACE", timedelta(0))


def sell(count: int) -> None:
    """Payments of so many checkouts, recorded; their receivers have not run."""
    for _ in range(count):
        OrderFactory(checkout=CheckoutFactory())


@marked
def test_attempt_of_a_living_process_is_left_alone(listen: Listening) -> None:
    """However long it lasts: neither a locked run nor the turn of its order is taken over."""
    gate = Gate()

    def grant(order: Order, **arguments: Any) -> None:
        own(order)
        gate()

    heard = listen(checkout_paid, grant, name="a: long")
    listen(checkout_paid, name="b: of the same order")
    sell(1)
    with at_work(1, flows.run_due):
        try:
            gate.await_inside(1)
            assert [flows.run_due().run for _ in range(3)] == [0, 0, 0]
        finally:
            gate.open()
    assert set(ReceiverRun.objects.values_list("state", "attempts", "exclusive")) == {("done", 1, None)}
    assert (len(heard), owned()) == (1, 1)


@marked
def test_attempt_without_an_order_is_left_alone_too(
    listen: Listening, checkout_deliver: Deliver, settings: Any
) -> None:
    """A decision about a customer belongs to no order."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    gate = Gate()
    heard = listen(user_validated, gate)
    checkout_deliver(event="user.validate")
    with at_work(1, flows.run_due):
        try:
            gate.await_inside(1)
            assert flows.run_due().run == 0
        finally:
            gate.open()
    assert (len(heard), ReceiverRun.objects.get().attempts) == (1, 1)


@marked
def test_runs_behind_one_that_hangs_are_taken_over_uncounted(listen: Listening) -> None:
    """They were claimed with it and never begun: their process lives, since it has the lock of that run."""
    gate, met = Gate(), []

    def grant(order: Order, attempt: int, **arguments: Any) -> None:
        met.append(attempt)
        if len(met) == 1:
            gate()

    listen(checkout_paid, grant)
    sell(4)
    with at_work(1, flows.run_due):
        try:
            gate.await_inside(1)
            assert flows.run_due().run == 3
        finally:
            gate.open()
    assert met == [1] * 4
    assert set(ReceiverRun.objects.values_list("state", "attempts")) == {("done", 1)}


def test_what_a_dead_process_left_is_attempted_one_at_a_time(listen: Listening) -> None:
    """One of them may have killed it: alone, it takes no others along."""
    heard = listen(checkout_paid)
    sell(3)
    assert len(claim()) == 3
    assert [len(claim()), len(claim())] == [1, 1]
    flows.run_due()
    assert sorted(each["attempt"] for each in heard) == [2, 3, 3]


def test_grace_is_given(listen: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has just claimed runs is about to lock the first of them."""
    monkeypatch.setattr(claiming, "GRACE", timedelta(seconds=5))
    listen(checkout_paid)
    sell(1)
    claim()
    assert claim() == []


def test_claimed_runs_are_given_back_uncounted(listen: Listening) -> None:
    """As if they had not been claimed, at their place in the queue; not those that another process took over."""
    listen(checkout_paid)
    sell(3)
    place = ReceiverRun.objects.earliest("due_at").due_at
    first, second, third = claim()
    ReceiverRun.objects.filter(pk=third.pk).update(fence="of-another")
    give_back([first, second, third])
    rows = ReceiverRun.objects.order_by("pk").values_list("state", "attempts", "exclusive")
    assert list(rows) == [("due", 0, None), ("due", 0, None), ("running", 1, third.line)]
    assert ReceiverRun.objects.get(pk=first.pk).due_at == place


def test_what_is_left_of_a_batch_is_given_back(listen: Listening) -> None:
    """At the end of its time a process has no claims."""
    listen(checkout_paid)
    sell(3)
    assert flows.run_due(limit=1).run == 1
    assert sorted(ReceiverRun.objects.values_list("state", "attempts")) == [
        ("done", 1),
        ("due", 0),
        ("due", 0),
    ]
    assert flows.run_due(stopping=lambda: True).run == 1


def test_slow_batch_is_given_back(listen: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may be free: the runs behind the first one are released for it."""
    monkeypatch.setattr(running, "HOLD", timedelta(0))
    seen: list[int] = []

    def look(**arguments: Any) -> None:
        seen.append(ReceiverRun.objects.filter(state=ReceiverRun.State.RUNNING).count())

    listen(checkout_paid, look)
    sell(3)
    assert flows.run_due().run == 3
    assert seen == [3, 2, 1]


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_looking_for_work_waits_for_nobody(listen: Listening) -> None:
    """Rows locked by another process are skipped; a process that hangs may lock its own for ever."""
    listen(checkout_paid)
    sell(2)
    with transaction.atomic():
        assert list(ReceiverRun.objects.select_for_update())
        taken: list[int] = []
        with at_work(1, lambda: taken.append(flows.run_due().run)):
            pass
    assert taken == [0]


def test_statements_of_a_run_in_a_batch(listen: Listening) -> None:
    """Two for each run: its lock, and its mark; and a few for the batch.

    SQLite has its write lock beside these, and MariaDB looks for the next run by a statement of its own.
    """
    listen(checkout_paid)
    sell(20)
    with statements() as seen:
        assert flows.run_due().run == 20
    counted = [one for one in seen if not one.startswith(("BEGIN", "SAVEPOINT", "RELEASE", "COMMIT"))]
    each = 2 + (connection.vendor != "postgresql")
    assert len(counted) <= 20 * each + 12, counted
