"""A failing receiver can be debugged: log, history and hook name the shop's file and line, and nothing of the customer."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from checkout_integration import flows
from checkout_integration.hooks import FailedRun, Hooks
from checkout_integration.models import FailedAttempt, Order, ReceiverRun
from checkout_integration.signals import checkout_paid, user_validated
from checkout_integration.signals.durable import USUAL
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.documents import block
from tests.support.flows.shop import Failing, Listening, make_due
from tests.support.tables import columns_with

pytestmark = pytest.mark.django_db
CANARY = "canary-of-a-receiver"


class Tracker(Hooks):
    """A shop's hooks that report to an error tracker, which may be down."""

    reported: list[tuple[FailedRun, BaseException]]
    down = False

    def receiver_failed(self, run: FailedRun, error: BaseException) -> None:
        """Remember it, or fail."""
        self.reported.append((run, error))
        if self.down:
            raise ConnectionError(CANARY)


@pytest.fixture
def tracker(settings: Any, monkeypatch: pytest.MonkeyPatch) -> type[Tracker]:
    """Give the class that HOOKS names."""
    monkeypatch.setattr(Tracker, "reported", [], raising=False)
    monkeypatch.setattr(Tracker, "down", False)
    hooks = f"{Tracker.__module__}.{Tracker.__qualname__}"
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "HOOKS": hooks}
    return Tracker


def grant(order: Order, **arguments: Any) -> None:
    """A shop's receiver with a fault that shows itself inside Django."""
    Group.objects.get(name=f"{CANARY} {order.order_id}")


def fail_once(listen: Listening) -> ReceiverRun:
    """A payment with a receiver that fails at its first attempt."""
    listen(checkout_paid, grant)
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    return ReceiverRun.objects.get()


def test_the_log_names_the_shops_file_and_line(listen: Listening, caplog: pytest.LogCaptureFixture) -> None:
    """At once, not the line of Django's that raised."""
    fail_once(listen)
    (line,) = [
        line for line in caplog.text.splitlines() if "Receiver test.checkout_paid failed at attempt 1" in line
    ]
    assert f"django.contrib.auth.models.Group.DoesNotExist at {__file__}:" in line
    assert line.endswith("in grant")
    assert "django/db/models/query.py:" in caplog.text


def test_no_message_and_no_value_is_shown(
    listen: Listening, caplog: pytest.LogCaptureFixture, tracker: type[Tracker]
) -> None:
    """Not in the log, not in the tables, not in the texts for the hook."""
    tracker.down = True
    listen(checkout_paid, Failing(), name="unsound")
    listen(checkout_paid, grant)
    order_id = OrderFactory(checkout=CheckoutFactory()).order_id
    flows.run_due()
    assert FailedAttempt.objects.count() == len(tracker.reported) == 2
    assert CANARY not in caplog.text and order_id not in caplog.text
    assert columns_with([CANARY]) == set()
    assert all(CANARY not in run.traceback for run, _ in tracker.reported)


