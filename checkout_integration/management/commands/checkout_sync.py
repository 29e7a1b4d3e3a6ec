"""``manage.py checkout_sync``: read the service's transaction list now."""

from __future__ import annotations

import json
import signal
import sys
from argparse import BooleanOptionalAction
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from types import FrameType
from typing import Any

from django.core.management.base import CommandError, CommandParser

from checkout_integration import dispatch, flows
from checkout_integration.conf import app_settings, secret_problems
from checkout_integration.display import amount_text
from checkout_integration.flows.sync import LANES, DriftReport, LaneTaken
from checkout_integration.management.database_command import DatabaseCommand, require_project
from checkout_integration.management.options import moment
from checkout_integration.management.progress import ProgressLine
from checkout_integration.models import SyncRun

DUE = "due"
SHOWN = 20
"""How many differences are printed; --json has all of them."""


class Command(DatabaseCommand):
    """Exit codes: 0 the list and this shop are equal, 1 they differ or a pass failed, 2 usage, 3 the service did not respond.

    What this shop had missed, and the pass recorded, counts as equal. With --dry-run it counts as a difference.
    """

    help = (
        "Reads the service's transaction list and applies its rows, as notifications are applied. With --dry-run it only "
        "compares the list with this shop, and writes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: which projects, which lane and period, what is done."""
        parser.add_argument(
            "--project", action="append", help="alias of a project; all projects when not given"
        )
        parser.add_argument(
            "--lane",
            choices=[*LANES, DUE],
            default="recent",
            help=f"which part of the list; {DUE!r}, for cron: all lanes that are due",
        )
        parser.add_argument(
            "--from",
            type=moment,
            dest="date_from",
            help="only orders created then or later, such as 2026-05-31 or 2026-05-31T12:00+02:00; without a zone in UTC",
        )
        parser.add_argument(
            "--to",
            type=moment,
            dest="date_to",
            help="only orders created then or earlier; a date means the beginning of that day",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print what differs from the list, and write nothing"
        )
        parser.add_argument(
            "--resume",
            action=BooleanOptionalAction,
            default=True,
            help="if the last long pass did not end, read only what it left (default), or read everything",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def run_from_argv(self, argv: list[str]) -> None:
        """Run in a process of its own, which Ctrl-C and SIGTERM end: the page at hand is rolled back, its window released."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _exit)
        super().run_from_argv(argv)

    def handle(self, *args: Any, **options: Any) -> None:
        """Sync each project, hand over to the receivers, and print what each pass found."""
        projects = options["project"] or list(app_settings().projects)
        for project in sorted(projects):
            require_project(project)
        # A project with wrong settings does not prevent the sync of the others.
        refused = {project: problems for project in projects if (problems := _secret_problems(project))}
        reports, busy = list[DriftReport](), list[str]()
        for project, lane in _passes([each for each in projects if each not in refused], options["lane"]):
            try:
                reports.append(self._sync(project, lane, options))
            except LaneTaken as error:
                busy.append(str(error))
        if not options["dry_run"]:
            dispatch.dispatch_due()
        ok = not refused and all(_is_equal(report) for report in reports)
        if options["json"]:
            self.stdout.write(json.dumps({"ok": ok, "steps": [_step(report) for report in reports]}))
        else:
            for line in [*(line for report in reports for line in _lines(report)), *busy]:
                self.stdout.write(line)
        if refused:
            raise CommandError("\n".join(refused.values()), returncode=2)
        if not ok:
            states = {report.run.state for report in reports}
            sys.exit(3 if SyncRun.State.UNREACHABLE in states else 1)

    def _sync(self, project: str, lane: str, options: dict[str, Any]) -> DriftReport:
        chosen = ("date_from", "date_to", "dry_run", "resume")
        line = ProgressLine(self.stderr, "rows")
        run = flows.sync.sync_transactions(
            project,
            lane,
            progress=lambda run: line.show(f"{run.project} {run.lane}", run.rows, run.expected),
            **{name: options[name] for name in chosen},
        )
        line.end()
        return flows.sync.drift_report(run)


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _passes(projects: list[str], lane: str) -> Iterator[tuple[str, str]]:
    for project in projects:
        for each in flows.sync.lanes_due(project) if lane == DUE else [lane]:
            yield project, each


def _secret_problems(alias: str) -> str:
    """Return the problems of a project's secret, with corrections; only the current secret is needed."""
    project = replace(app_settings().project(alias), previous_secret_keys=())
    return " ".join(f"{problem.message} {problem.hint}" for problem in secret_problems(project))


def _is_equal(report: DriftReport) -> bool:
    return report.run.state == SyncRun.State.COMPLETE and report.totals_agree and not report.waiting


def _step(report: DriftReport) -> dict[str, Any]:
    run = report.run
    ended = run.finished_at or run.started_at
    return {
        "name": f"{run.project} {run.lane}",
        "ok": _is_equal(report),
        "seconds": round((ended - run.started_at).total_seconds(), 3),
        "detail": _detail(run),
        "report": report.as_json(),
    }


def _lines(report: DriftReport) -> Iterator[str]:
    run = report.run
    yield f"{run.project} {run.lane}: {run.state}, {_detail(run)}"
    if report.counts:
        yield "  differed: " + ", ".join(f"{count} {kind}" for kind, count in report.counts.items())
    for each in report.waiting[:SHOWN]:
        yield f"  {each.kind} {each.order_id}: {each.here or 'nothing'} here, {each.there or 'nothing'} there"
    if len(report.waiting) > SHOWN:
        yield f"  and {len(report.waiting) - SHOWN} more; --json prints all of them"
    for line in report.run.totals:
        if line["here"] != line["there"]:
            here, there = (_total(line[side], line["currency"]) for side in ("here", "there"))
            yield f"  total {line['status']} {line['currency']}: {here} here, {there} there"


def _total(side: dict[str, Any], currency: str) -> str:
    known, count = side["count"] - side["unknown"], side["count"]
    total = "unknown" if side["sum"] is None else amount_text(Decimal(side["sum"]), currency)
    return f"{total} in {count if known in (0, count) else f'{known} of {count}'} orders"


def _detail(run: SyncRun) -> str:
    read = f"{run.pages} pages, {run.rows} rows, {run.changed} changed"
    return f"{read}; {run.failure}" if run.failure else read
