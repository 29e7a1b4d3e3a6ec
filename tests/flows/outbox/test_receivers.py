"""Receivers are remembered: processes of several releases make the same runs, and each runs those that it knows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.outbox import receivers
from checkout_integration.models import Checkout, Order, OutboxMessage, Receiver, ReceiverRun
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.releases import Process, Shop, unfinished
from tests.support.flows.shop import notification

pytestmark = pytest.mark.django_db
PAID, REVERSED = "checkout_paid", "checkout_reversed"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Shop]:
    """A shop of several processes; a webhook only stores."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    yield Shop(monkeypatch)
    receivers.this_process = receivers.ThisProcess()


@pytest.fixture
def pay() -> Any:
    """Let a web process accept a payment."""

    def accept(web: Process, checkout: Checkout | None = None) -> Checkout:
        sold = checkout or CheckoutFactory()
        with web.works():
            assert Deliver()(order=order_document_for(sold)).status_code == 200
        return sold

    return accept


def receivers_by_name() -> dict[str, Receiver]:
    """The rows of the table."""
    return {row.name: row for row in Receiver.objects.all()}


def test_a_stale_worker_leaves_the_new_receiver_to_others(shop: Shop, pay: Any) -> None:
    """Only the web process was restarted: its receiver gets its run from the worker, and whoever knows it runs it."""
    stale = shop.process({"deliver": PAID})
    stale.run()
    web = shop.process({"deliver": PAID, "letter": PAID}, runs=False)
    pay(web)
    stale.run()
    assert [name for name, _ in shop.done] == ["deliver"]
    assert unfinished() == {"letter": "due"}
    assert ReceiverRun.objects.get(receiver="letter").attempts == 0
    shop.process({"deliver": PAID, "letter": PAID}).run()
    assert [name for name, _ in shop.done] == ["deliver", "letter"]
    assert unfinished() == {}


def test_a_worker_without_the_shops_app_loses_no_goods(shop: Shop, pay: Any) -> None:
    """It has no receiver at all: the run is there, and waits for a process that knows it."""
    web = shop.process({"deliver": PAID}, runs=False)
    pay(web)
    shop.process().run()
    assert OutboxMessage.objects.get(signal=PAID).state == "sent"
    assert (shop.done, unfinished()) == ([], {"deliver": "due"})
    shop.process({"deliver": PAID}).run()
    assert [name for name, _ in shop.done] == ["deliver"]


def test_disconnected_while_it_is_applied(shop: Shop, pay: Any) -> None:
    """The smallest input: stored by a process that knows the receiver, applied by one that does not, connected again."""
    knows, does_not = shop.process({"deliver": PAID}), shop.process()
    pay(knows)
    does_not.run()
    knows.run()
    assert [name for name, _ in shop.done] == ["deliver"]


def test_a_new_receiver_is_seen_at_once(shop: Shop, pay: Any, django_assert_num_queries: Any) -> None:
    """A process that has just read the table sees by a number in another statement that it has changed."""
    old = shop.process({"deliver": PAID})
    old.record()
    web = shop.process({"deliver": PAID, "letter": PAID}, runs=False)
    pay(web)
    old.run()
    assert unfinished() == {"letter": "due"}


def test_a_process_records_once_a_minute(shop: Shop, django_assert_num_queries: Any) -> None:
    """In between it takes no statement."""
    process = shop.process({"deliver": PAID})
    process.record()
    with process.works(), django_assert_num_queries(0):
        receivers.record_own(runs=True)
        receivers.record_own()
    row = Receiver.objects.get()
    assert (row.signal, row.name, row.names, row.last_ready) == (PAID, "deliver", ["deliver"], row.last_seen)
    shop.later(minutes=2)
    process.record()
    after = Receiver.objects.get()
    assert after.last_seen > Receiver.objects.get().first_seen
    assert (after.first_seen, after.changes) == (Receiver.objects.get().first_seen, row.changes)


def test_a_receiver_is_paused_although_its_row_is_gone(shop: Shop) -> None:
    """A shop's test flushes the tables: the process has just recorded it, and would do so again in a minute."""
    process = shop.process({"deliver": PAID})
    process.record()
    Receiver.objects.all().delete()
    with process.works():
        assert receivers.pause_receiver("deliver", reason="a test") == 0
    assert Receiver.objects.get().paused_at


