"""The work of a process that helps `checkout_sync` (`sync_workers`). It loads Django, unless it is a copy of the command."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def help_read(run_pk: int, command_pid: int | None = None) -> None:
    """Read windows of a pass until none is left; the process that began the pass ends it.

    ``command_pid``: of the command that this process is a copy of. The parent of a new Python may be a launcher.
    """
    began = command_pid or os.getppid()
    if command_pid:
        # In a group of its own: Ctrl-C reaches the command alone, which ends the others. What the project's code prints must
        # not be among the results of the command.
        os.setpgid(0, 0)
        os.dup2(2, 1)

    import django
    from django.apps import apps

    if not apps.ready:  # else the loggers would be configured twice
        django.setup()

    from django.db import connections

    from checkout_integration import flows
    from checkout_integration.flows.database import state_database
    from checkout_integration.management.garbage import garbage_left
    from checkout_integration.models import SyncRun

    def after_page(run: SyncRun) -> None:
        if os.getppid() != began:  # it was killed, so nobody would end the pass
            sys.exit(1)

    try:
        with ended_by_signals(), garbage_left():
            flows.sync.read_windows(SyncRun.objects.using(state_database()).get(pk=run_pk), after_page)
    finally:
        connections.close_all()
        logging.shutdown()  # a copy ends without what Python does at its end


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
