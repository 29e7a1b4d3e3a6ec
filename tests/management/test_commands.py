"""The commands as cron and people call them: what they do, what they print, how they end."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO

import pytest
from django.core.management import CommandError, call_command, load_command_class

from checkout_integration.models import Order, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.languages.catalogues import forms, places
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
    assert (code, printed) == (0, "6 run, 3 failed, 0 postponed\n")
    assert (len(heard), failing.tries) == (3, 3)
    assert not ReceiverRun.objects.filter(attempts=0).exists()


def test_work_tells_machines(listen: Listening) -> None:
    """The same form as the other commands."""
    listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    code, printed = run("checkout_work", "--once", "--json")
    result = json.loads(printed)
    assert (code, result["ok"], result["steps"][0]["detail"]) == (0, True, "1 run, 0 failed, 0 postponed")


def test_work_with_nothing_due_ends(listen: Listening) -> None:
    """An empty outbox is no error."""
    assert run("checkout_work", "--once") == (0, "0 run, 0 failed, 0 postponed\n")


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


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize(
    ("words", "unit"), [(("checkout_accept", "--kind", "before_installation"), "orders")]
)
def test_progress_is_on_stderr(words: tuple[str, ...], unit: str) -> None:
    """What a program reads is on stdout, also where people see how many are done."""
    for _ in range(2):
        OrderFactory.create(created_at="2020-01-01T00:00:00Z")
    Order.objects.update(verdict_reason="before_installation")
    printed, shown = StringIO(), Terminal()
    call_command(*words, "--reason", "known", "--json", stdout=printed, stderr=shown)
    assert len(json.loads(printed.getvalue())["steps"]) == 2
    assert f"{unit}: 1 {unit}" in shown.getvalue() and shown.getvalue().endswith("\r")


@pytest.mark.parametrize(
    ("variables", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)]
)
@pytest.mark.parametrize("command", ["checkout_accept", "checkout_sandbox"])
def test_no_colour_where_the_variable_says_so(
    command: str, variables: dict[str, str], is_coloured: bool
) -> None:
    """On a terminal; https://no-color.org: the variable counts if it is not empty."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    words = [
        sys.executable,
        "-m",
        "django",
        command,
        *(["--kind", "historic", "--reason", "r"] if command == "checkout_accept" else []),
        "--project",
        "nobody",
    ]
    environment = {**inherited, "TERM": "xterm", **variables}
    with subprocess.Popen(words, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 4096):
                printed += part
    os.close(ours)
    assert process.returncode == 2
    assert b"nobody" in printed
    assert (b"\x1b[" in printed) == is_coloured, printed


COMMAND = re.compile(r"manage\.py (checkout_\w+)((?: (?:--[a-z-]+|%\(\w+\)s|NAME|all|due|recent))*)")


def commands_in_texts() -> list[tuple[str, ...]]:
    """The commands that texts for people name, in pages of the admin, findings and hints."""
    (place,) = [
        each for each in places() if str(each).startswith("checkout_integration") and str(each).endswith("de")
    ]
    texts = [text for message in place.read() for text in forms(message.id)]
    found = {(name, *words.split()) for text in texts for name, words in COMMAND.findall(text)}
    assert len(found) > 7
    return sorted(found)


@pytest.mark.parametrize("words", commands_in_texts(), ids=" ".join)
def test_a_command_that_a_text_names_can_be_typed(words: tuple[str, ...]) -> None:
    """With all that it requires."""
    name, *arguments = words
    parser = load_command_class("checkout_integration", name).create_parser("manage.py", name)
    parser.parse_args(arguments)
