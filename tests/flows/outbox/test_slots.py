"""A receiver that is slow has at most half of a worker's slots while others wait, however many of its runs are due."""

from __future__ import annotations

from datetime import timedelta
from threading import Event

import pytest

from checkout_integration import flows
from checkout_integration.flows.outbox import Worker, claiming
from checkout_integration.flows.outbox.claiming import claim
from checkout_integration.models import ReceiverRun
from checkout_integration.signals import checkout_paid, payment_success, user_validated
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.shop import Failing, Listening, statements
from tests.support.flows.threads import Gate, at_work, await_true

pytestmark = pytest.mark.django_db
SLOTS = 4
with_row_locks = [
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.django_db(transaction=True),
]


def marked(test: object) -> object:
    """A test that needs several processes at the same time: not on SQLite, where one receiver has the only write lock."""
    for mark in with_row_locks:
        test = mark(test)
    return test


def sell(count: int) -> None:
    """Payments of so many checkouts, recorded; their receivers have not run."""
    for _ in range(count):
        OrderFactory(checkout=CheckoutFactory())


def run_all(worker: Worker) -> None:
    """Run due receivers until none is left."""
    while flows.run_due(worker=worker).run:
        pass


def run_on(worker: Worker, ended: Event) -> None:
    """Be a slot: run due receivers, and look again."""
    while not ended.wait(0.05):
        run_all(worker)


@pytest.mark.parametrize(("slots", "share"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (16, 8)])
def test_share_is_half(slots: int, share: int) -> None:
    """Rounded down; a single slot can only be shared one after the other."""
    assert Worker(slots=slots).share == share


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs that wait behind a slow one be free for others soon."""
    monkeypatch.setattr(claiming, "GRACE", timedelta(seconds=0.2))


@marked
@pytest.mark.parametrize("processes", [1, 2])
def test_slow_receiver_leaves_slots_to_others(listen: Listening, processes: int) -> None:
    """Twelve of its runs are due. At least one slot of each worker runs everything else, including later runs."""
    gate = Gate()
    slow = listen(checkout_paid, gate, name="slow")
    quick = listen(payment_success, name="quick")
    sell(12)
    workers = [Worker(slots=SLOTS) for _ in range(processes)]
    each, ended = iter(workers * SLOTS), Event()
    most = (SLOTS - 1) * processes
    with at_work(SLOTS * processes, lambda: run_on(next(each), ended)):
        try:
            gate.await_inside(SLOTS // 2 * processes)
            sell(3)
            # All orders but those that wait in the slow receiver.
            await_true(lambda: len(quick) >= 15 - gate.inside)
            assert len(slow) == 0
        finally:
            gate.open()
            await_true(lambda: len(slow) == len(quick) == 15)
            ended.set()
    assert (gate.most <= most, len(slow), len(quick)) == (True, 15, 15)


@marked
def test_lone_receiver_may_use_every_slot(listen: Listening) -> None:
    """No other receiver is connected, so none has to wait."""
    gate = Gate()
    listen(checkout_paid, gate)
    sell(SLOTS)
    worker, ended = Worker(slots=SLOTS), Event()
    with at_work(SLOTS, lambda: run_on(worker, ended)):
        try:
            gate.await_inside(SLOTS)
        finally:
            gate.open()
            ended.set()


def slots_of(worker: Worker, receiver: str) -> int:
    """How many slots of the worker the receiver has."""
    running = ReceiverRun.objects.filter(state=ReceiverRun.State.RUNNING, receiver=receiver)
    return running.filter(fence__startswith=worker.name).values("fence").distinct().count()


@marked
def test_claims_at_the_same_moment_keep_to_the_share(listen: Listening) -> None:
    """Eight slots counted at the same moment: each looks again after its commit."""
    listen(checkout_paid, name="slow")
    listen(payment_success, name="other")
    sell(8)
    worker = Worker(slots=8)
    with at_work(8, lambda: claim(1, worker)):
        pass
    assert 1 <= slots_of(worker, "other") <= worker.share
    assert slots_of(worker, "slow") <= worker.share


def test_half_while_others_wait(listen: Listening) -> None:
    """Its other runs are neither tried nor counted, and do not stand in the way of others behind them."""
    listen(payment_success, name="full")
    listen(checkout_paid, name="other")
    sell(5)
    worker = Worker(slots=4)
    claimed = [claim(1, worker)[0].receiver for _ in range(3)]
    assert claimed == ["full", "full", "other"]
    attempts = ReceiverRun.objects.filter(receiver="full").values_list("attempts", flat=True)
    assert sorted(attempts) == [0, 0, 0, 1, 1]


def test_all_but_one_while_no_other_waits(listen: Listening) -> None:
    """Another receiver is connected, and its next run must not wait for the slow one."""
    listen(payment_success, name="slow")
    listen(user_validated, name="idle")
    sell(5)
    worker = Worker(slots=4)
    assert [len(claim(1, worker)) for _ in range(4)] == [1, 1, 1, 0]


def test_a_long_queue_of_a_full_receiver_is_read_once(listen: Listening) -> None:
    """However many of its runs are due: it costs the other slots next to nothing."""
    listen(payment_success, name="full")
    listen(user_validated, name="idle")
    sell(20)
    worker = Worker(slots=2)
    assert len(claim(1, worker)) == 1
    with statements() as seen:
        assert claim(1, worker) == []
    assert len(seen) <= 3


def test_another_worker_has_slots_of_its_own(listen: Listening) -> None:
    """The share is of each worker's slots, not of all there are."""
    listen(checkout_paid, name="slow")
    listen(user_validated, name="idle")
    sell(2)
    assert [len(claim(1, Worker(slots=2))) for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("times", [0, 1, 10])
def test_slot_is_given_back(listen: Listening, times: int) -> None:
    """Whether the receiver did its work, failed or is given up."""
    listen(checkout_paid, Failing(times=times))
    sell(1)
    ReceiverRun.objects.update(attempts=max(times - 1, 0))
    worker = Worker(slots=2)
    flows.run_due(worker=worker)
    run = ReceiverRun.objects.get()
    assert (slots_of(worker, run.receiver), run.state) == (0, {0: "done", 1: "due", 10: "failed"}[times])


def test_slot_of_a_dead_process_is_taken_over_with_its_run(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child of a Celery worker died in the receiver's last free slot."""
    monkeypatch.setattr(claiming, "GRACE", timedelta(0))
    heard = listen(checkout_paid, name="slow")
    listen(user_validated, name="idle")
    sell(2)
    worker = Worker(slots=2)
    assert len(claim(1, worker)) == 1
    run_all(worker)
    assert [each["attempt"] for each in heard] == [2, 1]


def test_without_a_worker_there_is_no_share(listen: Listening) -> None:
    """The web process of a shop without workers has no slots to share."""
    listen(checkout_paid, name="slow")
    listen(user_validated, name="idle")
    sell(3)
    assert [len(claim(1)) for _ in range(3)] == [1, 1, 1]
