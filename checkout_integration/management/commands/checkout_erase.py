"""``manage.py checkout_erase``: take what tells of a customer out of every table, and keep it out."""

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
    """Exit codes: 0 erased, 1 nobody was found or the question was answered with no, 2 usage."""

    help = (
        "Erases a customer: personal data, ids, bodies of notifications. Orders keep their amounts, statuses and times. "
        "Whatever the service tells of the customer later is stored without them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whom, where, and whether to ask."""
        whom = parser.add_mutually_exclusive_group(required=True)
        whom.add_argument("--customer", type=int, help="primary key of the customer's row")
        whom.add_argument("--external-id", type=filled, help="the customer's id in this shop")
        whom.add_argument("--user-id", type=filled, help="the customer's id at the service")
        whom.add_argument("--email", type=filled, help="an address that an order was made with")
        whom.add_argument("--order-id", type=filled, help="the service's id of one of their orders")
        parser.add_argument("--project", type=filled, help="alias of a project; all projects when not given")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be erased, and erase nothing"
        )
        parser.add_argument("--no-input", action="store_true", help="do not ask")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Finds, asks, erases, and says how much it was, never whose."""
        persons = _find(options)
        if not persons:
            raise CommandError("Nothing is kept of such a customer.")
        if not (options["dry_run"] or options["no_input"]):
            self._ask(persons)
        steps = [_step(person, dry_run=options["dry_run"]) for person in persons]
        if options["json"]:
            self.stdout.write(json.dumps({"ok": True, "steps": steps}))
            return
        for step in steps:
            verb = "would be erased" if options["dry_run"] else "erased"
            self.stdout.write(f"{step['name']}: {step['detail']} {verb}")

    def _ask(self, persons: list[flows.Person]) -> None:
        for person in persons:
            self.stderr.write(f"{person.project}: {_counted(flows.survey(person))}")
        self.stderr.write("This cannot be undone. Erase them? [y/N] ", ending="")
        if _answer() not in ("y", "yes"):
            raise CommandError("Nothing was erased.")


def _answer() -> str:
    try:
        return input().strip().lower()
    except EOFError:
        raise CommandError(
            "Nobody can answer here, so nothing was erased. Add --no-input.", returncode=2
        ) from None


def _find(options: dict[str, Any]) -> list[flows.Person]:
    project = options["project"] or ""
    if project and project not in app_settings().projects:
        raise CommandError(f"There is no project {project!r} in the settings.", returncode=2)
    customer = None
    if options["customer"] is not None:
        rows = CheckoutUser.objects.filter(pk=options["customer"])
        customer = (rows.filter(project=project) if project else rows).first()
        if customer is None:
            return []
    named = {name: options[name] or "" for name in ("external_id", "user_id", "email", "order_id")}
    return flows.find_persons(project=project, customer=customer, order=None, **named)


def _step(person: flows.Person, *, dry_run: bool) -> dict[str, Any]:
    begun = time.monotonic()
    told = flows.survey(person) if dry_run else flows.erase(person)
    seconds = round(time.monotonic() - begun, 3)
    return {"name": person.project, "ok": True, "seconds": seconds, "detail": _counted(told)}


def _counted(told: flows.Erasure) -> str:
    return ", ".join(f"{number} {name}" for name, number in asdict(told).items())
