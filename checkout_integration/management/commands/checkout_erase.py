"""``manage.py checkout_erase``: delete a customer's personal data from every table, for good."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from checkout_integration import flows
from checkout_integration.management.customers import add_customer_options, find_customer, request_of
from checkout_integration.management.database_command import StaffCommand, Step, step_of


class Command(StaffCommand):
    """Exit codes: 0 erased, 1 no such customer or not confirmed, 2 usage."""

    help = (
        "Erases a customer: personal data, ids, bodies of notifications. Orders keep their amounts, statuses and times. "
        "Notifications that arrive later are stored without the customer's data. See the counts first with --dry-run; "
        "otherwise give a --reason, which is recorded."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: which customer, in which project, why, and whether to ask for confirmation."""
        add_customer_options(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be erased, and erase nothing"
        )
        parser.add_argument("--no-input", action="store_true", help="erase without asking for confirmation")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Find the customer, ask, erase, and print the counts without personal data."""
        request = None if options["dry_run"] else request_of(options, self.acting(options))
        persons = find_customer(options)
        if request and not options["no_input"]:
            self._ask(persons)
        steps = [_step(person, request) for person in persons]
        if options["json"]:
            self.print_steps(steps, as_json=True)
            return
        for step in steps:
            verb = "would be erased" if options["dry_run"] else "erased"
            self.stdout.write(f"{step['name']}: {step['detail']} {verb}")

    def _ask(self, persons: list[flows.privacy.Person]) -> None:
        for person in persons:
            self.stderr.write(f"{person.project}: {_counted(flows.privacy.preview_erasure(person))}")
        self.stderr.write("This cannot be undone. Erase them? [y/N] ", ending="")
        if _answer() not in ("y", "yes"):
            raise CommandError("Nothing was erased.")


def _answer() -> str:
    try:
        return input().strip().lower()
    except EOFError:
        raise CommandError(
            "Not a terminal, so nothing was erased: pass --no-input to confirm.", returncode=2
        ) from None


def _step(person: flows.privacy.Person, request: flows.privacy.PrivacyRequest | None) -> Step:
    """Erase a customer, or only count where nobody asks for it."""
    began = time.monotonic()
    erasure = (
        flows.privacy.erase_customer(person, request) if request else flows.privacy.preview_erasure(person)
    )
    return step_of(person.project, began, _counted(erasure))


def _counted(erasure: flows.privacy.Erasure) -> str:
    return ", ".join(f"{number} {name}" for name, number in asdict(erasure).items())