def test_what_another_process_has_just_written_is_not_written_again(
    shop: Shop, django_assert_num_queries: Any
) -> None:
    """Fifty processes do not write the same rows fifty times a minute."""
    shop.process({"deliver": PAID}).record()
    second = shop.process({"deliver": PAID})
    with (
        second.works(),
        django_assert_num_queries(3),
    ):  # the table, and runs to be put back: unknown ones, and paused ones
        receivers.record_own(runs=True)


def test_a_process_that_runs_no_receivers_is_not_ready(shop: Shop) -> None:
    """A web process beside workers has the receiver, and will not run it."""
    shop.process({"deliver": PAID}, runs=False).record()
    assert Receiver.objects.get().last_ready is None


@pytest.mark.parametrize("order", ["old first", "new first"])
@pytest.mark.parametrize("roll", ["out", "back"])
@pytest.mark.parametrize("how", ["formerly", "dispatch_uid"])
def test_a_declared_rename_is_one_receiver(shop: Shop, pay: Any, how: str, roll: str, order: str) -> None:
    """Old and new processes side by side, whoever comes first, out and back: one run a message, run once."""
    old = shop.process({"shop.deliver": PAID})
    name = "shop.grant" if how == "formerly" else "shop.deliver"
    formerly = "shop.deliver" if how == "formerly" else ()
    new = shop.process({name: PAID}, options={name: {"formerly": formerly}})
    first, second = (old, new) if order == "old first" else (new, old)
    first.record()
    second.record()
    last = new if roll == "out" else old
    for process in (old, new, old, new, last, last):
        sold = pay(process)
        process.run()
        assert Order.objects.get(checkout=sold).order_id in {order for _, order in shop.done}
    assert ReceiverRun.objects.count() == 6
    assert set(ReceiverRun.objects.values_list("receiver", "state")) == {("shop.deliver", "done")}
    assert len(shop.done) == 6
    assert list(receivers_by_name()) == ["shop.deliver"]


def test_a_receiver_renamed_twice_is_one(shop: Shop, pay: Any) -> None:
    """The table remembers the first name, so the second rename need not say it."""
    first = shop.process({"one": PAID})
    second = shop.process({"two": PAID}, options={"two": {"formerly": "one"}})
    third = shop.process({"three": PAID}, options={"three": {"formerly": "two"}})
    for process in (first, second, third, first, second, third):
        pay(process)
        process.run()
    assert set(ReceiverRun.objects.values_list("receiver", "state")) == {("one", "done")}
    assert len(shop.done) == 6
    assert receivers_by_name()["one"].names == ["one", "three", "two"]


def test_a_rename_that_is_declared_later_runs_nothing_twice(shop: Shop, pay: Any) -> None:
    """Both names had runs of a message, and one of them ran: the other one ends."""
    old, undeclared = shop.process({"one": PAID}), shop.process({"two": PAID})
    old.record()
    undeclared.record()
    pay(undeclared)
    undeclared.run()
    assert (len(shop.done), unfinished()) == (1, {"one": "due"})
    declared = shop.process({"two": PAID}, options={"two": {"formerly": "one"}})
    declared.run()
    assert len(shop.done) == 1
    assert unfinished() == {"one": "superseded"}
    pay(declared)
    for process in (old, undeclared, declared):
        process.run()
    assert len(shop.done) == 2
    assert list(receivers_by_name()) == ["one"]


def test_an_absent_receiver_is_taken_out_of_the_queue_and_put_back(shop: Shop, pay: Any) -> None:
    """After five minutes in which others ran receivers; a process that knows it makes its runs due."""
    both, one = shop.process({"deliver": PAID, "letter": PAID}), shop.process({"deliver": PAID})
    both.record()
    pay(one)
    one.run()
    assert unfinished() == {"letter": "due"}
    shop.later(minutes=6)
    one.record()
    assert unfinished() == {"letter": "unknown"}
    both.record()
    assert unfinished() == {"letter": "due"}
    both.run()
    assert [name for name, _ in shop.done] == ["deliver", "letter"]


def test_nothing_is_taken_out_while_nobody_runs_receivers(shop: Shop, pay: Any) -> None:
    """The worker is away: its runs stay due, and it is the worker that is missing, not the receiver."""
    worker, web = shop.process({"deliver": PAID}), shop.process({"deliver": PAID}, runs=False)
    worker.record()
    pay(web)
    with worker.works():
        flows.inbox.apply_due()
    shop.later(minutes=6)
    web.record()
    assert unfinished() == {"deliver": "due"}


