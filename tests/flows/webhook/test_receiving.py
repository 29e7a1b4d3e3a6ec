"""Taking notifications in: duplicates, quarantine, our own rules failing, and a database that is away."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, connections
from django.test import Client

from checkout_integration import flows
from checkout_integration.models import Incident, Notification, Order, OutboxMessage, Transition
from checkout_integration.protocol import strict_json
from checkout_integration.signals import payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Listening, ShopHooks, notification

pytestmark = pytest.mark.django_db


@pytest.mark.spec("EVT-10", "WHK-01", "WHK-07")
def test_twenty_deliveries_are_one_effect(checkout_deliver: Deliver, listen: Listening) -> None:
    """The bytes and created_at change with each attempt; the event is the same."""
    heard = listen(payment_success)
    order, begun = OrderDocumentFactory(), datetime.now(UTC)
    for attempt in range(20):
        document = notification(order=order, at=begun + timedelta(minutes=10 * attempt))
        assert checkout_deliver(document, delivery_try=attempt).status_code == 200
    assert list(Notification.objects.values_list("receipts", "delivery_try", "state").order_by("pk")) == [
        (1, attempt, "applied") for attempt in range(20)
    ]
    assert Order.objects.get().status == "processed"
    assert Transition.objects.count() == 1
    assert len(heard) == 1
    assert sorted(OutboxMessage.objects.values_list("signal", flat=True)) == [
        "order_changed",
        "payment_review",
        "payment_success",
    ]


@pytest.mark.spec("EVT-03", "STA-03")
@pytest.mark.parametrize("status", ["created", "", "processed"])
def test_the_event_decides_and_not_the_status(checkout_deliver: Deliver, status: str) -> None:
    """payment.success can carry an order that says created."""
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout, status=status))
    assert (Order.objects.get().status, Order.objects.get().verdict) == ("processed", "verified")


@pytest.mark.spec("EVT-05", "STA-06")
def test_refund_before_its_success_ends_refunded(checkout_deliver: Deliver, listen: Listening) -> None:
    """The late success changes nothing, and announces nothing."""
    heard = listen(payment_success)
    checkout = CheckoutFactory()
    begun = datetime.now(UTC)
    refund = order_document_for(checkout, status="refunded")
    success = {**refund, "status": "processed", "refunded": False, "refunded_at": "", "refund": None}
    checkout_deliver(notification("payment.refund", refund, at=begun + timedelta(minutes=5)))
    checkout_deliver(notification("payment.success", success, at=begun))
    assert Order.objects.get().status == "refunded"
    assert heard == []
    checkout.refresh_from_db()
    assert checkout.status == "reversed"


@pytest.mark.spec("WHK-05")
def test_future_notification_is_quarantined(checkout_deliver: Deliver) -> None:
    """It would win every later comparison of times: it is stored with an incident, and not applied."""
    document = notification(at=datetime.now(UTC) + timedelta(days=3))
    assert checkout_deliver(document).status_code == 200
    assert Notification.objects.get().state == "quarantined"
    assert Incident.objects.get().kind == "refused_content"
    assert not Order.objects.exists()


def test_exact_repetition_stays_quarantined(checkout_deliver: Deliver) -> None:
    """It adds nothing; there is one incident for staff."""
    document = notification(at=datetime.now(UTC) + timedelta(days=3))
    for _ in range(2):
        assert checkout_deliver(document).status_code == 200
    assert (Notification.objects.get().state, Notification.objects.get().receipts) == ("quarantined", 2)
    assert Incident.objects.count() == 1
    assert not Order.objects.exists()


@pytest.mark.spec("WHK-01")
def test_another_id_is_another_notification(checkout_deliver: Deliver) -> None:
    """Of one event of one order there may be two, and staff see both; the attempts of each are one."""
    order, future = OrderDocumentFactory(), datetime.now(UTC) + timedelta(days=3)
    for attempt in range(2):
        for identifier in ("note-1", "note-2"):
            document = {**notification(order=order, at=future), "id": identifier}
            assert checkout_deliver(document, delivery_try=attempt).status_code == 200
    about = Incident.objects.values_list("kind", "notification__notification_id")
    assert sorted(about) == [("refused_content", "note-1"), ("refused_content", "note-2")]
    assert len(set(Notification.objects.values_list("notification_id", "key"))) == 2
    assert len(set(Notification.objects.values_list("key", flat=True))) == 2


def test_later_attempt_with_a_right_time_is_applied(checkout_deliver: Deliver) -> None:
    """It is another body, hence a row of its own, judged by itself; the incident of both is resolved."""
    document = notification(at=datetime.now(UTC) + timedelta(days=3))
    checkout_deliver(document)
    later = {**document, "created_at": datetime.now(UTC).isoformat(), "delivery_try": 1}
    assert checkout_deliver(later).status_code == 200
    first, stored = Notification.objects.order_by("pk")
    assert (first.state, first.receipts) == ("quarantined", 1)
    assert (stored.state, stored.failure, stored.receipts) == ("applied", "", 1)
    assert stored.body is not None
    assert strict_json.loads(bytes(stored.body)) == later
    assert Incident.objects.get(kind="refused_content").resolved_at is not None
    assert Order.objects.get().status == "processed"


def test_duplicate_from_the_future_does_not_undo_what_was_applied(checkout_deliver: Deliver) -> None:
    """A later attempt with a broken clock is not applied, and the first one stays applied."""
    order = OrderDocumentFactory()
    document = notification(order=order)
    checkout_deliver(document)
    future = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    changed = {**document, "created_at": future, "object": {**order, "description": "from the future"}}
    assert checkout_deliver(changed, delivery_try=1).status_code == 200
    states = list(Notification.objects.order_by("pk").values_list("state", "receipts"))
    assert states == [("applied", 1), ("quarantined", 1)]
    assert Order.objects.get().description == order["description"]


@pytest.mark.spec("WHK-05")
def test_old_notification_is_applied(checkout_deliver: Deliver) -> None:
    """Years old is late, not wrong."""
    checkout_deliver(notification(at=datetime(2019, 1, 1, tzinfo=UTC)))
    assert Order.objects.get().status == "processed"


def raising(error: Exception) -> Callable[[Any], Any]:
    """A hook that fails."""

    def fail(_: object) -> Any:
        raise error

    return fail


def test_our_own_failure_keeps_the_notification(
    checkout_deliver: Deliver, hooks: type[ShopHooks], caplog: pytest.LogCaptureFixture
) -> None:
    """200 all the same; the bytes are stored with the class of the failure, never with its message."""
    hooks.resolve = staticmethod(raising(KeyError("canary-word")))
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    stored = Notification.objects.get()
    assert stored.state == "failed"
    assert stored.failure.startswith("KeyError in ")
    assert [each.kind for each in Incident.objects.all()] == ["not_applied"]
    assert not Order.objects.exists()
    assert "canary-word" not in caplog.text + str(Incident.objects.values().get())


@pytest.mark.django_db(transaction=True)
def test_failed_notification_is_applied_after_the_mend(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """Staff apply it again, and the order is there."""
    hooks.resolve = staticmethod(raising(KeyError("x")))
    checkout_deliver(order=OrderDocumentFactory())
    hooks.resolve = staticmethod(lambda order: None)
    assert flows.operations.apply_notification(Notification.objects.get()).applied
    stored = Notification.objects.get()
    assert (stored.state, stored.failure) == ("applied", "")
    assert Order.objects.get().status == "processed"


@pytest.mark.django_db(transaction=True)
def test_failure_that_lasts_is_acknowledged_each_time(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """A duplicate of a notification that still cannot be applied is answered 200 too, with one incident for both."""
    hooks.resolve = staticmethod(raising(KeyError("x")))
    document = notification(order=OrderDocumentFactory())
    for _ in range(2):
        assert checkout_deliver(document).status_code == 200
    assert (Notification.objects.get().state, Notification.objects.get().receipts) == ("failed", 2)
    assert Incident.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_hook_that_breaks_a_constraint_is_our_own_failure(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """An IntegrityError that repeats itself is no race: 503 would mean 48 h of retries, and a paid order lost."""
    accounts = get_user_model().objects
    accounts.create_user("taken")
    hooks.resolve = staticmethod(lambda order: accounts.create_user("taken"))
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    stored = Notification.objects.get()
    assert stored.state == "failed"
    assert stored.failure.startswith("IntegrityError in ")


def test_hook_that_breaks_a_constraint_inside_a_test(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """The same in the transaction of a shop's own TestCase."""
    hooks.resolve = staticmethod(raising(IntegrityError("x")))
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert Notification.objects.get().state == "failed"


