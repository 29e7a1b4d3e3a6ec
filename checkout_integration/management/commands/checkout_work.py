"""``manage.py checkout_work``: do all work without Celery, or print how far behind it is."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from argparse import BooleanOptionalAction
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import close_old_connections, connections

from checkout_integration import flows
from checkout_integration.conf import UnknownAlias
from checkout_integration.flows.database import TRANSIENT_DATABASE_ERRORS, Unavailable, state_database
from checkout_integration.flows.operations import DueSummary, Finding, Severity
from checkout_integration.flows.outbox import Worker
from checkout_integration.management.garbage import garbage_left
from checkout_integration.management.options import between, filled
from checkout_integration.management.syncing import syncing

SLOTS = 4
MOST_SLOTS = 1000
HOUR = 3600
YEAR = 366 * 24 * HOUR
FAIL_ON: Final = (Severity.FAILING, Severity.WARNING)


class Command(BaseCommand):
    """Any number of these may run at the same time.

    Exit code 0; with --status 1 when something is older than --max-age, or a receiver is overdue; with --health 1 when
    something is failing, or with --fail-on warning when not all is well.
    """

    help = (
        "Applies notifications, runs the receivers that are due and reads the transaction list, until it is stopped. With "
        "--once it does what is due and stops, and reads no list. With --status it does nothing and prints how far behind "
        "the work is, whoever does it. With --health it does nothing and prints whether all is well, and what to do."
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
        parser.add_argument("--status", action="store_true", help="print how far behind the work is")
        parser.add_argument(
            "--max-age",
            type=between(float, 0, YEAR),
            default=300.0,
            help="with --status: the exit code is 1 if something has been due for more seconds than this",
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
        if options["status"]:
            self._status(options["max_age"], as_json=options["json"])
            return
        if options["health"]:
            self._health(options["project"], Severity(options["fail_on"]), as_json=options["json"])
            return
        worker, started = Worker(_slots(options["slots"], once=options["once"])), time.monotonic()
        stopped = threading.Event()
        if not options["once"]:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stopped.set())
            self.stderr.write(f"Running receivers in {worker.slots} slots. Stop with Ctrl-C.")
        if options["once"]:
            # RACE: a slot that looks while another one hands over finds nothing to run, and ends.
            flows.outbox.fan_out()
        work = partial(self._work, worker, stopped, None if options["once"] else options["interval"])
        with syncing(stopped) if options["sync"] and not options["once"] else nullcontext(), garbage_left():
            total = work() if worker.slots == 1 else _in_threads(work, worker.slots)
        detail = f"{total.run} run, {total.failed} failed"
        if options["json"]:
            self._print_step("receivers", total.failed == 0, time.monotonic() - started, detail)
        else:
            self.stdout.write(detail)

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

    def _status(self, max_age: float, *, as_json: bool) -> None:
        started, queue = time.monotonic(), flows.operations.queue_state()
        unsynced = flows.sync.unsynced_for().total_seconds()
        ok = queue.oldest_seconds <= max_age and not queue.overdue
        detail = (
            f"oldest left for {queue.oldest_seconds:.0f} s; {queue.stored} stored, {queue.new} new, {queue.due} due, "
            f"{queue.running} running, {queue.waiting} waiting, {queue.failed} failed, {queue.overdue} overdue; "
            f"list read {unsynced:.0f} s ago"
        )
        if as_json:
            figures = {**asdict(queue), "unsynced_seconds": round(unsynced, 3)}
            self._print_step("queue", ok, time.monotonic() - started, detail, **figures)
        else:
            self.stdout.write(detail)
        if not ok:
            sys.exit(1)

    def _health(self, project: str | None, fail_on: Severity, *, as_json: bool) -> None:
        started = time.monotonic()
        try:
            health = flows.operations.health(project)
        except UnknownAlias as error:
            raise CommandError(str(error), returncode=2) from None
        ok = health.severity.rank < fail_on.rank
        if as_json:
            seconds = round(time.monotonic() - started, 3)
            steps = [_step_of(finding, fail_on, seconds) for finding in health.findings]
            self.stdout.write(json.dumps({"ok": ok, "severity": health.severity.value, "steps": steps}))
        else:
            for finding in health.findings:
                place = f" ({finding.project})" if finding.project else ""
                self.stdout.write(f"{finding.severity}: {finding.name}{place}: {finding.text}")
        if not ok:
            sys.exit(1)

    def _print_step(self, name: str, ok: bool, seconds: float, detail: str, **more: object) -> None:
        step = {"name": name, "ok": ok, "seconds": round(seconds, 3), "detail": detail, **more}
        self.stdout.write(json.dumps({"ok": ok, "steps": [step]}))


def _step_of(finding: Finding, fail_on: Severity, seconds: float) -> dict[str, object]:
    """Return a finding as a step; all of them were found in the same seconds."""
    return {
        "name": finding.name,
        "ok": finding.severity.rank < fail_on.rank,
        "seconds": seconds,
        "detail": finding.text,
        "project": finding.project,
        "severity": finding.severity.value,
        "figures": dict(finding.figures),
    }


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
