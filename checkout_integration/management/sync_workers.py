"""The processes that help a command read the windows of one long pass: Python's threads would share one core.

Each has connections and memory of its own, and takes windows that nobody has begun.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Final

from django.db import connections

from checkout_integration import flows
from checkout_integration.flows.database import state_database
from checkout_integration.flows.sync import Progress
from checkout_integration.management.garbage import garbage_of_pages
from checkout_integration.models import SyncRun

logger = logging.getLogger("checkout_integration.sync")

START: Final = (
    "import django; django.setup(); from checkout_integration.management.sync_workers import help_read; "
    "help_read({run})"
)
SETTINGS: Final = "DJANGO_SETTINGS_MODULE"
LOOK_EVERY: Final = 0.5
LONGEST_END: Final = 5.0
"""Seconds that all processes together have to leave their pages after a signal, before they are killed."""


def can_help() -> bool:
    """Return whether other processes can write too: they see only what this one has committed."""
    connection = connections[state_database()]
    return connection.features.has_select_for_update and not connection.in_atomic_block


@contextmanager
def helpers(run: SyncRun, count: int, progress: Progress) -> Iterator[None]:
    """Let so many processes read windows of the pass, too; wait for them at the end, or end them after an error."""
    # The options of manage.py and the folders of this process apply to them, too.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", START.format(run=run.pk)]
    started: list[subprocess.Popen[bytes]] = []
    try:
        # In a group of its own: Ctrl-C reaches this process alone, which ends the others. What the project's modules print
        # must not be among the results of the command.
        for _ in range(count):
            process = subprocess.Popen(  # noqa: S603  # our own Python
                command, env=environment, stdin=subprocess.DEVNULL, stdout=2, process_group=0
            )
            started.append(process)
        yield
        for each in started:
            if code := _await(each, run, progress):
                logger.error("A process that read windows ended with exit code %s.", code, extra=run.log_ids)
    finally:
        _end(started)


def help_read(run_pk: int) -> None:
    """Read windows of a pass until none is left; the process that began the pass ends it."""
    run, began = SyncRun.objects.using(state_database()).get(pk=run_pk), os.getppid()
    with ended_by_signals(), garbage_of_pages() as collect:

        def after_page(run: SyncRun) -> None:
            if os.getppid() != began:  # it was killed, so nobody would end the pass
                sys.exit(1)
            collect()

        flows.sync.read_windows(run, after_page)
    gc.freeze()  # else the end of the process would look for garbage in all modules, which takes a fifth of a second


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise ``SystemExit``: the page at hand is rolled back, and the windows are released."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _await(process: subprocess.Popen[bytes], run: SyncRun, progress: Progress) -> int:
    while True:
        try:
            return process.wait(LOOK_EVERY)
        except subprocess.TimeoutExpired:
            progress(run)


def _end(started: list[subprocess.Popen[bytes]]) -> None:
    for each in started:
        each.terminate()
    ends_at = monotonic() + LONGEST_END
    for each in started:
        try:
            each.wait(max(ends_at - monotonic(), 0))
        except subprocess.TimeoutExpired:
            each.kill()
            each.wait()
