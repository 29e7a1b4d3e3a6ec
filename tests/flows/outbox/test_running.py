"""Receivers of signals: each once, each alone, in order, and never on a payment that was taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import BytesIO, StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.db import OperationalError, transaction
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.outbox import running
from checkout_integration.models import Checkout, FailedAttempt, Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import (
    checkout_paid,
    checkout_reversed,
    order_changed,
    payment_refund,
    payment_success,
)
from checkout_integration.testing.assertions import assert_granted, assert_not_granted, assert_revoked
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Failing, Listening, disown, make_due, notification, own, owned
from tests.support.wire import body_of, signature

pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)


def paid(checkout: Checkout) -> Order:
    """A checkout's payment, recorded; its receivers have not run."""
    order: Order = OrderFactory(checkout=checkout)
    return order


def refund(deliver: Deliver, checkout: Checkout) -> None:
    """The service gives the money back."""
    document = order_document_for(checkout, status="refunded")
    assert deliver(notification("payment.refund", document)).status_code == 200


def states() -> list[str]:
    """States of all runs, in the order of their making."""
    return list(ReceiverRun.objects.order_by("pk").values_list("state", flat=True))


def test_receiver_runs_once_with_its_arguments(listen: Listening) -> None:
    """Everything that docs/reference/signals.md promises is there, and a second drain runs nothing."""
    heard = listen(checkout_paid)
    checkout = CheckoutFactory()
    order = paid(checkout)
    flows.run_due()
    flows.run_due()
    (arguments,) = heard
    assert {name: arguments[name] for name in ("checkout", "order", "sender", "verdict", "live")} == {
        "checkout": checkout,
        "order": order,
        "sender": Order,
        "verdict": "verified",
        "live": False,
    }
    assert {name: arguments[name] for name in ("source", "partial", "renewal", "attempt", "refund")} == {
        "source": "notification",
        "partial": False,
        "renewal": False,
        "attempt": 1,
        "refund": None,
    }
    assert arguments["grant"].checkout == checkout
    assert (arguments["previous_status"], arguments["transition"].to_status) == ("", "processed")
    assert arguments["idempotency_key"] == OutboxMessage.objects.get(signal="checkout_paid").idempotency_key
    assert_granted(checkout)


def test_refund_while_the_grant_is_failing_leaves_nothing_owned(
    listen: Listening, checkout_deliver: Deliver
) -> None:
    """The success fails twice, then the refund arrives: at the end the goods are not owned (must show 6)."""
    failing = Failing(times=2)

    def grant(**arguments: Any) -> None:
        own(**arguments)
        failing(**arguments)

    listen(checkout_paid, grant, name="grant")
    listen(checkout_reversed, disown, name="disown")
    checkout = CheckoutFactory()
    for _ in range(2):
        checkout_deliver(order=order_document_for(checkout))
        make_due()
    assert (failing.tries, owned()) == (2, 0)
    refund(checkout_deliver, checkout)
    make_due()
    flows.run_due()
    assert (failing.tries, owned()) == (2, 0)
    assert ReceiverRun.objects.get(receiver="grant").state == "superseded"
    assert_revoked(checkout)


def test_grant_that_succeeds_late_is_taken_back_by_the_refund(
    listen: Listening, checkout_deliver: Deliver
) -> None:
    """Granted at the third attempt, then refunded: not owned either."""
    failing = Failing(times=2)

    def grant(**arguments: Any) -> None:
        own(**arguments)
        failing(**arguments)

    listen(checkout_paid, grant, name="grant")
    listen(checkout_reversed, disown, name="disown")
    checkout = CheckoutFactory()
    paid(checkout)
    for _ in range(3):
        flows.run_due()
        make_due()
    assert owned() == 1
    refund(checkout_deliver, checkout)
    assert owned() == 0


