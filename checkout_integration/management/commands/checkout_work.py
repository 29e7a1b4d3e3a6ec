"""``manage.py checkout_work``: do all work without Celery, or print whether all is well."""

from __future__ import annotations

import signal
import sys
import threading
import time
from argparse import BooleanOptionalAction
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser
from django.db import close_old_connections, connections

from checkout_integration import flows
from checkout_integration.conf import UnknownAlias
from checkout_integration.flows import DueSummary
from checkout_integration.flows.database import TRANSIENT_DATABASE_ERRORS, Unavailable, state_database
from checkout_integration.flows.outbox import Worker
from checkout_integration.management.database_command import DatabaseCommand, step_of
from checkout_integration.management.options import between, filled
from checkout_integration.management.syncing import syncing
from checkout_integration.policy.severity import Severity

SLOTS = 4
MOST_SLOTS = 1000
HOUR = 3600
FAIL_ON: Final = (Severity.FAILING, Severity.WARNING)


class Command(DatabaseCommand):
    """Any number of these may run at the same time.

    Exit code 0; with --health 1 when something is failing, or with --fail-on warning when not all is well. 4 when the
    database does not respond; without --once the command waits for it instead.
    """

    help = (
        "Applies notifications, runs the receivers that are due and reads the transaction list, until it is stopped. With "
        "--once it does what is due and stops, and reads no list. With --health it does nothing and prints whether all is "
        "well, whoever does the work, and what to do."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: how long, how often, how many at once."""
        parser.add_argument("--once", action="store_true", help="run what is due and stop, for cron")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.add_argument(
            "--interval",
            type=between(float, 0.01, HOUR),
            default=1.0,
            help="seconds to wait when nothing is due",
        )
        parser.add_argument(
            "--slots",
            type=between(int, 1, MOST_SLOTS),
            help=f"receivers that run at the same time ({SLOTS}; 1 with --once and on SQLite); while others wait, one "
            "has at most half of them",
        )
        parser.add_argument(
            "--sync",
            action=BooleanOptionalAction,
            default=True,
            help="read each lane of the transaction list when it is due (default), or leave that to others",
        )
        parser.add_argument("--health", action="store_true", help="print whether all is well, and what to do")
        parser.add_argument("--project", type=filled, help="with --health: the alias of one project")
        parser.add_argument(
            "--fail-on",
            choices=[severity.value for severity in FAIL_ON],
            default=Severity.FAILING.value,
            help="with --health: the lowest severity for which the exit code is 1",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do due work; a termination signal ends it after the running receivers."""
        if options["health"]:
            self._health(options["project"], Severity(options["fail_on"]), as_json=options["json"])
            return
        worker, started = Worker(_slots(options["slots"], once=options["once"])), time.monotonic()
        stopped = threading.Event()
        if not options["once"]:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stopped.set())
            self.stderr.write(f"Running receivers in {worker.slots} slots. Stop with Ctrl-C.")
        work = partial(self._work, worker, stopped, None if options["once"] else options["interval"])
        with syncing(stopped) if options["sync"] and not options["once"] else nullcontext():
            total = work() if worker.slots == 1 else _in_threads(work, worker.slots)
        detail = f"{total.run} run, {total.failed} failed, {total.postponed} postponed"
        step = step_of("receivers", started, detail, ok=total.failed == 0)
        self.print_step(step, as_json=options["json"])

    def _work(self, worker: Worker, stopped: threading.Event, interval: float | None) -> DueSummary:
        """Do one slot's work: until it is stopped or, without an interval, until nothing is due."""
        total = DueSummary()
        while not stopped.is_set():
            if interval is not None:
                close_old_connections()
            ran = self._run(worker, stopped, once=interval is None)
            total += ran
            if not ran.did_anything and (interval is None or stopped.wait(interval)):
                break
        return total

    def _run(self, worker: Worker, stopped: threading.Event, *, once: bool) -> DueSummary:
        """Do due work; a worker survives a restart of its database, and looks again."""
        try:
            return flows.run_due(worker=worker, stopping=stopped.is_set)
        except (Unavailable, *TRANSIENT_DATABASE_ERRORS) as error:
            if once:
                raise
            self.stderr.write(f"The database does not respond ({type(error).__name__}); looking again.")
            return DueSummary()

    def _health(self, project: str | None, fail_on: Severity, *, as_json: bool) -> None:
        started = time.monotonic()
        try:
            health = flows.operations.health(project)
        except UnknownAlias as error:
            raise CommandError(str(error), returncode=2) from None
        if not self.print_findings(health.findings, fail_on, started if as_json else None):
            sys.exit(1)


def _slots(option: int | None, *, once: bool) -> int:
    """Return the number of slots. On SQLite one: a receiver has the only write lock there."""
    if not connections[state_database()].features.has_select_for_update or (option is None and once):
        return 1
    return option or SLOTS


def _in_threads(work: partial[DueSummary], slots: int) -> DueSummary:
    """Do the work in as many threads, each with a connection of its own; raise the exception of one at the end."""

    def in_one() -> DueSummary:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(slots, thread_name_prefix="checkout-slot") as threads:
        futures = [threads.submit(in_one) for _ in range(slots)]
        return sum((future.result() for future in futures), DueSummary())
