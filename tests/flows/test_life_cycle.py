"""Life-cycle signals: sent once for each failure, in the transaction that stores it, and never about themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows import outbox
from checkout_integration.flows.inbox import applying, settling
from checkout_integration.models import (
    Notification,
    OutboxMessage,
    ReceiverRun,
    SyncCursor,
    SyncRun,
)
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import (
    LIFE_CYCLE,
    DurableSignal,
    checkout_paid,
    notification_failed,
    receiver_given_up,
    sync_failed,
    user_validated,
)
from checkout_integration.signals.durable import USUAL
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import (
    Failing,
    Listening,
    ShopHooks,
    fault,
    make_due,
    notification,
    statements,
)

pytestmark = pytest.mark.django_db
CANARY = "canary-of-a-hook"


def give_up(times: int = 1) -> None:
    """Let each run that is due fail for the last time, so often."""
    for _ in range(times):
        ReceiverRun.objects.filter(state="due").update(attempts=USUAL.most_attempts - 1)
        make_due()
        flows.run_due()
    flows.run_due()  # the alerts


def fails(*arguments: Any) -> Any:
    """A hook with a fault."""
    raise ValueError(CANARY)


def apply_again() -> None:
    """Apply what failed, without its wait."""
    Notification.objects.filter(state="failed").update(due_at=timezone.now() - timedelta(seconds=1))
    flows.run_due()


def sent(signal: Any) -> int:
    """How many messages of a signal there are."""
    return OutboxMessage.objects.filter(signal=signal.name).count()


def test_a_notification_that_fails_is_announced_once(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its row, where it failed, and the order; not again while it fails in the same way."""
    monkeypatch.setattr(hooks, "resolve", staticmethod(fails))
    heard = listen(notification_failed)
    order = OrderDocumentFactory(status="processed")
    checkout_deliver(order=order)
    for _ in range(3):
        apply_again()
    (call,) = heard
    assert (call["state"], call["order_id"], call["project"]) == ("failed", order["id"], "default")
    assert call["notification"] == Notification.objects.get()
    assert "ValueError" in call["reason"] and CANARY not in str(call)
    assert call["source"] == "notification"


