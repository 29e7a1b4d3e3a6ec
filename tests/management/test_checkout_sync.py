"""``checkout_sync``: what it reads, what it prints for people and machines, and how it ends."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from checkout_integration import flows
from checkout_integration.models import Order, SyncCursor, SyncRun
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from tests.support.documents import block
from tests.support.flows.list_service import HOUR_AGO, ListService, list_service, listed
from tests.support.flows.shop import Listening, fault

pytestmark = pytest.mark.django_db


def run(*words: str, terminal: StringIO | None = None) -> tuple[int, str]:
    """Return the exit code of the command, and what it printed."""
    printed = StringIO()
    try:
        call_command("checkout_sync", *words, stdout=printed, stderr=terminal or StringIO())
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
    code, printed = run()
    assert code == 0
    assert "default recent: complete" in printed
    assert (Order.objects.get().status, len(heard)) == ("processed", 1)


def test_sync_tells_machines(checkout_sandbox: Sandbox) -> None:
    """The same as JSON, with a step for each pass."""
    sold(checkout_sandbox)
    code, printed = run("--json", "--lane", "all")
    result = json.loads(printed)
    assert (code, result["ok"], len(result["steps"])) == (0, True, 1)
    assert set(result["steps"][0]) == {"name", "ok", "seconds", "detail", "report"}
    assert result["steps"][0]["name"] == "default all"
    report = result["steps"][0]["report"]
    assert (report["counts"], report["waiting"], report["totals_agree"]) == ({"status": 1}, 0, True)
    assert "1 rows" in result["steps"][0]["detail"]


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_failed_sync_says_so(checkout_sandbox: Sandbox, form: tuple[str, ...]) -> None:
    """Exit code 1, and the failure in words."""
    fault(checkout_sandbox, "api", "server_error")
    code, printed = run(*form)
    assert code == 1
    assert "500" in printed
    if form:
        assert json.loads(printed)["ok"] is False


@pytest.mark.slow
def test_unreachable_service_has_its_own_exit_code(checkout_sandbox: Sandbox, settings: Any) -> None:
    """Exit code 3: the settings are right, the service does not respond."""
    nobody = {"TIMEOUT": 1, "LIST_URL": "http://127.0.0.1:9"}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **nobody}
    code, printed = run()
    assert code == 3
    assert "default recent: unreachable" in printed


def test_sync_of_an_unknown_project_is_a_mistake(checkout_sandbox: Sandbox) -> None:
    """Exit code 2, and the name that is wrong."""
    with pytest.raises(CommandError, match="nobody") as caught:
        run("--project", "nobody")
    assert caught.value.returncode == 2


@pytest.mark.parametrize("answer", ["", "canary-short", None])
def test_sync_without_a_secret_says_what_to_set(
    checkout_sandbox: Sandbox, settings: Any, answer: Any
) -> None:
    """Exit code 2, before any request; that no previous secret is left is no mistake here."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"] | {"PREVIOUS_SECRET_KEYS": [lambda: ""]}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": own}}
    assert run()[0] == 0
    SyncRun.objects.all().delete()
    own |= {"SECRET_KEY": lambda: answer}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": own}}
    with pytest.raises(CommandError, match=r"\['default'\].* SECRET_KEY") as caught:
        run()
    assert caught.value.returncode == 2
    assert "canary" not in str(caught.value)
    assert not SyncRun.objects.exists()


def test_sync_of_one_project_does_not_wait_for_the_secret_of_another(
    checkout_sandbox: Sandbox, settings: Any
) -> None:
    """An unreachable vault stops one project only, and the exit code shows it."""

    def away() -> str:
        raise OSError("the vault is away")

    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    projects = {"other": own | {"PROJECT_ID": "another", "SECRET_KEY": away}, "default": own}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    with pytest.raises(CommandError, match=r"\['other'\]") as caught:
        run()
    assert caught.value.returncode == 2
    assert list(SyncRun.objects.values_list("project", "state")) == [("default", "complete")]


