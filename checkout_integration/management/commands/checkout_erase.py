"""``manage.py checkout_erase``: delete a customer's personal data from every table, for good."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.management.options import filled
from checkout_integration.models import CheckoutUser


class Command(BaseCommand):
    """Exit codes: 0 erased, 1 no such customer or not confirmed, 2 usage."""

    help = (
        "Erases a customer: personal data, ids, bodies of notifications. Orders keep their amounts, statuses and times. "
        "Notifications that arrive later are stored without the customer's data."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: which customer, in which project, and whether to ask for confirmation."""
        whom = parser.add_mutually_exclusive_group(required=True)
        whom.add_argument("--customer", type=int, help="primary key of the customer's row")
        whom.add_argument("--external-id", type=filled, help="the customer's id in this shop")
        whom.add_argument("--user-id", type=filled, help="the customer's id at the service")
        whom.add_argument("--email", type=filled, help="e-mail address of one of their orders")
        whom.add_argument("--order-id", type=filled, help="the service's id of one of their orders")
        parser.add_argument("--project", type=filled, help="alias of a project; all projects when not given")
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be erased, and erase nothing"
        )
        parser.add_argument("--no-input", action="store_true", help="erase without asking for confirmation")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Find the customer, ask, erase, and print the counts without personal data."""
        persons = _find(options)
        if not persons:
            raise CommandError("There is no data of such a customer.")
        if not (options["dry_run"] or options["no_input"]):
            self._ask(persons)
        steps = [_step(person, dry_run=options["dry_run"]) for person in persons]
        if options["json"]:
            self.stdout.write(json.dumps({"ok": True, "steps": steps}))
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


def _find(options: dict[str, Any]) -> list[flows.privacy.Person]:
    project = options["project"] or ""
    if project and project not in app_settings().projects:
        raise CommandError(f"There is no project {project!r} in the settings.", returncode=2)
    customer = None
    if options["customer"] is not None:
        rows = CheckoutUser.objects.filter(pk=options["customer"])
        customer = (rows.filter(project=project) if project else rows).first()
        if customer is None:
            return []
    keys = {name: options[name] or "" for name in ("external_id", "user_id", "email", "order_id")}
    return flows.privacy.find_persons(project=project, customer=customer, order=None, **keys)


def _step(person: flows.privacy.Person, *, dry_run: bool) -> dict[str, Any]:
    started = time.monotonic()
    erasure = flows.privacy.preview_erasure(person) if dry_run else flows.privacy.erase_customer(person)
    seconds = round(time.monotonic() - started, 3)
    return {"name": person.project, "ok": True, "seconds": seconds, "detail": _counted(erasure)}


def _counted(erasure: flows.privacy.Erasure) -> str:
    return ", ".join(f"{number} {name}" for name, number in asdict(erasure).items())