def test_failing_receiver_is_retried_alone(listen: Listening) -> None:
    """Of two receivers one raises: the other ran once, the first comes back by itself."""
    failing = Failing(times=3)
    sound = listen(checkout_paid, name="sound")
    unsound = listen(checkout_paid, failing, name="unsound")
    paid(CheckoutFactory())
    for _ in range(6):
        flows.run_due()
        make_due()
    assert (len(sound), len(unsound), failing.tries) == (1, 1, 4)
    assert unsound[0]["attempt"] == 4


def test_failed_receiver_waits(listen: Listening) -> None:
    """It is not tried again at once: a minute first, and longer each time."""
    failing = Failing()
    listen(checkout_paid, failing)
    paid(CheckoutFactory())
    flows.run_due()
    flows.run_due()
    run = ReceiverRun.objects.get()
    assert (failing.tries, run.state, run.error) == (1, "due", "ValueError")
    assert run.due_at > timezone.now() + timedelta(seconds=50)


def test_failure_undoes_its_effects(listen: Listening) -> None:
    """The writes of a receiver that raises are rolled back."""

    def half(order: Order, **arguments: Any) -> None:
        own(order)
        raise ValueError("after the write")

    listen(checkout_paid, half)
    paid(CheckoutFactory())
    flows.run_due()
    assert owned() == 0


def test_receiver_is_parked_after_ten_attempts(listen: Listening, caplog: pytest.LogCaptureFixture) -> None:
    """A dead letter has the class of the failure and never its message."""
    failing = Failing()
    listen(checkout_paid, failing)
    paid(CheckoutFactory())
    for _ in range(12):
        flows.run_due()
        make_due()
    run = ReceiverRun.objects.get()
    assert (failing.tries, run.state, run.error) == (10, "failed", "ValueError")
    assert "canary-of-a-receiver" not in caplog.text


def test_parked_receiver_is_run_again_by_staff(listen: Listening) -> None:
    """After the mend, with attempts of its own."""
    failing = Failing(times=10)
    heard = listen(checkout_paid, failing)
    paid(CheckoutFactory())
    for _ in range(10):
        flows.run_due()
        make_due()
    staff = User.objects.create_user("staff")
    assert flows.operations.retry_run(ReceiverRun.objects.get(), staff=staff)
    flows.run_due()
    assert (len(heard), ReceiverRun.objects.get().state) == (1, "done")


def test_a_grant_that_was_closed_is_superseded(
    listen: Listening, checkout_deliver: Deliver, settings: Any
) -> None:
    """Goods must not be granted on money that went back meanwhile; the service's facts are sent all the same."""
    heard, facts = listen(checkout_paid), listen(payment_success)
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout = CheckoutFactory()
    paid(checkout)
    refund(checkout_deliver, checkout)
    flows.run_due()
    assert (heard, len(facts), sorted(states())) == ([], 1, ["done", "superseded"])


def test_partial_refund_supersedes_nothing(
    listen: Listening, checkout_deliver: Deliver, settings: Any
) -> None:
    """The checkout stands; staff look at it."""
    heard = listen(checkout_paid)
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout = CheckoutFactory()
    paid(checkout)
    document = order_document_for(checkout, status="refunded", refund__amount=1)
    checkout_deliver(notification("payment.refund", document))
    flows.run_due()
    assert len(heard) == 1


def test_back_off_holds_back_the_same_receiver_only(listen: Listening, checkout_deliver: Deliver) -> None:
    """A receiver meets the changes of one order in their order; other receivers do not wait for it."""
    failing = Failing(times=1)
    slow = listen(order_changed, failing, name="slow")
    quick = listen(order_changed, name="quick")
    refunds = listen(payment_refund, name="refunds")
    checkout = CheckoutFactory()
    paid(checkout)
    flows.run_due()
    refund(checkout_deliver, checkout)
    assert (len(slow), len(quick), len(refunds)) == (0, 2, 1)
    make_due()
    flows.run_due()
    assert [each["transition"].to_status for each in slow] == ["processed", "refunded"]


def test_other_orders_do_not_wait(listen: Listening) -> None:
    """One order's trouble is its own."""
    failing = Failing(times=1)
    heard = listen(checkout_paid, failing)
    first, second = paid(CheckoutFactory()), paid(CheckoutFactory())
    flows.run_due()
    assert [each["order"] for each in heard] == [second]
    make_due()
    flows.run_due()
    assert [each["order"] for each in heard] == [second, first]


