"""``manage.py checkout_doctor``: say what is wrong with this installation, and what mends it."""

from __future__ import annotations

import sys
import time
from argparse import BooleanOptionalAction
from collections import Counter
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser

from checkout_integration.management.database_command import DATABASE_AWAY, DatabaseCommand
from checkout_integration.management.doctor import examine
from checkout_integration.management.options import address
from checkout_integration.policy.severity import Severity

SERVICE_AWAY: Final = 3
CODES: Final = {"database": DATABASE_AWAY, "service_away": SERVICE_AWAY, "address_away": SERVICE_AWAY}
"""Exit codes of what may pass by itself, by the names of the findings."""


class Command(DatabaseCommand):
    """Exit codes: 0 nothing is failing, 1 something is, 2 usage, 3 only the service does not respond, 4 the database is away.

    With --fail-on warning it is 1 for warnings too.
    """

    help = (
        "Looks at settings, database, key, the service's addresses, clock, webhook, broker, workers and receivers, and at "
        "whether all is well; each line that is not ok says what mends it. Nothing is changed. With --shop a signed test is "
        "sent to the webhook as the service would send it."
    )
    requires_system_checks: Any = []  # they are a part of what it prints

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: the address of the shop, how strict, how it is printed."""
        parser.add_argument(
            "--shop",
            type=address,
            help="this shop's address as the service knows it, such as https://your.host",
        )
        parser.add_argument(
            "--deploy",
            action=BooleanOptionalAction,
            help="look for settings of development too; the default is to do so when DEBUG is off",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.add_argument(
            "--fail-on",
            choices=[Severity.FAILING.value, Severity.WARNING.value],
            default=Severity.FAILING.value,
            help="the lowest severity for which the exit code is 1",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Look at everything, print it, and count it on stderr."""
        deploy = not settings.DEBUG if options["deploy"] is None else options["deploy"]
        began, fail_on = time.monotonic(), Severity(options["fail_on"])
        findings = list(examine(options["shop"] or "", deploy=deploy))
        ok = self.print_findings(findings, fail_on, began if options["json"] else None)
        counts = Counter(each.severity for each in findings)
        found = ", ".join(f"{counts[each]} {each}" for each in reversed(Severity) if counts[each])
        self.stderr.write(f"Looked at {len(findings)} things: {found}.")
        if not ok:
            codes = {CODES.get(each.name, 1) for each in findings if each.severity.fails(fail_on)}
            sys.exit(DATABASE_AWAY if DATABASE_AWAY in codes else min(codes))