def test_a_repeated_failure_writes_no_message(
    checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be retried for weeks."""
    monkeypatch.setattr(hooks, "resolve", staticmethod(fails))
    checkout_deliver(order=OrderDocumentFactory(status="processed"))
    with statements() as seen:
        apply_again()
    assert [each for each in seen if "INSERT" in each] == []


def test_another_failure_is_announced_too(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same notification, at another place."""
    heard = listen(notification_failed)
    monkeypatch.setattr(hooks, "resolve", staticmethod(fails))
    checkout_deliver(order=OrderDocumentFactory(status="processed"))
    monkeypatch.setattr(hooks, "resolve", staticmethod(lambda order: order.nothing))
    apply_again()
    assert len({call["reason"] for call in heard}) == len(heard) == 2


def test_a_quarantined_notification_is_announced(checkout_deliver: Deliver, listen: Listening) -> None:
    """Whether it could be read or not; each attempt of the service is about the same one."""
    heard = listen(notification_failed)
    late, order = timezone.now() + timedelta(days=30), OrderDocumentFactory()
    for number in range(2):
        checkout_deliver(notification(order=order, at=late, id="one", delivery_try=number))
    checkout_deliver(b'{"event": "payment.success", "event": "twice"}')
    flows.run_due()
    assert [(call["state"], bool(call["order_id"])) for call in heard] == [
        ("quarantined", True),
        ("quarantined", False),
    ]


def test_a_batch_takes_one_statement(
    hooks: type[ShopHooks], checkout_deliver: Deliver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many notifications of it fail."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    monkeypatch.setattr(hooks, "resolve", staticmethod(fails))
    counts = []
    for size in (1, 6):
        for _ in range(size):
            checkout_deliver(order=OrderDocumentFactory(status="processed"))
        with statements() as seen:
            applying.apply_due()
        counts.append(sum("INSERT" in each and "outboxmessage" in each for each in seen))
    assert counts == [1, 1]
    assert sent(notification_failed) == 7


def test_what_was_rolled_back_is_not_announced(
    checkout_deliver: Deliver, hooks: type[ShopHooks], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is in the transaction that stores the failure."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    monkeypatch.setattr(hooks, "resolve", staticmethod(fails))
    checkout_deliver(order=OrderDocumentFactory(status="processed"))
    write = settling.settle

    def lose(*arguments: Any) -> None:
        write(*arguments)
        raise ConnectionError

    with monkeypatch.context() as patch:  # a process that dies before its commit
        patch.setattr(applying, "settle", lose)
        with pytest.raises(ConnectionError):
            applying.apply_due()
    assert (Notification.objects.get().state, sent(notification_failed)) == ("stored", 0)
    applying.apply_due()
    assert (Notification.objects.get().state, sent(notification_failed)) == ("failed", 1)


def test_a_receiver_that_is_given_up_is_announced(listen: Listening) -> None:
    """With its run, the signal and the order; before the last attempt nothing is sent."""
    listen(checkout_paid, Failing(), name="grant")
    heard = listen(receiver_given_up)
    order = OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert sent(receiver_given_up) == 0
    give_up()
    (call,) = heard
    assert call["run"] == ReceiverRun.objects.get(receiver="grant")
    assert (call["receiver"], call["failed_signal"], call["error"]) == (
        "grant",
        "checkout_paid",
        "ValueError",
    )
    assert (call["order_id"], call["project"], call["attempt"]) == (order.order_id, "default", 1)


def test_one_that_is_run_again_and_given_up_again_is_announced_again(listen: Listening) -> None:
    """By staff, who see that their correction did not help."""
    listen(checkout_paid, Failing(), name="grant")
    heard = listen(receiver_given_up)
    OrderFactory(checkout=CheckoutFactory())
    give_up()
    outbox.make_due_again(ReceiverRun.objects.filter(state="failed"))
    give_up()
    assert len({call["idempotency_key"] for call in heard}) == len(heard) == 2


def test_a_run_without_an_order_is_announced(checkout_deliver: Deliver, listen: Listening) -> None:
    """user_validated concerns a customer."""
    listen(user_validated, Failing())
    heard = listen(receiver_given_up)
    checkout_deliver(event="user.validate")
    give_up()
    assert [(call["order_id"], call["source"]) for call in heard] == [("", "notification")]


@pytest.mark.parametrize("signal", LIFE_CYCLE, ids=lambda signal: signal.name)
def test_an_alert_that_is_given_up_is_not_announced(listen: Listening, signal: Any) -> None:
    """It would go round for ever: its alert about itself fails in the same way."""
    listen(signal, Failing(), name="alert")
    heard = listen(receiver_given_up, name="another")
    message = outbox.life_cycle_message(signal, "default", "a", source="sync")
    outbox.write_messages([message])
    give_up()
    # Health is worse then, which is a message of its own where that is what the receiver waits for.
    assert ReceiverRun.objects.filter(receiver="alert").earliest("pk").state == "failed"
    assert sent(receiver_given_up) == (signal is receiver_given_up)
    assert len(heard) == (signal is receiver_given_up)


def test_an_alert_that_cannot_be_sent_holds_up_no_other(listen: Listening) -> None:
    """It waits for its next attempt alone: it has no line."""
    listen(checkout_paid, Failing(), name="grant")
    heard = listen(receiver_given_up, Failing(times=1))
    for _ in range(2):
        OrderFactory(checkout=CheckoutFactory())
    give_up()
    assert len(heard) == 1
    assert set(
        ReceiverRun.objects.filter(message__signal=receiver_given_up.name).values_list("line", "state")
    ) == {
        (None, "due"),
        (None, "done"),
    }


def test_each_pass_that_fails_is_announced(checkout_sandbox: Sandbox, listen: Listening) -> None:
    """Of an outage, one is the first."""
    heard = listen(sync_failed)
    flows.sync.sync_transactions()
    fault(checkout_sandbox, "api", "server_error", "transactions")
    runs = [flows.sync.sync_transactions() for _ in range(2)]
    flows.run_due()
    assert [call["sync_run"] for call in heard] == runs
    assert [call["first"] for call in heard] == [True, False]
    assert {(call["lane"], call["state"], call["project"]) for call in heard} == {
        ("recent", "failed", "default")
    }
    assert [call["failure"] for call in heard] == [run.failure for run in runs]


def test_a_complete_pass_is_not_announced(checkout_sandbox: Sandbox) -> None:
    """There is nothing to do."""
    assert flows.sync.sync_transactions().state == "complete"
    assert sent(sync_failed) == 0


def test_a_pass_whose_process_died_is_announced_by_the_next_one(
    checkout_sandbox: Sandbox, listen: Listening
) -> None:
    """Once, as abandoned."""
    heard = listen(sync_failed)
    left = flows.sync.begin_pass()
    SyncCursor.objects.update(busy_until=timezone.now() - timedelta(seconds=1))
    for _ in range(2):
        flows.sync.sync_transactions()
    flows.run_due()
    assert [(call["sync_run"].pk, call["state"], call["first"]) for call in heard] == [
        (left.pk, "abandoned", True)
    ]


def test_ending_a_pass_twice_announces_it_once(checkout_sandbox: Sandbox) -> None:
    """Several workers read its windows, and each that finds none left ends it."""
    fault(checkout_sandbox, "api", "server_error", "transactions")
    run = flows.sync.sync_transactions()
    flows.sync.end_pass(run)
    assert (SyncRun.objects.get().state, sent(sync_failed)) == ("failed", 1)


@pytest.mark.parametrize(
    ("name", "remove"),
    [
        ("notification", lambda: Notification.objects.all().delete()),
        ("run", lambda: OutboxMessage.objects.exclude(signal=receiver_given_up.name).delete()),
        ("sync_run", lambda: SyncRun.objects.all().delete()),
    ],
)
def test_an_alert_whose_row_was_removed_is_sent_all_the_same(
    listen: Listening, name: str, remove: Callable[[], object]
) -> None:
    """Its words and ids are in the message."""
    signals: dict[str, DurableSignal[Any]] = {
        "notification": notification_failed,
        "run": receiver_given_up,
        "sync_run": sync_failed,
    }
    signal = signals[name]
    heard = listen(signal)
    remove()
    message = outbox.life_cycle_message(signal, "default", name, source="sync", **{name: 10**6})
    outbox.write_messages([message])
    flows.run_due()
    assert [call[name] for call in heard] == [None]


def test_a_shop_connects_a_receiver_later(listen: Listening) -> None:
    """And replays what it has missed, as for any signal."""
    outbox.write_messages(
        [outbox.life_cycle_message(sync_failed, "default", 1, source="sync", lane="recent")]
    )
    flows.run_due()
    assert OutboxMessage.objects.get().state == "no_receivers"
    heard = listen(sync_failed, name="late")
    assert outbox.replay_events(outbox.ReplaySelection(receiver="late")) == 1
    flows.run_due()
    assert [call["lane"] for call in heard] == ["recent"]


def test_nothing_of_a_customer_is_in_a_message(
    checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids and words only, whatever failed; the id in a user.validate is the customer's."""
    monkeypatch.setattr(hooks, "resolve", staticmethod(fails))
    document = order_document_for(CheckoutFactory(), status="processed", user={"email": CANARY})
    checkout_deliver(order={**document, "metadata": {}, "id": "o1"})
    checkout_deliver(notification("user.something", {"id": CANARY}, at=timezone.now() + timedelta(days=30)))
    flows.run_due()
    assert sent(notification_failed) == 2
    assert CANARY not in str(list(OutboxMessage.objects.values_list("arguments", flat=True)))
