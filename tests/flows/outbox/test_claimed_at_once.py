"""A web process claims the first receiver of what it applies at once; no run is lost or done twice."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pprint import pformat
from typing import Any

import pytest
from django.db import DataError, IntegrityError, connection
from django.utils import timezone

from checkout_integration import dispatch, flows
from checkout_integration.flows.outbox import looking, messages, running
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.models.row import Row
from checkout_integration.signals import checkout_paid, checkout_reversed, order_changed, payment_review
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderItemDocumentFactory
from tests.support.flows.concurrency import in_background
from tests.support.flows.shop import Failing, Listening, make_due, notification, statements

pytestmark = pytest.mark.django_db


@pytest.fixture
def _dies_after_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """End the web process before it has run anything."""
    monkeypatch.setattr(dispatch, "dispatch_due", lambda *arguments: None)


def runs() -> list[tuple[str, str, int]]:
    """Receiver, state and attempts of each run, in the order in which they were made."""
    return list(ReceiverRun.objects.order_by("pk").values_list("receiver", "state", "attempts"))


def test_the_only_receiver_of_a_payment(checkout_deliver: Deliver, listen: Listening) -> None:
    """It has run by the end of the request, and no statement has looked for it."""
    heard = listen(checkout_paid, name="grant")
    with statements() as seen:
        checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert [arguments["attempt"] for arguments in heard] == [1]
    assert runs() == [("grant", "done", 1)]
    assert not [sql for sql in seen if "receiverrun" in sql and "SKIP LOCKED" in sql]


def test_several_receivers(checkout_deliver: Deliver, listen: Listening) -> None:
    """One is claimed at once and the others after it, since they are of one checkout."""
    heard = [
        listen(order_changed, name="a"),
        listen(checkout_paid, name="b"),
        listen(order_changed, name="c"),
    ]
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert [len(each) for each in heard] == [1, 1, 1]
    assert {state for _, state, _ in runs()} == {"done"}


@pytest.mark.usefixtures("_dies_after_its_answer")
def test_a_process_that_dies_before_its_attempt(
    checkout_deliver: Deliver, listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run stays claimed for a moment, with the turn of its line; then another process takes it over."""
    heard = listen(checkout_paid, name="grant")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    run = ReceiverRun.objects.get()
    assert run.exclusive == run.line is not None
    flows.run_due()
    assert (runs(), heard) == ([("grant", "running", 1)], [])
    monkeypatch.setattr(looking, "GRACE", timedelta(0))
    flows.run_due()
    assert (runs(), len(heard)) == ([("grant", "done", 2)], 1)


def test_a_receiver_that_fails_is_tried_again(checkout_deliver: Deliver, listen: Listening) -> None:
    """As any other one."""
    heard = listen(checkout_paid, Failing(times=1), name="grant")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert runs() == [("grant", "due", 1)]
    make_due()
    flows.run_due()
    assert (runs(), len(heard)) == ([("grant", "done", 2)], 1)


