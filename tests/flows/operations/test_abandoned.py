"""``checkout_abandoned``: once for each checkout that stays unpaid, and never for one that was paid meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.checks import check_abandoned
from checkout_integration.flows.operations import abandoned
from checkout_integration.flows.retention import delete_test_data
from checkout_integration.models import Checkout, Notification, Order, OutboxMessage, ReceiverRun, SyncCursor
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_abandoned
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from tests.support.documents import block
from tests.support.flows.shop import Failing, Listening, make_due, statements

pytestmark = pytest.mark.django_db
HOURS = 24


@pytest.fixture(autouse=True)
def _switched_on(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remind after a day. The setting has been on for a month."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "ABANDONED_AFTER": HOURS,
        "ACCEPT_TEST_PAYMENTS": False,
    }
    monkeypatch.setattr(abandoned, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(abandoned.ThisProcess, "looks_at", 0.0)
    month_ago = datetime.now(UTC) - timedelta(days=30)
    SyncCursor.objects.create(project="default", lane=abandoned.LANE, watermark=month_ago)


def aged(checkout: Checkout, hours: float = HOURS + 1) -> Checkout:
    """Let a checkout have been open for so many hours."""
    Checkout.objects.filter(pk=checkout.pk).update(recorded_at=datetime.now(UTC) - timedelta(hours=hours))
    return checkout


def sent() -> int:
    """How many signals were written."""
    return OutboxMessage.objects.filter(signal=checkout_abandoned.name).count()


def test_it_is_sent_once_with_the_form(listen: Listening) -> None:
    """At the age of the setting, and not before; the next looks find it no more."""
    heard = listen(checkout_abandoned)
    checkout, _young = aged(CheckoutFactory()), aged(CheckoutFactory(), HOURS - 1)
    for _ in range(3):
        flows.run_due()
    (call,) = heard
    assert (call["checkout"], call["form_url"]) == (checkout, checkout.payment_form_url)
    assert (call["order"], call["live"], call["source"], call["attempt"]) == (None, True, "time", 1)
    assert "service.example" not in str(OutboxMessage.objects.get().arguments)


def test_it_names_the_latest_order(listen: Listening) -> None:
    """Which the service has shown, and nobody has paid."""
    heard, checkout = listen(checkout_abandoned), aged(CheckoutFactory())
    order = OrderFactory(checkout=checkout, status="created")
    flows.run_due()
    assert [call["order"] for call in heard] == [order]


def test_without_the_setting_nothing_is_sent(settings: Any) -> None:
    """Nor is any statement executed for it."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ABANDONED_AFTER": 0}
    aged(CheckoutFactory())
    with statements() as seen:
        flows.run_due()
    assert sent() == 0 and not any("synccursor" in each for each in seen)


@pytest.mark.parametrize("status", [each.value for each in Checkout.Status if each != "open"])
def test_only_an_open_checkout_is_abandoned(status: str) -> None:
    """One in another state has no form to pay in, or is paid, or is judged."""
    aged(CheckoutFactory(status=status))
    flows.run_due()
    assert sent() == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"payment_form_url": ""},
        {"erased_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"test": True},
        {"project": "other"},
    ],
    ids=["no form", "erased", "a test", "another project"],
)
def test_some_customers_are_left_alone(changes: dict[str, Any]) -> None:
    """Those without a form, erased ones, and tests in a shop that sells."""
    checkout = aged(CheckoutFactory())
    Checkout.objects.filter(pk=checkout.pk).update(**changes)
    flows.run_due()
    assert sent() == 0


