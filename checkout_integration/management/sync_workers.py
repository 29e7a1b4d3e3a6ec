"""The processes that help a command read the windows of one long pass: Python's threads would share one core.

Each has connections and memory of its own, and takes windows that nobody has begun.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias

from django.core.cache import caches
from django.db import connections

from checkout_integration.flows.database import state_database
from checkout_integration.flows.sync import Progress
from checkout_integration.management.helping import help_read
from checkout_integration.models import SyncRun

logger = logging.getLogger("checkout_integration.sync")
Helper: TypeAlias = "BaseProcess | subprocess.Popen[bytes]"

START: Final = "from checkout_integration.management.helping import help_read; help_read({run})"
SETTINGS: Final = "DJANGO_SETTINGS_MODULE"
THREADS: Final = Path("/proc/self/task")
"""Lists the threads of this process, those of extensions written in C too. Only Linux has it."""
LOOK_EVERY: Final = 0.5
LONGEST_END: Final = 5.0
"""Seconds that all processes together have to leave their pages after a signal, before they are killed."""


def can_help() -> bool:
    """Return whether other processes can write too: they see only what this one has committed."""
    connection = connections[state_database()]
    return connection.features.has_select_for_update and not connection.in_atomic_block


@contextmanager
def helpers(run: SyncRun, count: int, progress: Progress, *, copies: bool) -> Iterator[None]:
    """Let so many processes read windows of the pass, too; wait for them at the end, or end them after an error.

    ``copies``: they may be copies of this process (`_can_copy`), as none of the shop's own code has run in it yet. Loading
    Django anew takes most of a second.
    """
    started: list[Helper] = []
    try:
        start = _copy if count > 0 and copies and _can_copy() else _new_python
        started.extend(start(run) for _ in range(count))
        yield
        for each in started:
            while (code := _exit_code(each, LOOK_EVERY)) is None:
                progress(run)
            if code:
                logger.error("A process that read windows ended with exit code %s.", code, extra=run.log_ids)
    finally:
        _end(started)


def _can_copy() -> bool:
    """Return whether this process can be copied. A copy lacks the other threads: what one has locked would stay locked.

    And its end must be seen, which a host prevents by ignoring the signal about it.
    """
    alone = THREADS.is_dir() and len(list(THREADS.iterdir())) == 1
    return alone and signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL


def _copy(run: SyncRun) -> Helper:
    # The copy must not share a connection. Caches are dropped too, since some do not close theirs.
    connections.close_all()
    caches.close_all()
    for alias in caches:
        with suppress(AttributeError):  # it was not used yet
            del caches[alias]
    process = multiprocessing.get_context("fork").Process(target=help_read, args=(run.pk, os.getpid()))
    process.start()
    return process


def _new_python(run: SyncRun) -> Helper:
    # The options of manage.py and the folders of this process apply to it, too; -P: but not the current folder. In a group of
    # its own, and with stdout on stderr from the start, as `help_read` has it for a copy.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-P", "-c", START.format(run=run.pk)]
    return subprocess.Popen(  # noqa: S603  # our own Python
        command, env=environment, stdin=subprocess.DEVNULL, stdout=2, process_group=0
    )


def _exit_code(process: Helper, seconds: float) -> int | None:
    """Return the exit code of a process; None if it still runs after so many seconds."""
    if isinstance(process, BaseProcess):
        process.join(seconds)
        return process.exitcode
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _end(started: list[Helper]) -> None:
    for each in started:
        each.terminate()
    ends_at = monotonic() + LONGEST_END
    try:
        for each in started:
            _exit_code(each, max(ends_at - monotonic(), 0))
    finally:  # the time is over, or somebody has pressed Ctrl-C once more
        for each in started:
            each.kill()
            _exit_code(each, LONGEST_END)
