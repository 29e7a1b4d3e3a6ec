"""The commands as cron and people call them: what they do, what they print, how they end."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from checkout_integration.models import ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.shop import Failing, Listening

pytestmark = pytest.mark.django_db


def run(*words: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    printed = StringIO()
    try:
        call_command(*words, stdout=printed)
    except SystemExit as end:
        return int(end.code or 0), printed.getvalue()
    return 0, printed.getvalue()


def test_work_once_runs_what_is_due(listen: Listening) -> None:
    """For cron: it ends when nothing is due; what failed waits for its time."""
    failing = Failing()
    heard = listen(checkout_paid, name="sound")
    listen(checkout_paid, failing, name="unsound")
    for _ in range(3):
        OrderFactory(checkout=CheckoutFactory())
    code, printed = run("checkout_work", "--once")
    assert (code, printed) == (0, "6 run, 3 failed\n")
    assert (len(heard), failing.tries) == (3, 3)
    assert not ReceiverRun.objects.filter(attempts=0).exists()


def test_work_tells_machines(listen: Listening) -> None:
    """The same form as the other commands."""
    listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    code, printed = run("checkout_work", "--once", "--json")
    result = json.loads(printed)
    assert (code, result["ok"], result["steps"][0]["detail"]) == (0, True, "1 run, 0 failed")


def test_work_with_nothing_due_ends(listen: Listening) -> None:
    """An empty outbox is no error."""
    assert run("checkout_work", "--once") == (0, "0 run, 0 failed\n")


class Stopping(StringIO):
    """Takes what a command complains of, and then stops the command as a supervisor does."""

    def write(self, text: str) -> int:
        """Stops it once it has said why it waits."""
        if "does not respond" in text:
            signal.raise_signal(signal.SIGTERM)
        return super().write(text)


@pytest.fixture
def _own_signals() -> Iterator[None]:
    """Restore the signal handlers."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_own_signals")
def test_worker_outlives_its_database(database_away: None) -> None:
    """While the database restarts it waits and looks again; a termination signal ends it."""
    complaints = Stopping()
    call_command("checkout_work", "--interval", "0.01", stdout=StringIO(), stderr=complaints)
    assert "OperationalError" in complaints.getvalue() or "Unavailable" in complaints.getvalue()
    with pytest.raises(CommandError):
        run("checkout_work", "--once")
