"""The commands as cron and people call them: what they do, what they print, how they end."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from checkout_integration import flows
from checkout_integration.flows.database.retry import Unavailable
from checkout_integration.models import Order, OutboxMessage, SyncRun
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.flows.shop import Failing, Listening, fault

pytestmark = pytest.mark.django_db


def run(*words: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    printed = StringIO()
    try:
        call_command(*words, stdout=printed)
    except SystemExit as end:
        return int(end.code or 0), printed.getvalue()
    return 0, printed.getvalue()


def sold(sandbox: Sandbox) -> None:
    """A payment whose notification was lost."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    sandbox.payments.pay(checkout.order_id)


def test_sync_reads_the_list(checkout_sandbox: Sandbox, listen: Listening, settings: Any) -> None:
    """One line for people; the receivers of what it found run after it."""
    heard = listen(checkout_paid)
    sold(checkout_sandbox)
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "request"}
    code, printed = run("checkout_sync")
    assert code == 0
    assert "default recent: complete" in printed
    assert (Order.objects.get().status, len(heard)) == ("processed", 1)


def test_sync_tells_machines(checkout_sandbox: Sandbox) -> None:
    """The same as JSON, with a step for each pass."""
    sold(checkout_sandbox)
    code, printed = run("checkout_sync", "--json", "--lane", "all")
    told = json.loads(printed)
    assert (code, told["ok"], len(told["steps"])) == (0, True, 1)
    assert set(told["steps"][0]) == {"name", "ok", "seconds", "detail"}
    assert told["steps"][0]["name"] == "default all"
    assert "1 rows" in told["steps"][0]["detail"]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_failed_sync_says_so(checkout_sandbox: Sandbox, form: tuple[str, ...]) -> None:
    """Exit code 1, and the failure in words."""
    fault(checkout_sandbox, "api", "server_error")
    code, printed = run("checkout_sync", *form)
    assert code == 1
    assert "500" in printed
    if form:
        assert json.loads(printed)["ok"] is False


def test_unreachable_service_is_told_apart(checkout_sandbox: Sandbox, settings: Any) -> None:
    """Exit code 3: nothing is wrong here, nobody answers there."""
    nobody = {"TIMEOUT": 1, "LIST_URL": "http://127.0.0.1:9"}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **nobody}
    code, printed = run("checkout_sync")
    assert code == 3
    assert "default recent: unreachable" in printed


def test_sync_of_an_unknown_project_is_a_mistake(checkout_sandbox: Sandbox) -> None:
    """Exit code 2, and the name that is wrong."""
    with pytest.raises(CommandError, match="nobody") as caught:
        run("checkout_sync", "--project", "nobody")
    assert caught.value.returncode == 2


@pytest.mark.parametrize("answer", ["", "canary-short", None])
def test_sync_without_a_secret_says_what_to_set(
    checkout_sandbox: Sandbox, settings: Any, answer: Any
) -> None:
    """Exit code 2, before anything is asked; that no previous secret is left is no mistake here."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"] | {"PREVIOUS_SECRET_KEYS": [lambda: ""]}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": own}}
    assert run("checkout_sync")[0] == 0
    SyncRun.objects.all().delete()
    own |= {"SECRET_KEY": lambda: answer}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": own}}
    with pytest.raises(CommandError, match=r"\['default'\].* SECRET_KEY") as caught:
        run("checkout_sync")
    assert caught.value.returncode == 2
    assert "canary" not in str(caught.value)
    assert not SyncRun.objects.exists()


def test_sync_of_one_project_does_not_wait_for_the_secret_of_another(
    checkout_sandbox: Sandbox, settings: Any
) -> None:
    """A vault that is away for one of them; the others are repaired, and the exit code tells."""

    def away() -> str:
        raise OSError("the vault is away")

    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    projects = {"other": own | {"PROJECT_ID": "another", "SECRET_KEY": away}, "default": own}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    with pytest.raises(CommandError, match=r"\['other'\]") as caught:
        run("checkout_sync")
    assert caught.value.returncode == 2
    assert list(SyncRun.objects.values_list("project", "state")) == [("default", "complete")]


def test_sync_takes_chosen_projects(checkout_sandbox: Sandbox, settings: Any) -> None:
    """All of them when none is named."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    projects = {"default": own, "second": own | {"SECRET_KEY": "sandbox_not_right"}}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    assert run("checkout_sync", "--project", "default")[0] == 0
    code, printed = run("checkout_sync")
    assert code == 1
    assert "default recent: complete" in printed
    assert "second recent: failed" in printed


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
    assert not OutboxMessage.objects.filter(state="new").exists()


def test_work_tells_machines(listen: Listening) -> None:
    """The same form as the other commands."""
    listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    code, printed = run("checkout_work", "--once", "--json")
    told = json.loads(printed)
    assert (code, told["ok"], told["steps"][0]["detail"]) == (0, True, "1 run, 0 failed")


def test_work_with_nothing_due_ends(listen: Listening) -> None:
    """An empty outbox is no error."""
    assert run("checkout_work", "--once") == (0, "0 run, 0 failed\n")


class Stopping(StringIO):
    """Takes what a command complains of, and then stops the command as a supervisor does."""

    def write(self, text: str) -> int:
        """Stops it once it has said why it waits."""
        if "does not answer" in text:
            signal.raise_signal(signal.SIGTERM)
        return super().write(text)


@pytest.fixture
def _own_signals() -> Iterator[None]:
    """Give signals back to whoever had them."""
    held = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in held.items():
        signal.signal(number, handler)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_own_signals")
def test_worker_outlives_its_database(database_away: None) -> None:
    """While the database restarts it waits and looks again; a termination signal ends it (A.6)."""
    complaints = Stopping()
    call_command("checkout_work", "--interval", "0.01", stdout=StringIO(), stderr=complaints)
    assert "OperationalError" in complaints.getvalue() or "Unavailable" in complaints.getvalue()
    with pytest.raises((OperationalError, Unavailable)):
        run("checkout_work", "--once")
