"""``manage.py checkout_prune``: remove what is older than RETENTION says, or count it."""

from __future__ import annotations

import json
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from checkout_integration import flows
from checkout_integration.conf import app_settings


class Command(BaseCommand):
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
        steps = [_step(kind, days, options["dry_run"]) for kind, days in app_settings().retention.items()]
        if options["json"]:
            self.stdout.write(json.dumps({"ok": True, "steps": steps}))
            return
        if not steps:
            self.stdout.write("RETENTION is not set, so nothing is removed.")
        for step in steps:
            self.stdout.write(f"{step['name']}: {step['detail']}")


def _step(kind: str, days: int, dry_run: bool) -> dict[str, Any]:
    started = time.monotonic()
    count = (flows.retention.count_prunable if dry_run else flows.retention.prune)(kind)
    seconds = round(time.monotonic() - started, 3)
    verb = "would be removed" if dry_run else "removed"
    detail = f"{count} older than {days} days {verb}"
    return {"name": kind, "ok": True, "seconds": seconds, "count": count, "detail": detail}