def test_sync_takes_chosen_projects(checkout_sandbox: Sandbox, settings: Any) -> None:
    """All of them when none is named."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    projects = {"default": own, "second": own | {"SECRET_KEY": "sandbox_not_right"}}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    assert run("--project", "default")[0] == 0
    code, printed = run()
    assert code == 1
    assert "default recent: complete" in printed
    assert "second recent: failed" in printed


@pytest.fixture
def service(settings: Any) -> Any:
    """Give a service whose list has the rows of the test."""
    with list_service(settings) as service:
        yield service


def pay_there(service: ListService) -> None:
    """Let the list have a payment that this shop has as an open order."""
    run()
    service.rows = [listed("late", 30, status="created")]
    run()
    service.rows = [listed("late", 30)]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_dry_run_ends_with_the_drift(service: ListService, form: tuple[str, ...]) -> None:
    """Exit code 1, both values, and nothing is written; the pass that records it ends with 0."""
    pay_there(service)
    before = SyncRun.objects.count(), Order.objects.get().status
    code, printed = run("--dry-run", "--lane", "all", *form)
    assert code == 1
    assert "created" in printed and "processed" in printed
    assert (SyncRun.objects.count(), Order.objects.get().status) == before
    if not form:
        assert "  status late: created 9.99 USD here, processed 9.99 USD there\n" in printed
    assert run("--lane", "all")[0] == 0
    assert run("--dry-run", "--lane", "all")[0] == 0


def test_what_the_list_contradicts_is_drift(service: ListService) -> None:
    """A payment of this shop that the list does not have: exit code 1 in each pass, until somebody looks."""
    service.rows = [listed("early"), listed("gone", 10), listed("later", 20)]
    assert run("--lane", "all")[0] == 0
    Order.objects.update(changed_at=HOUR_AGO)
    service.rows = [row for row in service.rows if row["id"] != "gone"]
    code, printed = run("--lane", "all")
    assert code == 1
    assert (
        "  differed: 1 missing_there\n  missing_there gone: processed 9.99 USD here, nothing there\n"
        in printed
    )
    assert "  total processed USD: 29.97 in 3 orders here, 19.98 in 2 orders there\n" in printed
    assert run()[0] == 1


def test_totals_say_of_how_many_orders_they_are(service: ListService) -> None:
    """An unknown amount is no zero, neither in text nor in JSON."""
    service.rows = [
        listed("a"),
        listed("b", 10, amount=None),
        listed("c", 20, status="rejected", amount=None),
    ]
    assert run("--lane", "all")[0] == 0
    Order.objects.filter(order_id="a").update(amount=None)
    code, printed = run("--lane", "all", "--dry-run")
    assert code == 1
    assert "  total processed USD: unknown in 2 orders here, 9.99 in 1 of 2 orders there\n" in printed
    assert "total rejected" not in printed
    (step,) = json.loads(run("--lane", "all", "--dry-run", "--json")[1])["steps"]
    (processed, rejected) = step["report"]["totals"]
    assert processed["here"] == {"count": 2, "unknown": 2, "sum": None}
    assert rejected["here"] == rejected["there"] == {"count": 1, "unknown": 1, "sum": None}


def test_a_long_list_of_differences_is_cut(service: ListService) -> None:
    """The rest is in the JSON."""
    assert run()[0] == 0
    service.rows = [listed(f"new {number}") for number in range(25)]
    code, printed = run("--dry-run")
    assert code == 1
    assert printed.count("missing_here new") == 20
    assert "  and 5 more; --json prints all of them\n" in printed


def test_only_a_period_is_read(service: ListService) -> None:
    """A date is its first moment, and without a zone in UTC."""
    service.rows = [listed(f"o{minutes}", minutes) for minutes in (0, 10, 20)]
    begin = (HOUR_AGO + timedelta(minutes=5)).isoformat()
    end = (HOUR_AGO + timedelta(minutes=15)).replace(tzinfo=None).isoformat()
    code, _ = run("--lane", "all", "--from", begin, "--to", end)
    assert (code, Order.objects.get().order_id) == (0, "o10")
    assert SyncCursor.objects.get().watermark is None
    assert run("--lane", "all", "--to", "2026-01-01")[0] == 0
    assert SyncRun.objects.latest("pk").window_to == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_what_is_no_time_is_refused(option: str) -> None:
    """With an example of one."""
    with pytest.raises(CommandError, match="'yesterday' is no date or time such as 2026-05-31"):
        run(option, "yesterday")


def test_what_is_left_is_resumed(service: ListService, settings: Any) -> None:
    """Unless everything is to be read."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 2}
    service.rows = [listed(f"o{day}-{number}", -day * 1440) for day in range(4) for number in range(3)]
    read = flows.sync.begin_pass("default", "all")
    flows.sync.read_window(read, flows.sync.windows_left(read)[0])
    flows.sync.end_pass(read)
    assert run("--lane", "all")[0] == 0
    resumed = SyncRun.objects.latest("pk")
    assert run("--lane", "all", "--no-resume")[0] == 0
    assert 0 < resumed.rows < SyncRun.objects.latest("pk").rows


def test_lanes_that_are_due_are_read(checkout_sandbox: Sandbox) -> None:
    """For cron: all of them at first, none a moment later."""
    code, printed = run("--lane", "due")
    assert code == 0
    assert [line.partition(":")[0] for line in printed.splitlines()] == [
        f"default {lane}" for lane in flows.sync.LANES
    ]
    assert run("--lane", "due") == (0, "")


class Terminal(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_a_terminal_shows_progress(service: ListService, settings: Any) -> None:
    """Rows, rows per second and the time that is left, on one line, which is cleared at the end."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 2}
    service.rows = [listed(f"o{number}", number) for number in range(6)]
    terminal = Terminal()
    run(terminal=terminal)
    lines = terminal.getvalue().split("\r")
    assert lines[1].startswith("default recent: 2 rows, ")
    assert "rows/s, about " in lines[1] and lines[1].rstrip().endswith("left")
    assert (lines[-2].strip(), lines[-1]) == ("", "")
    quiet = StringIO()
    run(terminal=quiet)
    assert quiet.getvalue() == ""


def test_the_commands_for_a_restored_backup(checkout_sandbox: Sandbox) -> None:
    """The first one says what the copy lacks, the second one brings it."""
    sold(checkout_sandbox)
    shown = block("docs/reconciliation.md", "$ python manage.py checkout_sync --lane all --dry-run")
    look, bring = (line.split()[4:] for line in shown.splitlines())
    assert run(*look)[0] == 1
    assert not Order.objects.filter(status="processed").exists()
    assert run(*bring)[0] == 0
    assert Order.objects.get().status == "processed"
