"""Applying stored notifications in batches: a failure affects one notification, and many processes may apply at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import DataError, connection, transaction

from checkout_integration import flows
from checkout_integration.flows.ledger import deciding
from checkout_integration.models import Incident, Notification, Order, OutboxMessage, Transition
from checkout_integration.policy.verdict import judge
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.concurrency import at_once
from tests.support.flows.shop import ShopHooks, notification
from tests.support.scale import FULL, times

pytestmark = pytest.mark.django_db(transaction=True)
SIZE = times(8, 500)
POISON = "poisonous"


@pytest.fixture(autouse=True)
def _left_to_a_worker(checkout_deliver: Deliver, settings: Any) -> None:
    """Leave applying to a worker."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}


def states() -> dict[str, int]:
    """How many notifications are in each state."""
    found = list(Notification.objects.values_list("state", flat=True))
    return {state: found.count(state) for state in sorted(set(found))}


def deliver_batch(deliver: Deliver, size: int, poisonous: int) -> None:
    """Store first successes, of which one is to be poisonous."""
    for number in range(size):
        order_id = POISON if number == poisonous else f"order-{number}"
        assert deliver(order=order_document_for(CheckoutFactory(), id=order_id)).status_code == 200


@contextmanager
def our_rule_fails() -> Iterator[None]:
    """A bug in the policy, planted: it has no seam."""

    def fail(state: Any, *arguments: Any, **named: Any) -> Any:
        if state.order.id == POISON:
            raise LookupError("canary-words")
        return judge(state, *arguments, **named)

    with pytest.MonkeyPatch.context() as planted:
        planted.setattr(deciding, "judge", fail)
        yield


@contextmanager
def the_database_refuses() -> Iterator[None]:
    """Each statement that inserts the order is refused: nothing that the service can send reaches a column that would."""

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("INSERT") and "integration_order" in sql and POISON in str(params):
            raise DataError("canary-words")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("fails", [our_rule_fails, the_database_refuses])
