"""How `checkout_sync` ends in the middle of a pass: by a signal, or killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any, Final

import pytest
from django.core.management import call_command
from django.db import connection

from checkout_integration.models import Installation, Order, SyncCursor, SyncDifference, SyncRun, Transition
from tests.support.flows.list_service import HOUR_AGO, ListService, listed, serving
from tests.support.flows.threads import await_true

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time"),
]
ROOT: Final = Path(__file__).resolve().parents[2]
DAYS, EACH, PAGE = 6, 20, 10
DAY: Final = 24 * 60
CHECKOUT_SYNC: Final = ["checkout_sync", "--lane", "all"]
COMMAND: Final = (
    "import sys; from django.core.management import execute_from_command_line as run; run(sys.argv)"
)


class SharedList(ListService):
    """A list in which the page of a window can wait, so that a test knows what is read at the moment."""

    def __init__(self) -> None:
        super().__init__(before_page=self.wait)
        self.goes_on = Event()
        self.begun: set[str] = set()

    def wait(self, query: Mapping[str, list[str]]) -> None:
        """Let all windows wait once their first page is requested."""
        if "project_date_to" in query or "project_date_from" in query:
            self.begun.add(f"{query.get('project_date_from')} {query.get('project_date_to')}")
            self.goes_on.wait(30)


@pytest.fixture
def shop(settings: Any) -> Iterator[SharedList]:
    """Give a list of orders of several days, each of them more than a page."""
    Installation.objects.create(project="default", installed_at=HOUR_AGO - timedelta(days=900))
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": PAGE}
    service = SharedList()
    for day in reversed(range(DAYS)):
        service.rows += [listed(f"o{day}-{number}", number - day * DAY) for number in range(EACH)]
    with serving(settings, service):
        yield service
        service.goes_on.set()


@contextmanager
def command(settings: Any) -> Iterator[subprocess.Popen[str]]:
    """Run the command in a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "tests.support.process_settings",
        "CHECKOUT_WORKER_DATABASE": str(connection.settings_dict["NAME"]),
        "CHECKOUT_WORKER_SETTINGS": json.dumps(settings.CHECKOUT_INTEGRATION),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *CHECKOUT_SYNC],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def assert_all_read_once() -> None:
    """Each order is there, with one change of state: its first one."""
    assert Order.objects.count() == Transition.objects.count() == DAYS * EACH
    assert SyncRun.objects.latest("pk").state == "complete"
    assert not SyncDifference.objects.exclude(kind="missing_here").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command(shop: SharedList, settings: Any, number: signal.Signals) -> None:
    """In the middle of a page; the next pass begins at once and reads what is left."""
    with command(settings) as process:
        await_true(lambda: len(shop.begun) == 1)
        process.send_signal(number)
        _, errors = process.communicate(timeout=10)
    assert (process.returncode, "Traceback" in errors) == (128 + number, False)
    cut_off = SyncRun.objects.get()
    assert (cut_off.state, cut_off.failure) == ("failed", "It was not read to its end.")
    assert SyncCursor.objects.get().busy_until is None
    shop.goes_on.set()
    call_command("checkout_sync", "--lane", "all")
    assert_all_read_once()


def test_the_pass_of_a_killed_command_is_resumed(shop: SharedList, settings: Any) -> None:
    """By the next one, after its lease; until then the lane is taken."""
    with command(settings) as process:
        await_true(lambda: len(shop.begun) == 1)
        process.kill()
        process.wait()
    shop.goes_on.set()
    printed = StringIO()
    call_command("checkout_sync", "--lane", "all", stdout=printed)
    assert printed.getvalue() == "Another pass reads all of default at the moment.\n"
    assert not Order.objects.exists()
    SyncCursor.objects.update(busy_until=HOUR_AGO)
    call_command("checkout_sync", "--lane", "all")
    assert_all_read_once()
