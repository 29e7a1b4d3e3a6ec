"""The processes that help a command read the windows of one long pass: Python's threads would share one core.

Each has connections and memory of its own, and takes windows that nobody has begun.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Final

from django.core.cache import caches
from django.db import connections

from checkout_integration.flows.database import state_database
from checkout_integration.flows.sync import Progress
from checkout_integration.management.helping import help_read
from checkout_integration.models import SyncRun

logger = logging.getLogger("checkout_integration.sync")

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
def helpers(run: SyncRun, count: int, progress: Progress) -> Iterator[None]:
    """Let so many processes read windows of the pass, too; wait for them at the end, or end them after an error."""
    started: list[BaseProcess] = []
    try:
        if count > 0:
            kind = _kind_of_process()
            started += [kind(target=help_read, args=(run.pk,)) for _ in range(count)]
        for each in started:
            each.start()
        yield
        for each in started:
            if code := _await(each, run, progress):
                logger.error("A process that read windows ended with exit code %s.", code, extra=run.log_ids)
    finally:
        _end(started)


def _kind_of_process() -> type[BaseProcess]:
    """Return the kind of process that helps: a copy of this one where that is safe, since loading Django takes a while.

    A copy lacks the other threads, so what one of them has locked would stay locked. It would share the connections, so they
    are closed before; inside a transaction that is impossible.
    """
    alone = THREADS.is_dir() and len(list(THREADS.iterdir())) == 1
    if not alone or any(each.in_atomic_block for each in connections.all(initialized_only=True)):
        return multiprocessing.get_context("spawn").Process
    connections.close_all()
    caches.close_all()
    return multiprocessing.get_context("fork").Process


def _await(process: BaseProcess, run: SyncRun, progress: Progress) -> int | None:
    while process.is_alive():
        process.join(LOOK_EVERY)
        progress(run)
    return process.exitcode


def _end(started: list[BaseProcess]) -> None:
    running = [each for each in started if each.pid]
    for each in running:
        each.terminate()
    ends_at = monotonic() + LONGEST_END
    for each in running:
        each.join(max(ends_at - monotonic(), 0))
        if each.is_alive():
            each.kill()
            each.join()
