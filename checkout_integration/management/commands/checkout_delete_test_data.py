"""``manage.py checkout_delete_test_data``: delete test checkouts and their orders, or count them."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from checkout_integration import flows
from checkout_integration.management.database_command import StaffCommand, step_of
from checkout_integration.management.options import filled


class Command(StaffCommand):
    """Exit codes: 0 done, 1 rows of the shop protect the test data, 2 usage."""

    help = (
        "Deletes test data for good: test checkouts, their orders with history, refunds, signals and notifications. Without "
        "--yes it only counts. Hashes of the orders' ids stay, by which the list and the webhook skip them. Stop selling "
        "tests first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: whether to delete, and why."""
        parser.add_argument("--yes", action="store_true", help="delete; without it, only count")
        parser.add_argument("--reason", type=filled, help="stored in the acts of staff")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete, or count, and print how many rows of each kind."""
        began = time.monotonic()
        if options["yes"]:
            staff, reason = self.acting(options), options["reason"] or ""
            try:
                counts = flows.retention.delete_test_data(staff=staff, reason=reason)
            except flows.retention.Protected as error:
                raise CommandError(str(error), returncode=1) from None
        else:
            counts = flows.retention.count_test_data()
        verb = "deleted" if options["yes"] else "would be deleted"
        detail = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"
        self.print_steps(
            [step_of("test data", began, f"{detail} {verb}", counts=counts)], as_json=options["json"]
        )
