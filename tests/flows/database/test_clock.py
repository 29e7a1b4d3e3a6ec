"""Hosts whose clocks differ: what was never tried is due, and claims and waits are in the database's time."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkout_integration import flows
from checkout_integration.flows.database import DatabaseClock, database_now
from checkout_integration.flows.outbox import GRACE
from checkout_integration.models import Checkout, HostClock, Notification, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import Failing, Listening, own, owned

pytestmark = pytest.mark.django_db
WRONG = [timedelta(hours=2), timedelta(hours=-2), timedelta(seconds=3)]


@pytest.fixture
def real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the database for its time, as outside of tests."""
    monkeypatch.setattr(DatabaseClock, "follows_host", False)
    monkeypatch.setattr(DatabaseClock, "measured", None)
    monkeypatch.setattr(DatabaseClock, "noted", None)


def host_at(wrong: timedelta) -> time_machine.travel:
    """Let the clock of this host be wrong by so much; the database's is right."""
    return time_machine.travel(datetime.now(UTC) + wrong, tick=True)


@pytest.fixture
def worker_only(settings: object) -> None:
    """Let web processes only store."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize("asks", [True, False], ids=["the database's clock", "the host's clock"])
def test_payment_that_was_stored_by_a_wrong_clock_is_applied_at_once(
    wrong: timedelta,
    asks: bool,
    listen: Listening,
    worker_only: None,
    real_clock: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the database's own clock was wrong with it, as on SQLite."""
    monkeypatch.setattr(DatabaseClock, "follows_host", not asks)
    listen(checkout_paid, own)
    checkout = CheckoutFactory()
    with host_at(wrong):
        assert Deliver()(order=order_document_for(checkout)).status_code == 200
    flows.run_due()
    assert (Checkout.objects.get().status, owned()) == ("paid", 1)


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_receiver_that_a_wrong_clock_made_due_runs_at_once(
    wrong: timedelta, listen: Listening, worker_only: None
) -> None:
    """It was never claimed, so no wait of its own is in its time."""
    listen(checkout_paid, own)
    Deliver()(order=order_document_for(CheckoutFactory()))
    with host_at(wrong):
        flows.inbox.apply_due()
        assert ReceiverRun.objects.get().state == "due"
    flows.run_due()
    assert owned() == 1


def test_failed_notification_of_the_order_holds_up_no_new_one(worker_only: None) -> None:
    """The earlier one waits for its next attempt, whatever the clock of the later one says."""
    checkout = CheckoutFactory()
    Deliver()(order=order_document_for(checkout))
    Notification.objects.update(state="failed", tries=1, due_at=datetime.now(UTC) + timedelta(minutes=1))
    with host_at(timedelta(hours=2)):
        Deliver()(order=order_document_for(checkout) | {"description": "again"})
    assert flows.inbox.apply_due().applied == 1
    assert set(Notification.objects.values_list("state", flat=True)) == {"failed", "applied"}


def test_claim_of_a_clock_that_was_ahead_is_taken_over(listen: Listening, worker_only: None) -> None:
    """Its process died; the time of the claim is to come."""
    listen(checkout_paid, own)
    Deliver()(order=order_document_for(CheckoutFactory()))
    flows.inbox.apply_due()
    ahead = datetime.now(UTC) + GRACE * 100
    ReceiverRun.objects.update(state="running", fence="dead", attempts=1, due_at=ahead, exclusive=1)
    flows.run_due()
    assert owned() == 1


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_waits_are_in_the_time_of_the_database(wrong: timedelta, listen: Listening, real_clock: None) -> None:
    """A host that is ahead neither retries too early, nor plans the next attempt too late."""
    failing = Failing()
    listen(checkout_paid, failing)
    with host_at(wrong):
        Deliver()(order=order_document_for(CheckoutFactory()))
        flows.run_due()
        due_at = ReceiverRun.objects.get().due_at
    assert failing.tries == 1
    assert timedelta(seconds=30) < due_at - database_now() <= timedelta(minutes=1)


@pytest.mark.postgres
@pytest.mark.mariadb
def test_database_is_read_once_a_minute(real_clock: None) -> None:
    """In between the process counts on, by a clock that nobody adjusts."""
    with CaptureQueriesContext(connection) as statements:
        first = database_now()
        with host_at(timedelta(hours=2)):
            second = database_now()
    assert len(statements) == 1
    assert timedelta(0) <= second - first < timedelta(minutes=1)
    DatabaseClock.measured = DatabaseClock.measured._replace(monotonic=0.0)  # type: ignore[union-attr]
    with CaptureQueriesContext(connection) as statements:
        database_now()
    assert len(statements) == 1


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_host_with_a_wrong_clock_is_noted_until_it_is_right(real_clock: None) -> None:
    """By each process, once a minute at most."""
    with host_at(timedelta(seconds=-30)):
        flows.run_due()
    row = HostClock.objects.get()
    assert (row.host, round(row.seconds_ahead)) == (socket.gethostname(), -30)
    DatabaseClock.measured = None
    with CaptureQueriesContext(connection) as first:
        flows.run_due()
    assert not HostClock.objects.exists()
    with CaptureQueriesContext(connection) as second:
        flows.run_due()
    assert len(second) < len(first)
