"""A receiver that is slow holds at most half of a worker's slots, however many of its runs are due (A.19)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from checkout_integration import flows
from checkout_integration.flows.outbox import claims as claims_module
from checkout_integration.flows.outbox.claims import Claim, Worker, claim, claims, ready
from checkout_integration.flows.outbox.running import fan_out
from checkout_integration.models import ReceiverRun
from checkout_integration.signals import checkout_paid, payment_success
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.flows.shop import Failing, Listening, statements
from tests.flows.threads import Gate, at_work, await_true

pytestmark = pytest.mark.django_db
SLOTS = 4
with_row_locks = [
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.django_db(transaction=True),
]


def marked(test: object) -> object:
    """A test that needs several processes at the same time: not on SQLite, where one receiver holds the only write lock."""
    for mark in with_row_locks:
        test = mark(test)
    return test


def sell(count: int) -> None:
    """Payments of so many sales, recorded; their receivers have not run."""
    for _ in range(count):
        OrderFactory(checkout=CheckoutFactory())


def found() -> list[ReceiverRun]:
    """What may run now."""
    return [run for window in ready() for run in window]


def run_all(worker: Worker) -> None:
    """Runs what is due, until nothing is."""
    while flows.run_due(worker=worker).run:
        pass


def run_on(worker: Worker, ended: Event) -> None:
    """What a slot does: runs what is due, and looks again."""
    while not ended.wait(0.05):
        run_all(worker)


@pytest.mark.parametrize(("slots", "share"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (16, 8)])
def test_share_is_half(slots: int, share: int) -> None:
    """Rounded down; a single slot can only be shared one after the other."""
    assert Worker(slots=slots).share == share


@marked
@pytest.mark.parametrize("processes", [1, 2])
def test_slow_receiver_holds_half_of_the_slots(listen: Listening, processes: int) -> None:
    """Twelve of its runs are due; half of each worker's slots wait in it, and the others run everything else."""
    gate = Gate()
    slow = listen(checkout_paid, gate, name="slow")
    quick = listen(payment_success, name="quick")
    sell(12)
    workers = [Worker(slots=SLOTS) for _ in range(processes)]
    half = SLOTS // 2 * processes
    each, ended = iter(workers * SLOTS), Event()
    with at_work(SLOTS * processes, lambda: run_on(next(each), ended)):
        try:
            gate.await_inside(half)
            sell(3)
            # All orders but those that wait in the slow receiver.
            await_true(lambda: len(quick) >= 15 - half)
            assert (gate.inside, len(slow)) == (half, 0)
        finally:
            gate.open()
            await_true(lambda: len(slow) == len(quick) == 15)
            ended.set()
    assert (gate.most, len(slow), len(quick)) == (half, 15, 15)
    assert not ReceiverRun.objects.exclude(slot=None).exists()


@marked
def test_claims_at_the_same_moment_keep_to_the_share(listen: Listening) -> None:
    """Eight claimants saw the same two free slots: the column is unique, so two win."""
    listen(checkout_paid)
    sell(8)
    fan_out()
    worker, each = Worker(slots=SLOTS), iter(found())
    outcomes: list[Claim] = []
    with at_work(8, lambda: outcomes.append(claim(next(each), worker))):
        pass
    won = outcomes.count(Claim.WON)
    assert 1 <= won <= worker.share
    held = ReceiverRun.objects.filter(state=ReceiverRun.State.RUNNING)
    assert held.exclude(slot=None).count() == held.count() == won


def look_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes windows of one run, or more than a hundred would have to be due."""
    window = claims_module._places
    monkeypatch.setattr(claims_module, "_places", lambda **place: window(**place)[:1])


def test_full_receiver_is_left_due(listen: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its runs are neither tried nor counted, and do not stand in the way of others behind them."""
    look_one_by_one(monkeypatch)
    listen(payment_success, name="full")
    listen(checkout_paid, name="other")
    sell(4)
    fan_out()
    worker = Worker(slots=4)
    first, second, *_ = [each for each in found() if each.receiver == "full"]
    assert (claim(first, worker), claim(second, worker)) == (Claim.WON, Claim.WON)
    assert [each.receiver for each in claims(worker)] == [
        "other",
        "other",
    ]  # two wait for their orders, in which "full" is running
    assert set(ReceiverRun.objects.filter(receiver="full").values_list("attempts", flat=True)) == {0, 1}


def test_full_receiver_is_asked_about_once(listen: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of its runs are due: a long queue of a slow receiver costs the other slots next to nothing."""
    look_one_by_one(monkeypatch)
    listen(checkout_paid)
    sell(20)
    fan_out()
    found = claims(Worker(slots=2))
    assert next(found).state == ReceiverRun.State.RUNNING
    with statements() as seen:
        assert list(found) == []
    assert len(seen) < 19


def test_another_worker_has_slots_of_its_own(listen: Listening) -> None:
    """The share is of each worker's slots, not of all there are."""
    listen(checkout_paid)
    sell(2)
    fan_out()
    for each in found():
        assert claim(each, Worker(slots=2)) is Claim.WON


@pytest.mark.parametrize("times", [0, 1, 10])
def test_slot_is_given_back(listen: Listening, times: int) -> None:
    """Whether the receiver did its work, failed or is failed."""
    listen(checkout_paid, Failing(times=times))
    sell(1)
    fan_out()
    ReceiverRun.objects.update(attempts=max(times - 1, 0))
    flows.run_due(worker=Worker(slots=2))
    run = ReceiverRun.objects.get()
    assert (run.slot, run.state) == (None, {0: "done", 1: "due", 10: "failed"}[times])


def test_slot_of_a_dead_process_is_taken_over_with_its_delivery(listen: Listening) -> None:
    """A child of a Celery worker died in the receiver's last free slot: after the lease the run runs in that slot."""
    heard = listen(checkout_paid)
    sell(2)
    fan_out()
    worker = Worker(slots=2)
    assert claim(found()[0], worker) is Claim.WON
    flows.run_due(worker=worker)
    assert heard == []
    past = datetime.now(UTC) - timedelta(seconds=1)
    ReceiverRun.objects.filter(state=ReceiverRun.State.RUNNING).update(due_at=past)
    run_all(worker)
    assert [each["attempt"] for each in heard] == [2, 1]


def test_without_a_worker_there_is_no_share(listen: Listening) -> None:
    """In the web process of a shop without workers nobody counts slots."""
    listen(checkout_paid)
    sell(3)
    fan_out()
    assert [claim(each) for each in found()] == [Claim.WON] * 3
