"""The processes of `checkout_sync --workers 2`: they share a pass, and end with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any, Final

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from checkout_integration.models import Installation, Order, SyncCursor, SyncDifference, SyncRun, Transition
from tests.support.flows.list_service import HOUR_AGO, ListService, document, listed, serving
from tests.support.flows.threads import await_true

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time"),
]
ROOT: Final = Path(__file__).resolve().parents[2]
DAYS, EACH, PAGE = 6, 20, 10
DAY: Final = 24 * 60
CHECKOUT_SYNC: Final = ["checkout_sync", "--lane", "all", "--workers", "2"]
COMMAND: Final = (
    "import sys; from django.core.management import execute_from_command_line as run; run(sys.argv)"
)
WITH_A_THREAD: Final = (
    f"import threading as t; t.Thread(target=t.Event().wait, daemon=True).start(); {COMMAND}"
)
CALLED: Final = (
    "import django, sys; from django.core.management import call_command as call; "
    "django.setup(); call(*sys.argv[1:])"
)
COMMANDS: Final = {
    "copied": COMMAND,
    "not copied, for its thread": WITH_A_THREAD,
    "not copied, as called": CALLED,
}


@pytest.fixture(params=COMMANDS)
def code(request: pytest.FixtureRequest) -> str:
    """Give the code of a command. It is copied where that is safe, else another Python helps it."""
    return COMMANDS[request.param]


class SharedList(ListService):
    """A list in which the page of a window can wait, so that a test knows who reads at the moment."""

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
def command(settings: Any, code: str, folder: Path = ROOT) -> Iterator[subprocess.Popen[str]]:
    """Run the command in a process of its own, which imports nothing from the current folder."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "tests.support.process_settings",
        "CHECKOUT_WORKER_DATABASE": str(connection.settings_dict["NAME"]),
        "CHECKOUT_WORKER_SETTINGS": json.dumps(settings.CHECKOUT_INTEGRATION),
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code, *CHECKOUT_SYNC],
        cwd=folder,
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


def helper_of(process: subprocess.Popen[str]) -> int:
    """Return the process that helps the command."""
    from tests.stress.chaos.parts import children_of

    (child,) = children_of(process.pid)
    return child


def words_of(pid: int) -> bytes:
    """Return the words with which a process was started; a copy has those of its original (Linux)."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def is_alive(pid: int) -> bool:
    """Return whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def assert_all_read_once() -> None:
    """Each order is there, with one change of state: its first one."""
    assert Order.objects.count() == Transition.objects.count() == DAYS * EACH
    assert SyncRun.objects.latest("pk").state == "complete"
    assert not SyncDifference.objects.exclude(kind="missing_here").exists()


def test_two_processes_read_two_windows_at_once(shop: SharedList, settings: Any, code: str) -> None:
    """The first page of two windows is requested before either of them is sent."""
    with command(settings, code) as process:
        await_true(lambda: len(shop.begun) == 2)
        commands = {words_of(each) for each in (process.pid, helper_of(process))}
        shop.goes_on.set()
        printed, errors = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in errors) == (0, False)
    assert len(commands) == (1 if code == COMMAND and sys.platform == "linux" else 2)
    assert "default all: complete" in printed
    assert_all_read_once()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes(
    shop: SharedList, settings: Any, code: str, number: signal.Signals
) -> None:
    """In the middle of two pages; the next pass begins at once and reads what is left."""
    with command(settings, code) as process:
        await_true(lambda: len(shop.begun) == 2)
        helper = helper_of(process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=10)
    assert (process.returncode, "Traceback" in errors) == (128 + number, False)
    assert not is_alive(helper)
    cut_off = SyncRun.objects.get()
    assert (cut_off.state, cut_off.failure) == ("failed", "It was not read to its end.")
    assert SyncCursor.objects.get().busy_until is None
    shop.goes_on.set()
    call_command("checkout_sync", "--lane", "all")
    assert_all_read_once()


def test_the_window_of_a_killed_process_is_read_by_the_other_one(
    shop: SharedList, settings: Any, code: str
) -> None:
    """As when the system has no memory left; the command says that it happened."""
    with command(settings, code) as process:
        await_true(lambda: len(shop.begun) == 2)
        os.kill(helper_of(process), signal.SIGKILL)
        shop.goes_on.set()
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "ended with exit code -9" in errors
    assert_all_read_once()


def test_a_process_ends_when_the_command_was_killed(shop: SharedList, settings: Any, code: str) -> None:
    """Nobody would end the pass; the next one resumes it after its lease."""
    with command(settings, code) as process:
        await_true(lambda: len(shop.begun) == 2)
        helper = helper_of(process)
        process.kill()
        process.wait()
        shop.goes_on.set()
        await_true(lambda: not is_alive(helper))
    assert Order.objects.count() < DAYS * EACH / 2
    SyncCursor.objects.update(busy_until=HOUR_AGO)
    call_command("checkout_sync", "--lane", "all")
    assert_all_read_once()


def test_a_refund_is_read_at_the_same_time_as_its_payment(shop: SharedList, settings: Any, code: str) -> None:
    """They stand in two windows; the pass itself finds it all the same, and the totals agree."""
    names = [f"o{DAYS - 1}-{number}" for number in range(EACH)]
    shop.rows[EACH:] = [document(f"refund of {name}", of=name, minutes=-DAY) for name in names]
    with command(settings, code) as process:
        await_true(lambda: len(shop.begun) == 2)
        shop.goes_on.set()
        printed, _ = process.communicate(timeout=30)
    assert (process.returncode, "total" in printed) == (0, False)
    assert Order.objects.filter(status="refunded").count() == EACH == Order.objects.count()


def test_nothing_is_imported_from_the_current_folder(shop: SharedList, settings: Any, tmp_path: Path) -> None:
    """Others may be able to write there, and another shop's settings may have the same name."""
    (tmp_path / "django.py").write_text("raise SystemExit(3)")
    with command(settings, WITH_A_THREAD, tmp_path) as process:
        await_true(lambda: len(shop.begun) == 2)
        shop.goes_on.set()
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, "exit code" in errors) == (0, False)
    assert_all_read_once()


def test_without_a_module_of_settings_nothing_is_read(
    shop: SharedList, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process could not load them: the command says what to set."""
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE")
    with pytest.raises(CommandError, match="DJANGO_SETTINGS_MODULE") as caught:
        call_command("checkout_sync", "--workers", "2")
    assert caught.value.returncode == 2
    assert not SyncRun.objects.exists()
