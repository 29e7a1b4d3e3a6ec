"""``manage.py checkout_prune``: remove what is older than RETENTION says, or count it."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandParser

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.management.database_command import StaffCommand, Step, step_of
from checkout_integration.models.actor import Actor


class Command(StaffCommand):
    """Exit codes: 0 done, 2 usage."""

    help = (
        "Removes what is older than RETENTION says: bodies of notifications, texts of decisions, signals with the runs of "
        "their receivers, and passes of the sync. Orders stay, and so does what recognises a notification that comes again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: whether to remove anything, and how to print the result."""
        parser.add_argument(
            "--dry-run", action="store_true", help="count what would be removed, and remove nothing"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prune kind by kind, and print how many rows of each."""
        staff = None if options["dry_run"] else self.acting(options)
        kinds = list(app_settings().retention.items())
        steps = [_step(kind, days, staff) for kind, days in self.counted(kinds, "kinds of rows")]
        if not (steps or options["json"]):
            self.stdout.write("RETENTION is not set, so nothing is removed.")
        self.print_steps(steps, as_json=options["json"])


def _step(kind: str, days: int, staff: Actor | None) -> Step:
    """Prune a kind, or only count where nobody acts."""
    began = time.monotonic()
    count = flows.retention.prune(kind, staff=staff) if staff else flows.retention.count_prunable(kind)
    verb = "removed" if staff else "would be removed"
    return step_of(kind, began, f"{count} older than {days} days {verb}", count=count)