@pytest.mark.usefixtures("_dies_after_its_answer")
def test_what_is_behind_another_one_is_not_claimed(checkout_deliver: Deliver, listen: Listening) -> None:
    """No second run of a line is claimed while one is running or due."""
    listen(checkout_paid, name="grant")
    listen(checkout_reversed, name="take back")
    order = order_document_for(CheckoutFactory())
    checkout_deliver(notification(order=order))
    refund = notification(
        "payment.refund", {**order, "status": "refunded", "refunded_at": order["created_at"]}
    )
    with statements() as seen:
        checkout_deliver(refund)
    assert sum(sql.startswith("INSERT") and "receiverrun" in sql for sql in seen) == 1
    assert runs() == [("grant", "running", 1), ("take back", "due", 0)]


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_a_line_that_is_taken_meanwhile(
    checkout_deliver: Deliver, listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Staff run an older one again at the very moment: the new run is made all the same, and runs after it."""
    heard = listen(order_changed, name="a")
    order = order_document_for(CheckoutFactory())
    checkout_deliver(notification("payment.cancel", {**order, "status": "canceled"}))
    older, looked = ReceiverRun.objects.get(), messages._ahead_of

    def taken_meanwhile(*given: Any) -> Any:
        ahead = looked(*given)
        claimed = ReceiverRun.objects.filter(pk=older.pk, state="done")
        in_background(
            lambda: claimed.update(state="running", exclusive=older.line, due_at=timezone.now())
        ).join()
        return ahead

    monkeypatch.setattr(messages, "_ahead_of", taken_meanwhile)
    checkout_deliver(notification(order=order))
    assert [state for _, state, _ in runs()] == ["running", "waiting"]
    ReceiverRun.objects.filter(pk=older.pk).update(due_at=timezone.now() - timedelta(minutes=1))
    flows.run_due()
    assert ([state for _, state, _ in runs()], len(heard)) == (["done", "done"], 3)


def test_what_a_savepoint_has_undone_is_not_run(checkout_deliver: Deliver, listen: Listening) -> None:
    """A refused batch is recorded again with savepoints; only stored runs are run."""
    heard, refusals = listen(checkout_paid, name="grant"), [DataError, IntegrityError]

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("INSERT") and "receiverrun" in sql and refusals:
            raise refusals.pop(0)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert (runs(), len(heard), refusals) == ([("grant", "done", 1)], 1, [])
    assert set(OutboxMessage.objects.values_list("state", flat=True)) <= {"fanned_out", "no_receivers"}


def test_what_is_claimed_is_stored(checkout_deliver: Deliver, listen: Listening, settings: Any) -> None:
    """A caller is given no run that the rollback of a savepoint has undone."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    listen(checkout_paid, name="grant")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    refusals: list[type[Exception]] = [DataError, IntegrityError]

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("INSERT") and "receiverrun" in sql and refusals:
            raise refusals.pop(0)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        applied = flows.inbox.apply_due(batch=1, fan_out=True, claims=True)
    stored = ReceiverRun.objects.filter(pk__in=[run.pk for run in applied.claimed if run.pk])
    assert (stored.count(), refusals) == (len(applied.claimed), [])


def test_the_rows_of_its_arguments_are_as_stored(checkout_deliver: Deliver, listen: Listening) -> None:
    """No statement reads what was just written, and each value is as a later attempt reads it, with its type and digits."""
    differences: list[str] = []

    def compare(**arguments: Any) -> None:
        (prepared,) = running.load([ReceiverRun.objects.get()])
        rows = {**arguments, **_rows_of(arguments["order"])}
        stored = running.arguments_of(prepared)
        stored |= _rows_of(stored["order"])
        for name in ("order", "checkout", "grant", "transition", "personal data", "customer"):
            differences.extend(_differences(rows[name], stored[name]))

    checkout = CheckoutFactory(metadata={"cart": [1, Decimal("2.50")]})
    heard = listen(checkout_paid, compare, name="grant")
    with statements() as seen:
        checkout_deliver(order=order_document_for(checkout, items=[OrderItemDocumentFactory()]))
    assert (len(heard), differences) == (1, [])
    assert sum('"personal_data"' in sql.replace("`", '"') for sql in seen) == 1  # in `compare`


def test_its_other_arguments_are_as_stored(checkout_deliver: Deliver, listen: Listening) -> None:
    """A member of an enumeration is none at a later attempt."""
    heard = listen(payment_review, name="ask")
    checkout_deliver(order=order_document_for(CheckoutFactory(), amount=1))
    assert [pformat(arguments["reason"]) for arguments in heard] == ["'amount'"]


def _rows_of(order: Order) -> dict[str, Any]:
    return {"personal data": order.personal_data, "customer": order.user}


def _differences(row: Row, stored: Row) -> list[str]:
    """Return the columns that differ, also by their type or digits."""
    values = [
        (field.name, getattr(row, field.attname), getattr(stored, field.attname))
        for field in row._meta.concrete_fields
    ]
    return [
        f"{name}: {own!r} is not {other!r}" for name, own, other in values if pformat(own) != pformat(other)
    ]