@pytest.mark.django_db(transaction=True)
def test_refused_row_is_not_taken_for_a_repetition(
    checkout_deliver: Deliver,
) -> None:
    """The database refuses the row: a notification that is not stored is not acknowledged."""

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "notification" in sql and sql.startswith("INSERT"):
            raise IntegrityError("x")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        assert checkout_deliver(order=OrderDocumentFactory()).status_code == 503
    assert not Notification.objects.exists()


@pytest.mark.spec("HTT-14")
@pytest.mark.django_db(transaction=True)
def test_database_that_is_away_is_unavailable(
    checkout_deliver: Deliver, database_away: None, caplog: pytest.LogCaptureFixture
) -> None:
    """503: the service sends it again. Nothing was promised."""
    answer = checkout_deliver(order=OrderDocumentFactory())
    assert (answer.status_code, b'"UNAVAILABLE"' in answer.content) == (503, True)
    assert "could not be stored" in caplog.text


@pytest.mark.postgres
def test_database_that_refuses_writes_is_unavailable(checkout_deliver: Deliver) -> None:
    """After a failover the old node stays as read-only: 503, never 200 and never a plain 500."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 503


@pytest.mark.spec("ORD-43")
@pytest.mark.parametrize("case", ["correct_payment", True, 1, {"x": 1}, ["a"]])
def test_testing_case_makes_no_order(checkout_deliver: Deliver, listen: Listening, case: object) -> None:
    """A test of the webhook is acknowledged and stored as such; no signal is sent."""
    heard = listen(payment_success)
    document = OrderDocumentFactory(testing_case=case, status="paid")
    assert checkout_deliver(order=document).status_code == 200
    assert Notification.objects.get().state == "test"
    assert (Order.objects.count(), OutboxMessage.objects.count(), heard) == (0, 0, [])


@pytest.mark.spec("EP5-01")
def test_plain_client_needs_no_login(settings: Any) -> None:
    """A shop that requires a login everywhere does not require it of the service."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert Client(enforce_csrf_checks=True).post("/checkout/webhook/").status_code == 401