def test_receiver_that_vanished_is_left_to_others(listen: Listening) -> None:
    """It may be connected in another process: no attempt is counted here."""
    listen(checkout_paid)
    paid(CheckoutFactory())
    listen.end()
    assert flows.run_due().run == 0
    run = ReceiverRun.objects.get()
    assert (run.state, run.attempts, run.error) == ("due", 0, "")


def test_announcement_without_receivers_says_so() -> None:
    """It is counted, and does not block anything."""
    paid(CheckoutFactory())
    flows.run_due()
    assert set(OutboxMessage.objects.values_list("state", flat=True)) == {"no_receivers"}


@in_threads
def test_async_receiver_runs(listen: Listening) -> None:
    """It is awaited; a failure of it counts like any other."""
    heard: list[str] = []

    async def receive(order: Order, **arguments: Any) -> None:
        heard.append(order.order_id)

    listen.connect(checkout_paid, receive, "async")
    order = paid(CheckoutFactory())
    flows.run_due()
    assert (heard, states()) == ([order.order_id], ["done"])


@in_threads
@pytest.mark.parametrize("error", [ValueError("x"), OperationalError("the answer to COMMIT was lost")])
def test_what_is_committed_is_not_run_again(listen: Listening, error: Exception) -> None:
    """A failure after the commit, in a receiver's callback, causes no retry: that would grant twice."""

    def grant(order: Order, **arguments: Any) -> None:
        own(order)
        transaction.on_commit(partial(_raise, error))

    listen(checkout_paid, grant)
    paid(CheckoutFactory())
    flows.run_due()
    assert (states(), owned()) == (["done"], 1)


def _raise(error: Exception) -> None:
    raise error


def test_failing_receiver_does_not_change_the_answer(listen: Listening, checkout_deliver: Deliver) -> None:
    """The response acknowledges the notification, which is stored."""
    listen(payment_success, Failing())
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert states() == ["due"]


@in_threads
def test_runner_after_the_answer_was_handed_over(listen: Listening) -> None:
    """In request mode the server closes the response when its bytes are sent; only then do receivers run."""
    heard = listen(payment_success)
    body = body_of()
    environment = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/checkout/webhook/",
        "SERVER_NAME": "shop.example.com",
        "SERVER_PORT": "80",
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_AUTHORIZATION": signature(body),
        "wsgi.input": BytesIO(body),
        "wsgi.errors": StringIO(),
        "wsgi.url_scheme": "http",
    }
    answered: list[str] = []

    def start_response(status: str, *rest: object) -> Callable[[bytes], object]:
        answered.append(status)
        return answered.append  # type: ignore[return-value]

    response = WSGIHandler()(environment, start_response)
    assert (answered, b"".join(response), heard) == (["200 OK"], b"", [])
    response.close()
    assert len(heard) == 1


def test_nothing_is_granted_for_a_refund_that_came_first(
    listen: Listening, checkout_deliver: Deliver
) -> None:
    """The success that arrives late is a fact about the past."""
    heard = listen(checkout_paid)
    checkout = CheckoutFactory()
    refund(checkout_deliver, checkout)
    checkout_deliver(notification(order=order_document_for(checkout), at=timezone.now() - timedelta(hours=1)))
    assert_not_granted(checkout)
    assert heard == []


def test_a_busy_database_is_no_failure_of_the_receiver(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite refuses an attempt before its receiver is called: it is due at once, and no attempt was made."""
    heard, refusals, lock = listen(order_changed, name="a"), [OperationalError], running.lock

    def busy(*given: Any) -> Any:
        if refusals:
            raise refusals.pop()("database is locked")
        return lock(*given)

    monkeypatch.setattr(running, "lock", busy)
    OrderFactory()
    flows.run_due()
    assert [arguments["attempt"] for arguments in heard] == [1]
    assert FailedAttempt.objects.count() == 0
