"""Findings about receivers that fail, by name, and about what is paid and not granted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checkout_integration.flows import operations, run_due
from checkout_integration.flows.operations import Finding
from checkout_integration.models import FailedAttempt, OutboxMessage, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.admin import rows
from tests.support.flows.notified import installed
from tests.support.flows.shop import Failing, Listening, make_due

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _installed() -> None:
    installed(datetime.now(UTC) - timedelta(minutes=50))


def found(name: str = "receivers_failing") -> Finding:
    """The finding of this name."""
    (finding,) = [each for each in operations.health().findings if each.name == name]
    return finding


def sell(times: int = 1) -> None:
    """Sell to so many customers, and run what is due."""
    for _ in range(times):
        OrderFactory(checkout=CheckoutFactory())
    run_due()


def age(minutes: int) -> None:
    """Let what failed have failed for the first time so long ago, and be paid a little before."""
    since = datetime.now(UTC) - timedelta(minutes=minutes)
    FailedAttempt.objects.update(failed_at=since)
    OutboxMessage.objects.update(recorded_at=since - timedelta(seconds=1))


def test_a_receiver_that_fails_for_the_last_three_customers_is_failing_at_once(listen: Listening) -> None:
    """It is named, with the error and its place, how many customers, since when, what to do, and its rows."""
    listen(checkout_paid, Failing(), name="shop.grant")
    sell(2)
    assert found().severity == "warning"
    sell(1)
    age(4)
    finding = found()
    assert finding.severity == operations.health().severity == "failing"
    assert "shop.grant has failed for each of the last 3 customers in 4 min (ValueError" in finding.text
    assert "shop.py:" in finding.text and "canary" not in finding.text
    assert "retried" in finding.action and finding.link.endswith("/failures/")
    assert (finding.figures["customers"], finding.figures["receivers"]) == (3, 1)


def test_one_customer_for_whom_it_ran_since_makes_it_a_warning(listen: Listening) -> None:
    """It fails for some only, perhaps for what they bought."""
    grant = Failing(times=3)
    listen(checkout_paid, grant, name="shop.grant")
    sell(3)
    assert found().severity == "failing"
    sell(1)
    assert (found().severity, "for 3 customers" in found().text) == ("warning", True)


def test_two_customers_are_enough_after_five_minutes(listen: Listening) -> None:
    """A small shop does not sell to three in that time."""
    listen(checkout_paid, Failing(), name="shop.grant")
    sell(2)
    age(4)
    assert found().severity == "warning"
    age(6)
    assert found().severity == "failing"


def test_one_customer_who_bought_thrice_is_one(listen: Listening) -> None:
    """Their account may be what the receiver cannot do with."""
    listen(checkout_paid, Failing(), name="shop.grant")
    customer = rows.make_customer()
    for _ in range(3):
        rows.make_run(
            rows.make_order(user=customer),
            state="due",
            error="OSError",
            due_at=datetime.now(UTC) + timedelta(hours=1),
        )
    assert (found().severity, found().figures["customers"]) == ("warning", 1)


def test_the_last_run_of_each_customer_counts() -> None:
    """Of one who bought before and again, the newer purchase."""
    later, customer = datetime.now(UTC) + timedelta(hours=1), rows.make_customer()
    failing: dict[str, Any] = {"state": "due", "error": "OSError", "due_at": later, "finished_at": None}
    rows.make_run(rows.make_order(user=customer), **failing)
    rows.make_run(rows.make_order(), state="done")
    for user in (None, None, customer):
        rows.make_run(rows.make_order(user=user), **failing)
    assert found().severity == "failing"


@pytest.mark.parametrize("moment", ["between its attempts", "due again", "at this moment"])
def test_no_retry_hides_it(moment: str) -> None:
    """Between its attempts, when it is due again, and while it is attempted."""
    later, now = datetime.now(UTC) + timedelta(hours=1), datetime.now(UTC)
    for _ in range(3):
        columns: dict[str, Any] = {
            "between its attempts": {"state": "due", "due_at": later, "attempts": 1},
            "due again": {"state": "due", "due_at": now, "attempts": 1},
            "at this moment": {"state": "running", "due_at": now, "attempts": 2},
        }[moment]
        rows.make_run(rows.make_order(), error="OSError", finished_at=None, **columns)
    assert found().severity == "failing"


def test_a_process_that_ended_is_no_failure_of_the_code() -> None:
    """As in any restart: the run was taken over. Where a second process ended in it, the code may be why."""
    running: dict[str, Any] = {"state": "running", "due_at": datetime.now(UTC), "finished_at": None}
    run = rows.make_run(rows.make_order(), attempts=2, **running)
    assert found().severity == "ok"
    ReceiverRun.objects.filter(pk=run.pk).update(attempts=3)
    age(7)
    OutboxMessage.objects.update(recorded_at=datetime.now(UTC) - timedelta(minutes=7))
    assert "has failed for one customer in 7 min (the process that ran it ended)" in found().text


def test_what_was_never_tried_does_not_fail() -> None:
    """Work that waits is another finding's."""
    rows.make_run(rows.make_order(), state="due", due_at=datetime.now(UTC), attempts=0)
    rows.make_run(rows.make_order(), state="running", due_at=datetime.now(UTC), attempts=1)
    assert found().severity == "ok"


def test_each_receiver_is_named(listen: Listening) -> None:
    """The worst first, and how many more there are."""
    for number in range(5):
        listen(checkout_paid, Failing(), name=f"shop.grant_{number}")
    sell(1)
    assert found().text.count("has failed for one customer") == 3
    assert found().text.endswith("; and 2 more.")


def test_a_receiver_that_was_given_up_is_named() -> None:
    """With how often, and when last."""
    for receiver in ("shop.a", "shop.a", "shop.b"):
        rows.make_run(
            rows.make_order(),
            receiver=receiver,
            state="failed",
            due_at=datetime.now(UTC) - timedelta(hours=3),
        )
    finding = found("receivers_given_up")
    assert "3, the last one 3 h ago (shop.a: 2; shop.b: 1)." in finding.text
    assert finding.link.endswith("/failures/")


def test_what_is_paid_and_not_granted_for_five_minutes(listen: Listening) -> None:
    """One order is a warning, two are failing; whatever the reason, and until it is granted."""
    grant = Failing(times=3)
    listen(checkout_paid, grant, name="shop.grant")
    sell(1)
    age(4)
    assert found("not_granted").severity == "ok"
    age(6)
    assert (found("not_granted").severity, found("not_granted").figures["orders"]) == ("warning", 1)
    sell(1)
    age(6)
    finding = found("not_granted")
    assert finding.severity == "failing" and "five minutes: 2, the first one for 6 min" in finding.text
    assert finding.link.endswith("/order/?queue=not_granted")
    for _ in range(2):
        make_due()
        run_due()
    assert (
        ReceiverRun.objects.get(message__order=ReceiverRun.objects.earliest("pk").message.order).state
        == "done"
    )
    assert found("not_granted").severity == "ok"