def test_events_of_a_receiver_that_was_away_keep_their_order(shop: Shop, pay: Any) -> None:
    """Its first event was taken out of the queue, and a second one came: whoever knows it begins with the first."""
    names = {"deliver": PAID, "log": "order_changed"}
    both, one = shop.process(names), shop.process({"deliver": PAID})
    both.record()
    sold = pay(one)
    one.run()
    shop.later(minutes=6)
    one.record()
    with one.works():
        document = order_document_for(sold, status="refunded")
        assert Deliver()(notification("payment.refund", document)).status_code == 200
    one.run()
    log = ReceiverRun.objects.filter(receiver="log").order_by("message")
    assert list(log.values_list("state", flat=True)) == ["unknown", "due"]
    both.run()
    assert [name for name, _ in shop.done] == ["deliver", "log", "log"]
    assert list(log.order_by("finished_at")) == list(log)


def test_a_name_that_is_known_for_another_signal_only(shop: Shop, pay: Any) -> None:
    """The new release connects the same function to one more signal: the old one leaves that run to the new one."""
    old = shop.process({"deliver": PAID})
    new = shop.process({"deliver": PAID})
    receivers_of_new = Shop.process(shop, {"deliver": "payment_success"})
    new.record()
    receivers_of_new.record()
    pay(old)
    old.run()
    states = dict(ReceiverRun.objects.values_list("message__signal", "state"))
    assert states == {"payment_success": "unknown", PAID: "done"}
    assert ReceiverRun.objects.get(state="unknown").attempts == 0
    receivers_of_new.record()
    receivers_of_new.run()
    assert unfinished() == {}
    assert len(shop.done) == 2


def test_a_receiver_is_retired_after_a_day_in_which_others_worked(shop: Shop, pay: Any) -> None:
    """No new runs; its runs of checkout_paid stay; both end when it is seen again."""
    names = {"letter": PAID, "log": "order_changed"}
    both, one = shop.process({"deliver": PAID, **names}), shop.process({"deliver": PAID})
    both.record()
    pay(one)
    one.run()
    for _ in range(2):
        shop.later(hours=13)
        one.record()
    assert receivers_by_name()["letter"].retired_at is None
    shop.later(hours=13)
    one.record()
    assert receivers_by_name()["letter"].retired_at is not None
    assert unfinished() == {"letter": "unknown", "log": "superseded"}
    pay(one)
    one.run()
    assert ReceiverRun.objects.filter(receiver="letter").count() == 1
    both.run()
    assert receivers_by_name()["letter"].retired_at is None
    assert "letter" not in unfinished()
    pay(one)
    one.run()
    both.run()
    assert [name for name, _ in shop.done].count("letter") == 2


def test_a_night_in_which_nothing_worked_retires_nothing(shop: Shop, pay: Any) -> None:
    """All was stopped for three days: the receiver was not missing, since nobody else worked either."""
    both, one = shop.process({"deliver": PAID, "letter": PAID}), shop.process({"deliver": PAID})
    both.record()
    shop.later(days=3)
    pay(one)
    one.run()
    one.record()
    assert receivers_by_name()["letter"].retired_at is None
    assert ReceiverRun.objects.filter(receiver="letter").count() == 1


def test_staff_retire_a_receiver(shop: Shop, pay: Any) -> None:
    """Its runs end, it gets no new ones, and it comes back when a process has it again."""
    both, one = shop.process({"deliver": PAID, "letter": PAID}), shop.process({"deliver": PAID})
    both.record()
    pay(one)
    one.run()
    assert receivers.retire_receiver("letter") is None, "a process with it has just worked"
    shop.later(minutes=6)
    with both.works():
        assert receivers.retire_receiver("letter") is None, "it is connected here"
    assert receivers.retire_receiver("nobody") is None
    assert receivers.retire_receiver("letter") == 1
    assert unfinished() == {"letter": "superseded"}
    pay(one)
    one.run()
    assert ReceiverRun.objects.filter(receiver="letter").count() == 1
    both.record()
    pay(one)
    one.run()
    assert unfinished() == {"letter": "due"} or ReceiverRun.objects.filter(receiver="letter").count() == 2


