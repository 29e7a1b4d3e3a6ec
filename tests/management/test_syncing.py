"""The sync of `checkout_work`: a thread that reads each lane when it is due, and ends with the worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from checkout_integration import flows
from checkout_integration.management import syncing
from checkout_integration.models import Order, SyncRun
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid, payment_success
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.management.test_checkout_work import _own_signals
from tests.support.flows.list_service import ListService, list_service, listed
from tests.support.flows.shop import Listening

__all__ = ["_own_signals"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for lanes that are due without the pause, which gives a new process time to work."""
    monkeypatch.setattr(syncing, "FIRST_LOOK", 0.01)


@pytest.fixture
def service(settings: Any) -> Iterator[ListService]:
    """Give a service whose list has the rows of the test."""
    with list_service(settings) as service:
        yield service


def work(*options: str) -> None:
    """Work until a signal comes."""
    call_command("checkout_work", "--interval", "0.01", *options, stdout=StringIO(), stderr=StringIO())


def end(**arguments: Any) -> None:
    """End the worker, as a supervisor does."""
    os.kill(os.getpid(), signal.SIGTERM)


def is_at_work() -> bool:
    """Return whether the thread runs."""
    return any(thread.name == "checkout-sync" for thread in threading.enumerate())


def test_a_worker_finds_lost_payments(checkout_sandbox: Sandbox, listen: Listening) -> None:
    """It reads the list and runs the receivers of what it finds."""
    heard = listen(checkout_paid, end)
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.payments.pay(checkout.order_id)
    work()
    assert [each["source"] for each in heard] == ["sync"]
    assert not is_at_work()


@pytest.mark.parametrize("option", ["--no-sync", "--once"])
def test_a_worker_can_be_without_the_sync(checkout_sandbox: Sandbox, listen: Listening, option: str) -> None:
    """Where others read the list, and for cron."""
    listen(payment_success, end if option == "--no-sync" else None)
    OrderFactory(checkout=CheckoutFactory())
    work(option)
    assert not SyncRun.objects.exists()


def test_a_pass_is_left_when_the_worker_ends(service: ListService, settings: Any) -> None:
    """After the page at hand; the next pass reads the rest."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 2}
    service.rows = [listed(f"o{number}", number) for number in range(20)]
    service.before_page = lambda query: end() if service.pages == 3 else None
    work()
    assert 0 < Order.objects.count() < 10
    assert not is_at_work()
    assert flows.sync.sync_transactions().state == "complete"
    assert Order.objects.count() == 20


def test_a_failed_pass_does_not_end_the_sync(
    service: ListService, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The next lane is read."""
    service.rows, service.uncounted = [listed("first")], 5
    # Only the lane after it reads by status. The handler's thread must not open a connection.
    service.before_page = lambda query: end() if "status[]" in query else None
    work()
    assert SyncRun.objects.filter(state="failed", lane="recent").exists()
    assert (
        "The sync of default recent ended as failed: The service counts 5 rows more than it gave."
        in caplog.text
    )
