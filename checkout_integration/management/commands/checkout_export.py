"""``manage.py checkout_export``: write everything that is stored about a customer as JSON."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from checkout_integration import flows
from checkout_integration.management.customers import add_customer_options, find_customer, request_of
from checkout_integration.management.database_command import StaffCommand
from checkout_integration.management.options import filled

OWNER_ONLY = 0o600


class Command(StaffCommand):
    """Exit codes: 0 exported, 1 no such customer, 2 usage, such as a file that exists."""

    help = (
        "Writes everything that is stored about a customer as one JSON document: orders, checkouts, notifications as they "
        "came, decisions, notes. Give a --reason, which is recorded."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: which customer, in which project, why, and where to write."""
        add_customer_options(parser)
        parser.add_argument(
            "--output",
            type=filled,
            metavar="FILE",
            help="a new file, for its owner only; the terminal if not given",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Find the customer, record the export, and write the document piece by piece."""
        request, persons = request_of(options, self.acting(options)), find_customer(options)
        if options["output"]:
            _write(options["output"], persons, request)
            return
        for piece in flows.privacy.export_customer(persons, request):
            self.stdout.write(piece, ending="")


def _write(path: str, persons: list[flows.privacy.Person], request: flows.privacy.PrivacyRequest) -> None:
    """Write a new file: neither another file nor another account gets the customer's data."""
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.", returncode=2) from None
    try:
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.writelines(flows.privacy.export_customer(persons, request))
    except BaseException:
        Path(path).unlink()  # a part of the document is of no use, and would prevent the next try
        raise