def test_a_reversal_undoes_what_another_process_granted(shop: Shop, pay: Any) -> None:
    """A process that knows one pair only asks nobody to look at the goods of the other pair."""
    first = shop.process({"gems": PAID, "gems_back": REVERSED}, options={"gems_back": {"undoes": "gems"}})
    second = shop.process({"key": PAID, "key_back": REVERSED}, options={"key_back": {"undoes": "key"}})
    first.record()
    second.record()
    sold = pay(first)
    second.run()
    with first.works():
        document = order_document_for(sold, status="refunded")
        assert Deliver()(notification("payment.refund", document)).status_code == 200
        flows.inbox.apply_due()
    first.run()
    second.run()
    ends = dict(ReceiverRun.objects.values_list("receiver", "state"))
    assert ends == {"key": "done", "key_back": "done", "gems": "superseded", "gems_back": "superseded"}
    assert not OutboxMessage.objects.filter(signal="payment_review").exists()


def test_a_renamed_receiver_is_undone_by_its_new_name(shop: Shop, pay: Any) -> None:
    """Granted under the old name; the new release undoes the new one."""
    old = shop.process({"one": PAID, "back": REVERSED}, options={"back": {"undoes": "one"}})
    new = shop.process(
        {"two": PAID, "back": REVERSED}, options={"two": {"formerly": "one"}, "back": {"undoes": "two"}}
    )
    sold = pay(old)
    old.run()
    with new.works():
        document = order_document_for(sold, status="refunded")
        assert Deliver()(notification("payment.refund", document)).status_code == 200
    new.run()
    assert [name for name, _ in shop.done] == ["one", "back"]


def test_a_web_process_does_not_claim_what_it_cannot_run(shop: Shop, pay: Any, settings: Any) -> None:
    """With RUNNER "request": here the first one by name is of another process."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "request"}
    shop.process({"absent": PAID}).record()
    pay(shop.process({"deliver": PAID}))
    assert [name for name, _ in shop.done] == ["deliver"]
    run = ReceiverRun.objects.get(receiver="absent")
    assert (run.state, run.attempts) == ("due", 0)


def test_the_run_of_a_dead_process_is_left_to_those_who_know_it(shop: Shop, pay: Any) -> None:
    """It was killed in the receiver. Another process frees its order, and counts the attempt; others do the next one."""
    knows, other = shop.process({"letter": PAID}), shop.process({"deliver": "order_changed"})
    knows.record()
    other.record()
    pay(knows)
    with other.works():
        flows.inbox.apply_due()
    run = ReceiverRun.objects.get(receiver="letter")
    begun = {"state": "running", "attempts": 1, "fence": "dead", "exclusive": run.line}
    ReceiverRun.objects.filter(pk=run.pk).update(**begun, due_at=timezone.now() - timedelta(minutes=1))
    other.run()
    run.refresh_from_db()
    assert (run.state, run.attempts, run.exclusive) == ("due", 1, None)
    assert [name for name, _ in shop.done] == ["deliver"]
    knows.run()
    assert [name for name, _ in shop.done] == ["deliver", "letter"]


def test_the_command_retires_a_receiver(shop: Shop, pay: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """With its runs; one that works is refused."""
    both, one = shop.process({"deliver": PAID, "letter": PAID}), shop.process({"deliver": PAID})
    both.record()
    pay(one)
    one.run()
    with pytest.raises(CommandError, match="cannot be retired"):
        call_command("checkout_replay", receiver="letter", retire=True)
    shop.later(minutes=6)
    call_command("checkout_replay", receiver="letter", retire=True)
    assert "letter is retired; 1 runs ended" in capsys.readouterr().out
    assert unfinished() == {"letter": "superseded"}


def test_a_replay_knows_all_names_of_a_receiver(shop: Shop, pay: Any) -> None:
    """What it ran under its old name is not run again under the new one; a missed event is, by either name."""
    old = shop.process({"one": PAID})
    pay(old)
    old.run()
    none = shop.process()
    Receiver.objects.update(retired_at=timezone.now(), changes=F("changes") + 1)
    pay(none)
    none.run()
    new = shop.process({"two": PAID}, options={"two": {"formerly": "one"}})
    for name in ("two", "one"):
        with new.works():
            chosen = flows.outbox.ReplaySelection(receiver=name)
            assert flows.outbox.replay_events(chosen) == (1 if name == "two" else 0)
    new.run()
    assert [name for name, _ in shop.done] == ["one", "two"]


def test_a_web_process_records_itself_before_it_stores(
    shop: Shop, pay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that applies the notification at once makes runs for the receivers of that process."""
    recorded: list[list[str]] = []
    monkeypatch.setattr(flows.inbox, "store", lambda row: recorded.append(list(receivers_by_name())))
    pay(shop.process({"deliver": PAID}, runs=False))
    assert recorded == [["deliver"]]
