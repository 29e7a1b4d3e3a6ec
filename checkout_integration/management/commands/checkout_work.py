"""``manage.py checkout_work``: run the receivers of signals without Celery."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import close_old_connections

from checkout_integration import flows
from checkout_integration.flows.announcement import Ran
from checkout_integration.flows.repeating import DATABASE_AWAY, Unavailable


class Command(BaseCommand):
    """Any number of these may run at the same time. Exit code 0."""

    help = "Runs the receivers that are due, and goes on until it is stopped (or --once)."

    def add_arguments(self, parser: CommandParser) -> None:
        """How long, how often."""
        parser.add_argument("--once", action="store_true", help="run what is due and stop, for cron")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.add_argument(
            "--interval", type=float, default=1.0, help="seconds between looks when nothing is due"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs what is due; a termination signal ends it after the receiver at hand."""
        stopped, started = threading.Event(), time.monotonic()
        if not options["once"]:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stopped.set())
            self.stderr.write("Running receivers. Stop with Ctrl-C.")
        total = failed = 0
        while True:
            if not options["once"]:
                close_old_connections()
            ran = self._run(once=options["once"])
            total, failed = total + ran.run, failed + ran.failed
            if options["once"] and ran.run == 0:
                break
            if ran.run == 0 and stopped.wait(options["interval"]):
                break
            if stopped.is_set():
                break
        detail = f"{total} run, {failed} failed"
        if options["json"]:
            seconds = round(time.monotonic() - started, 3)
            step = {"name": "receivers", "ok": failed == 0, "seconds": seconds, "detail": detail}
            self.stdout.write(json.dumps({"ok": failed == 0, "steps": [step]}))
        else:
            self.stdout.write(detail)

    def _run(self, *, once: bool) -> Ran:
        """Runs what is due; a worker outlives a restart of its database, and looks again."""
        try:
            return flows.run_deliveries()
        except (Unavailable, *DATABASE_AWAY) as error:
            if once:
                raise
            self.stderr.write(f"The database does not answer ({type(error).__name__}); looking again.")
            return Ran(run=0, failed=0)