def test_messages_are_logged_where_the_setting_allows_it(
    listen: Listening, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    """Then only in the log."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LOG_EXCEPTION_MESSAGES": True}
    listen(checkout_paid, Failing())
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert CANARY in caplog.text
    assert columns_with([CANARY]) == set()


def test_each_attempt_is_in_the_history(listen: Listening) -> None:
    """With its number, its time, the class and the lines; the one that succeeded is not."""
    listen(checkout_paid, Failing(times=2))
    OrderFactory(checkout=CheckoutFactory())
    for _ in range(3):
        flows.run_due()
        make_due()
    run = ReceiverRun.objects.get()
    assert run.state == "done"
    first, second = run.failed_attempts.order_by("pk")
    assert (first.attempt, second.attempt, second.error) == (1, 2, "ValueError")
    assert "in Failing.__call__" in second.traceback.splitlines()[0]
    assert first.failed_at <= second.failed_at


@pytest.mark.django_db(transaction=True)
def test_what_fails_after_the_commit_is_reported_and_is_no_failed_attempt(
    listen: Listening, tracker: type[Tracker]
) -> None:
    """A callback of ``on_commit``: the run is done, and its page says nothing else."""
    listen(checkout_paid, lambda **arguments: transaction.on_commit(Failing()))
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert ReceiverRun.objects.get().state == "done"
    assert (len(tracker.reported), FailedAttempt.objects.count()) == (1, 0)


def test_the_hook_is_given_the_run_and_the_exception(listen: Listening, tracker: type[Tracker]) -> None:
    """Enough to find the order again, and the exception itself for the tracker."""
    run = fail_once(listen)
    ((failed, error),) = tracker.reported
    assert run.order is not None
    assert (failed.receiver, failed.signal, failed.project) == (
        "test.checkout_paid",
        "checkout_paid",
        "default",
    )
    assert (failed.order_id, failed.attempt, failed.given_up) == (run.order.order_id, 1, False)
    assert isinstance(error, Group.DoesNotExist) and error.__traceback__ is not None
    assert failed.traceback == FailedAttempt.objects.get().traceback


def test_the_hook_is_called_when_the_receiver_is_given_up(listen: Listening, tracker: type[Tracker]) -> None:
    """The tenth failure alone is reported."""
    listen(checkout_paid, Failing())
    OrderFactory(checkout=CheckoutFactory())
    for _ in range(11):
        flows.run_due()
        make_due()
    assert [run.given_up for run, _ in tracker.reported] == [False] * 9 + [True]
    assert FailedAttempt.objects.count() == 10


def test_the_hook_is_called_for_a_receiver_that_kills_its_process(
    listen: Listening, tracker: type[Tracker]
) -> None:
    """No exception was ever seen; it is given up all the same, and the page says why."""
    listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    ReceiverRun.objects.update(attempts=USUAL.most_attempts, state="due")
    flows.run_due()
    ((run, _),) = tracker.reported
    assert (run.given_up, ReceiverRun.objects.get().state) == (True, "failed")
    assert FailedAttempt.objects.get().error == "ProcessEnded"


def test_a_hook_that_fails_harms_nothing(
    listen: Listening, tracker: type[Tracker], caplog: pytest.LogCaptureFixture
) -> None:
    """The failure is booked all the same, the other receivers run, and the log says that the hook failed."""
    tracker.down = True
    listen(checkout_paid, Failing(), name="a-unsound")
    heard = listen(checkout_paid, name="b-sound")
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert len(heard) == 1
    assert ReceiverRun.objects.get(receiver="a-unsound").state == "due"
    assert "The hook receiver_failed failed: ConnectionError in Tracker.receiver_failed" in caplog.text


def test_a_signal_without_an_order_is_reported_too(
    listen: Listening, tracker: type[Tracker], checkout_deliver: Deliver
) -> None:
    """user_validated concerns a customer, not an order."""
    listen(user_validated, Failing())
    checkout_deliver(event="user.validate")
    flows.run_due()
    ((run, _),) = tracker.reported
    assert (run.signal, run.order_id) == ("user_validated", "")


def test_the_hook_of_the_page_tells_the_tracker(
    listen: Listening, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/receivers.md: which receiver failed, and the exception."""
    reports: list[object] = []
    tracker = ModuleType("sentry_sdk")
    tracker.set_tag = lambda name, value: reports.append((name, value))  # type: ignore[attr-defined]
    tracker.capture_exception = reports.append  # type: ignore[attr-defined]
    hooks = ModuleType("hooks_of_the_page")
    monkeypatch.setitem(sys.modules, "sentry_sdk", tracker)
    monkeypatch.setitem(sys.modules, "hooks_of_the_page", hooks)
    exec(block("docs/receivers.md", "# shop/hooks.py"), vars(hooks))
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "HOOKS": "hooks_of_the_page.ShopHooks",
    }
    fail_once(listen)
    assert reports[0] == ("receiver", "test.checkout_paid")
    assert isinstance(reports[1], Group.DoesNotExist)
