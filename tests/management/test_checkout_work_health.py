"""`checkout_work --health`: lines for people, steps for programs, and exit codes for cron."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError

from checkout_integration.signals import checkout_paid
from tests.management.test_commands import run
from tests.support.admin import rows
from tests.support.documents import block
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db


def fail() -> None:
    """Give a receiver up."""
    rows.make_run(rows.make_order(), state="failed", due_at=datetime.now(UTC))


def test_all_is_well() -> None:
    """Each finding is a line; the exit code is 0, for warnings too."""
    code, printed = run("checkout_work", "--health", "--fail-on", "warning")
    assert code == 0
    assert "ok: run: Runs of the shop's code to do: 0.\n" in printed
    assert "ok: incidents (default): No incident is open.\n" in printed


def test_a_failure_is_1(listen: Listening) -> None:
    """And the line says what to do; the command in it is one that runs."""
    fail()
    listen(checkout_paid, name="shop.receivers.grant")
    code, printed = run("checkout_work", "--health")
    assert code == 1
    (line,) = [each for each in printed.splitlines() if each.startswith("failing: receivers_given_up: ")]
    assert "given up after their last attempt: 1, the last one" in line and "Correct the code" in line
    (mend,) = re.findall(r"manage\.py checkout_replay (--receiver \S+ --failed)\.", line)
    assert run("checkout_replay", *mend.split())[0] == 0
    assert line.endswith(" /admin/checkout_integration/failures/")
    assert printed.startswith(line)


def test_the_crontab_of_the_page_fails_at_a_warning() -> None:
    """So that cron sends a mail."""
    _, line = block("docs/health.md", "# crontab").splitlines()
    command, _, _ = line.partition("manage.py ")[2].partition(" >")
    assert run(*shlex.split(command))[0] == 0
    rows.make_incident(None)
    assert run(*shlex.split(command))[0] == 1


@pytest.mark.parametrize(("fail_on", "code"), [("failing", 0), ("warning", 1)])
def test_a_warning_is_1_by_an_option(fail_on: str, code: int) -> None:
    """That is --fail-on."""
    rows.make_incident(None)
    assert run("checkout_work", "--health", "--fail-on", fail_on)[0] == code


def test_programs_read_steps() -> None:
    """Those of every command, with project, severity and figures."""
    fail()
    code, printed = run("checkout_work", "--health", "--json")
    result = json.loads(printed)
    assert (code, result["ok"], result["severity"]) == (1, False, "failing")
    (step,) = [each for each in result["steps"] if not each["ok"]]
    assert set(step) == {
        "name",
        "ok",
        "seconds",
        "detail",
        "project",
        "severity",
        "link",
        "action",
        "figures",
    }
    assert (step["name"], step["figures"]["failed"]) == ("receivers_given_up", 1)


def test_an_unknown_project_is_a_wrong_option() -> None:
    """With the exit code of those."""
    with pytest.raises(CommandError, match="elsewhere") as raised:
        run("checkout_work", "--health", "--project", "elsewhere")
    assert raised.value.returncode == 2


def test_the_commands_of_the_page_run() -> None:
    """Each of them."""
    shown = block("docs/health.md", "$ python manage.py checkout_work --health")
    assert [run(*shlex.split(line)[3:])[0] for line in shown.splitlines()] == [0, 0, 0]
