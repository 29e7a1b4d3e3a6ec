"""``manage.py checkout_sync``: read the service's transaction list now."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from checkout_integration import dispatch, flows
from checkout_integration.conf import app_settings, secret_problems
from checkout_integration.flows.sync import LANES
from checkout_integration.models import SyncRun


class Command(BaseCommand):
    """Exit codes: 0 every pass was complete, 1 one failed, 2 usage, 3 the service did not answer."""

    help = "Reads the service's transaction list and records what it tells, as notifications would have."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which projects, which lane."""
        parser.add_argument(
            "--project", action="append", help="alias of a project; all projects when not given"
        )
        parser.add_argument("--lane", choices=sorted(LANES), default="recent", help="which part of the list")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Syncs each project, hands over to the receivers, prints one line per pass."""
        projects = options["project"] or list(app_settings().projects)
        unknown = sorted(set(projects) - set(app_settings().projects))
        if unknown:
            raise CommandError(f"There is no project {unknown[0]!r} in the settings.", returncode=2)
        # One that cannot be asked for keeps nobody else from being repaired.
        refused = {project: problems for project in projects if (problems := _secret_problems(project))}
        runs = [flows.sync_transactions(each, options["lane"]) for each in projects if each not in refused]
        dispatch.hand_over()
        states = {run.state for run in runs}
        ok = states == {SyncRun.State.COMPLETE} and not refused
        if options["json"]:
            self.stdout.write(json.dumps({"ok": ok, "steps": [_step(run) for run in runs]}))
        else:
            for run in runs:
                self.stdout.write(f"{run.project} {run.lane}: {run.state}, {_detail(run)}")
        if refused:
            raise CommandError("\n".join(refused.values()), returncode=2)
        if not ok:
            sys.exit(3 if SyncRun.State.UNREACHABLE in states else 1)


def _secret_problems(alias: str) -> str:
    """Why the service cannot be asked for a project, and what to do: of the secrets, the current one must be there."""
    project = replace(app_settings().project(alias), previous_secret_keys=())
    return " ".join(f"{problem.message} {problem.hint}" for problem in secret_problems(project))


def _step(run: SyncRun) -> dict[str, Any]:
    ended = run.finished_at or run.started_at
    return {
        "name": f"{run.project} {run.lane}",
        "ok": run.state == SyncRun.State.COMPLETE,
        "seconds": round((ended - run.started_at).total_seconds(), 3),
        "detail": _detail(run),
    }


def _detail(run: SyncRun) -> str:
    read = f"{run.pages} pages, {run.rows} rows, {run.changed} changed"
    return f"{read}; {run.failure}" if run.failure else read