@pytest.mark.parametrize("place", sorted({0, 1, SIZE // 2, SIZE - 1}) if FULL else range(SIZE))
def test_a_poisonous_notification_fails_alone(
    checkout_deliver: Deliver,
    caplog: pytest.LogCaptureFixture,
    fails: Callable[[], AbstractContextManager[None]],
    place: int,
) -> None:
    """Wherever it is in a batch, the others are applied at once; mended, it is applied when it is due again."""
    deliver_batch(checkout_deliver, SIZE, place)
    with fails():
        summary = flows.inbox.apply_due(batch=SIZE)
    assert (summary.applied, summary.waiting) == (SIZE - 1, 1)
    assert states() == {"applied": SIZE - 1, "failed": 1}
    assert Order.objects.filter(verdict="verified").count() == SIZE - 1
    failed = Notification.objects.get(state="failed")
    assert (failed.object_id, failed.tries) == (POISON, 1)
    assert Incident.objects.get(kind="not_applied").notification == failed
    assert "canary-words" not in caplog.text + failed.failure
    assert not flows.inbox.apply_due().did_anything
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=1, seconds=1)):
        assert flows.inbox.apply_due().applied == 1
    assert Order.objects.get(order_id=POISON).verdict == "verified"
    assert Incident.objects.get(kind="not_applied").resolved_at is not None


def test_each_failure_is_tried_again_later(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """After 1, 5, 15 and 60 minutes, and then every hour; the same place opens no incident that staff have resolved."""

    def fail(order: object) -> Any:
        raise LookupError

    hooks.resolve = staticmethod(fail)
    checkout_deliver(order=OrderDocumentFactory())
    now = datetime.now(UTC) + timedelta(seconds=1)
    for tries, minutes in enumerate((1, 5, 15, 60, 60, 60), 1):
        with time_machine.travel(now, tick=False):
            flows.inbox.apply_due()
        row = Notification.objects.get()
        assert (row.tries, row.due_at) == (tries, now + timedelta(minutes=minutes))
        assert (Incident.objects.get().resolved_at is None) == (tries == 1)
        Incident.objects.update(resolved_at=now)
        now += timedelta(minutes=minutes)


def test_an_exact_repetition_changes_nothing_but_its_count(checkout_deliver: Deliver) -> None:
    """Stored, applied, failed or quarantined: the row of a body never changes, and nothing becomes due again."""
    document = notification(order=OrderDocumentFactory())
    checkout_deliver(document)
    for state in ("stored", "applied", "failed", "quarantined"):
        due_at = datetime.now(UTC) + timedelta(hours=1) if state == "failed" else None
        Notification.objects.update(state=state, due_at=due_at, tries=3, failure="a place")
        before = dict[str, Any](Notification.objects.values().get())
        checkout_deliver(document)
        after = dict[str, Any](Notification.objects.values().get())
        assert after.pop("receipts") == before.pop("receipts") + 1
        assert after.pop("last_received_at") > before.pop("last_received_at")
        assert after == before


def test_events_of_one_order_are_taken_in_their_order(checkout_deliver: Deliver) -> None:
    """Each is a step of its own: success, its later attempt and the refund, each with its signals."""
    checkout = CheckoutFactory()
    order = order_document_for(checkout)
    checkout_deliver(notification(order=order, id="message"))
    checkout_deliver(notification(order=order, id="message", delivery_try=1))
    checkout_deliver(notification("payment.refund", {**order, "status": "refunded", "refunded": True}))
    assert flows.inbox.apply_due().applied == 3
    signals = list(OutboxMessage.objects.order_by("pk").values_list("signal", flat=True))
    assert signals.index("checkout_paid") < signals.index("checkout_reversed")
    assert (signals.count("payment_success"), signals.count("payment_refund")) == (1, 1)


@pytest.mark.postgres
@pytest.mark.mariadb
def test_what_another_process_has_in_hand_is_not_overtaken(checkout_deliver: Deliver) -> None:
    """Later notifications of its order stay due and free, however full a batch is of them; other orders are applied."""
    order = order_document_for(CheckoutFactory())
    back = notification("payment.refund", {**order, "status": "refunded", "refunded": True})
    checkout_deliver(order=order)
    for number in range(5):
        checkout_deliver({**back, "delivery_try": number})
    checkout_deliver(order=order_document_for(CheckoutFactory(), id="another"))
    with transaction.atomic():
        assert (
            Notification.objects.select_for_update().filter(event="payment.success")[:1][0].object_id
            == order["id"]
        )
        applied = at_once([lambda: flows.inbox.apply_due(batch=2).applied] * 2)
        assert sum(applied) == 1
        assert list(Order.objects.values_list("order_id", flat=True)) == ["another"]
    assert flows.inbox.apply_due().applied == 6
    history = Transition.objects.filter(order__order_id=order["id"]).order_by("pk")
    assert list(history.values_list("to_status", flat=True)) == ["processed", "refunded"]


@pytest.mark.postgres
@pytest.mark.mariadb
def test_several_appliers_share_the_work(checkout_deliver: Deliver) -> None:
    """None waits for another's batch; each notification is applied by one of them."""
    deliver_batch(checkout_deliver, times(60, 2000), poisonous=0)
    applied = at_once([lambda: flows.inbox.apply_due(batch=5).applied] * 4)
    assert sum(applied) == times(60, 2000)
    assert states() == {"applied": times(60, 2000)}
    assert OutboxMessage.objects.filter(signal="checkout_paid").count() == times(60, 2000)


def test_hooks_are_called_before_the_claim(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """Outside any transaction, so that a slow one locks nothing."""
    locked = []

    def resolve(order: Any) -> Any:
        locked.append(Notification.objects.select_for_update(nowait=True).filter(state="stored").count())
        return checkout

    checkout = CheckoutFactory()
    hooks.resolve = staticmethod(resolve)
    checkout_deliver(order=order_document_for(checkout, id="another", metadata={}))
    assert flows.inbox.apply_due().applied == 1
    assert locked == [1]
    assert Order.objects.get().checkout == checkout


def test_a_project_that_is_gone_fails_and_says_so(checkout_deliver: Deliver) -> None:
    """Its notifications wait for it to come back."""
    checkout_deliver(order=OrderDocumentFactory())
    Notification.objects.update(project="gone")
    assert flows.inbox.apply_due().waiting == 1
    assert Notification.objects.get().failure == "its project is not in the settings"


def test_request_mode_applies_what_was_left_first(checkout_deliver: Deliver, settings: Any) -> None:
    """A process that died between accepting and applying loses nothing: the next request applies it, before its own."""
    checkout_deliver(order=OrderDocumentFactory(id="left behind"))
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "RUNNER": "request",
        "REQUEST_BUDGET": 0,
    }
    checkout_deliver(order=OrderDocumentFactory(id="own"))
    assert list(Order.objects.order_by("pk").values_list("order_id", flat=True)) == ["left behind", "own"]


def test_what_fails_after_the_commit_changes_nothing_in_the_answer(
    checkout_deliver: Deliver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database goes away between storing and applying: 200, and the notification stays due."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "request"}

    def away(*_: object, **__: object) -> Any:
        raise ConnectionError("canary-words")

    with monkeypatch.context() as cut:
        cut.setattr("checkout_integration.flows.inbox.applying.claim", away)
        assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert states() == {"stored": 1}
    flows.run_due()
    assert states() == {"applied": 1}