def test_a_test_project_reminds_of_tests(settings: Any) -> None:
    """So that a shop can try it; what is real there is none of its mode."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ACCEPT_TEST_PAYMENTS": True}
    test, live = aged(CheckoutFactory()), aged(CheckoutFactory(test=False))
    flows.run_due()
    assert [message.checkout for message in OutboxMessage.objects.all()] == [test]
    assert not live.test and OutboxMessage.objects.get().arguments["live"] is False
    assert delete_test_data(staff=None)["signals"] == 1


def test_a_payment_under_way_is_no_abandonment(listen: Listening) -> None:
    """Neither a pending order, nor one that was not applied yet: it may be the payment."""
    heard = listen(checkout_abandoned)
    pending, stored, by_order = (aged(CheckoutFactory()) for _ in range(3))
    order = OrderFactory(checkout=pending, status="created")
    Order.objects.filter(pk=order.pk).update(status="pending")
    later = datetime.now(UTC) + timedelta(hours=1)
    for number, named in enumerate(
        [{"reference": stored.reference}, {"object_id": by_order.order_id, "reference": ""}]
    ):
        Notification.objects.create(
            **{
                "key": f"{number:032}",
                "project": "default",
                "state": "failed",
                "due_at": later,
                "tries": 1,
                **named,
            },
            received_at=later,
            last_received_at=later,
        )
    flows.run_due()
    assert heard == [] and sent() == 0


def test_one_that_is_paid_before_the_receiver_runs_is_not_reminded(
    listen: Listening, checkout_deliver: Deliver
) -> None:
    """Not even at the second attempt: its run is superseded."""
    failing = Failing(times=1)
    heard, checkout = listen(checkout_abandoned, failing), aged(CheckoutFactory())
    flows.run_due()
    assert (failing.tries, sent()) == (1, 1)
    checkout_deliver(order=order_document_for(checkout))
    make_due()
    flows.run_due()
    assert (failing.tries, heard) == (1, [])
    assert ReceiverRun.objects.get(message__signal="checkout_abandoned").state == "superseded"


def test_one_that_is_refunded_is_not_reminded_either(checkout_deliver: Deliver) -> None:
    """It was paid once."""
    checkout = aged(CheckoutFactory())
    checkout_deliver(order=order_document_for(checkout))
    checkout_deliver(order=order_document_for(checkout, status="refunded"), event="payment.refund")
    flows.run_due()
    assert sent() == 0


def test_nobody_is_reminded_of_what_was_left_before_it_was_switched_on() -> None:
    """The first look only says from when on checkouts count."""
    SyncCursor.objects.all().delete()
    aged(CheckoutFactory(), HOURS + 2)
    for _ in range(2):
        flows.run_due()
    assert sent() == 0
    aged(CheckoutFactory(), HOURS)
    flows.run_due()
    assert sent() == 1


def test_what_came_of_age_more_than_a_week_ago_is_left_alone() -> None:
    """No process has worked for ten days: the last seven of them count."""
    aged(CheckoutFactory(), HOURS + 8 * 24)
    recent = aged(CheckoutFactory(), HOURS + 6 * 24)
    flows.run_due()
    assert [message.checkout for message in OutboxMessage.objects.all()] == [recent]


def test_a_backlog_is_worked_off_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is lost at the end of a step, also where many were recorded at one moment."""
    monkeypatch.setattr(abandoned, "BATCH", 2)
    monkeypatch.setattr(abandoned, "LOOK_EVERY", 3600.0)
    for hours in (30, 29, 29, 29, 28, 27, 26):
        aged(CheckoutFactory(), HOURS + hours)
    at = datetime.now(UTC) - timedelta(hours=HOURS + 29)
    Checkout.objects.filter(recorded_at__lt=at + timedelta(minutes=1), recorded_at__gt=at).update(
        recorded_at=at
    )
    flows.run_due()
    assert sent() == 7


def test_a_process_that_dies_has_done_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watermark moves with the signals: the next process finds the same checkouts."""
    aged(CheckoutFactory())
    write = abandoned.outbox.write_messages

    def die(messages: Any) -> None:
        write(messages)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(abandoned.outbox, "write_messages", die)
        with pytest.raises(SystemExit):
            flows.run_due()
    assert sent() == 0
    flows.run_due()
    assert sent() == 1


def test_a_process_looks_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked each second."""
    monkeypatch.setattr(abandoned, "LOOK_EVERY", 60.0)
    flows.run_due()
    aged(CheckoutFactory())
    with statements() as seen:
        flows.run_due()
    assert sent() == 0 and not any("synccursor" in each for each in seen)


def test_the_reminder_of_the_page_is_sent(
    checkout_sandbox: Sandbox, settings: Any, mailoutbox: list[Any]
) -> None:
    """docs/receivers.md: to an account, with the form of the service; not to a guest, nor for what is owned by now."""
    page = ModuleType("shop.reminders")
    exec(block("docs/receivers.md", "# shop/reminders.py"), vars(page))
    exec(
        block("docs/receivers.md", "# settings.py, reminders"),
        {"CHECKOUT_INTEGRATION": dict(settings.CHECKOUT_INTEGRATION)},
    )
    ada = User.objects.create_user("ada", "ada@example.com")
    try:
        left, _guests = (
            aged(flows.create_checkout(amount=Decimal("9.99"), currency="USD", user=user))
            for user in (ada, None)
        )
        aged(CheckoutFactory(user=ada, products=["hat"]))
        CheckoutFactory(user=ada, products=["hat"], status="paid")
        flows.run_due()
        (mail,) = mailoutbox
        assert mail.to == ["ada@example.com"]
        assert left.payment_form_url in mail.body
    finally:
        checkout_abandoned.disconnect(page.remind)
    assert set(ReceiverRun.objects.values_list("state", flat=True)) == {"done"}


@pytest.mark.parametrize(("hours", "connected"), [(24, False), (0, True)])
def test_a_setting_without_a_receiver_is_warned_of(
    hours: float | None, connected: bool, listen: Listening, settings: Any
) -> None:
    """And a receiver without the setting."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ABANDONED_AFTER": hours}
    if connected:
        listen(checkout_abandoned)
    assert [message.id for message in check_abandoned(None)] == ["checkout_integration.W025"]
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "ABANDONED_AFTER": 24 if connected else 0,
    }
    assert check_abandoned(None) == []


def test_staff_see_it(admin_client: Any, listen: Listening) -> None:
    """In the timeline of the order."""
    listen(checkout_abandoned)
    checkout = aged(CheckoutFactory())
    order = OrderFactory(checkout=checkout, status="created")
    flows.run_due()
    page = admin_client.get(f"/admin/checkout_integration/order/{order.pk}/change/").content.decode()
    assert "left unpaid: the shop" in page
    assert Order.objects.get().status == "created"
