"""``manage.py checkout_rebuild``: compute orders anew from what is stored about them, and report what differs."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.rebuild import Gap, RebuiltOrder
from checkout_integration.management.options import filled, moment
from checkout_integration.management.progress import ProgressLine
from checkout_integration.models import Order

EVERY: Final = 100
"""The line of progress is written anew at the first of so many orders."""
SHOWN: Final = 20
"""So many orders are printed; --json has more."""
MOST: Final = 10_000
"""So many orders that differ, and so many that cannot be proven, are in the JSON of a project; all are counted."""
GAPS: Final = {
    Gap.ERASED: "the customer was erased",
    Gap.BODIES: "bodies of notifications are gone",
    Gap.NOTIFICATIONS: "notifications are gone",
    Gap.UNREADABLE: "a notification cannot be read by the rules of this version",
    Gap.SETTINGS: "the verdict was given by settings that may have changed",
}
"""Why an order cannot be proven, in words."""


@dataclass(kw_only=True)
class _Found:
    """What was found of one project."""

    project: str
    orders: int = 0
    unproven: int = 0
    different: int = 0
    gaps: Counter[Gap] = field(default_factory=Counter)
    listed: dict[bool, list[RebuiltOrder]] = field(default_factory=lambda: {True: [], False: []})

    def add(self, order: RebuiltOrder) -> None:
        """Count an order; list it if it differs, or cannot be proven."""
        self.orders += 1
        differs = bool(order.differences)
        self.different += differs
        self.unproven += not differs and bool(order.gaps)
        self.gaps.update(order.gaps)
        if not order.is_proven and len(self.listed[differs]) < MOST:
            self.listed[differs].append(order)

    @property
    def detail(self) -> str:
        """The numbers in one line."""
        proven = self.orders - self.different - self.unproven
        return (
            f"{self.orders} orders: {proven} proven, {self.different} different, {self.unproven} not provable"
        )


class Command(BaseCommand):
    """Exit codes: 0 nothing differs, 1 an order differs from what is stored about it, 2 usage, such as an unknown order.

    An order that cannot be proven, since a part of the evidence was pruned or erased, is reported and is no difference.
    """

    help = (
        "Computes each order anew from its stored notifications and from its list and staff slots, compares it with its row, "
        "and writes nothing. It also says which orders cannot be proven, since bodies were pruned or a customer was erased."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: which orders."""
        parser.add_argument("--project", type=filled, help="alias of a project; all projects when not given")
        parser.add_argument(
            "--order", type=filled, action="append", metavar="ID", help="order id; may be repeated"
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
            help="only orders created then or earlier; a date is its first moment",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Go through the orders of each project, and print what differs."""
        steps = [self._step(project, options) for project in _projects(options)]
        ok = all(step["ok"] for step in steps)
        if options["json"]:
            self.stdout.write(json.dumps({"ok": ok, "steps": steps}))
        if not ok:
            sys.exit(1)

    def _step(self, project: str, options: dict[str, Any]) -> dict[str, Any]:
        started, found = time.monotonic(), _Found(project=project)
        line = ProgressLine(self.stderr, "orders")
        for order in flows.rebuild.rebuild_orders(
            project,
            order_ids=options["order"] or (),
            date_from=options["date_from"],
            date_to=options["date_to"],
        ):
            found.add(order)
            if found.orders % EVERY == 1:
                line.show(project, found.orders)
        line.end()
        if not options["json"]:
            for text in _lines(found):
                self.stdout.write(text)
        return {
            "name": project,
            "ok": not found.different,
            "seconds": round(time.monotonic() - started, 3),
            "detail": found.detail,
            "different": [_as_json(order) for order in found.listed[True]],
            "not_provable": [_as_json(order) for order in found.listed[False]],
            "gaps": {gap.value: found.gaps[gap] for gap in Gap},
        }


def _projects(options: dict[str, Any]) -> list[str]:
    project, projects = options["project"], list(app_settings().projects)
    if project is not None and project not in projects:
        raise CommandError(f"There is no project {project!r} in the settings.", returncode=2)
    chosen = [project] if project else projects
    for order_id in options["order"] or ():
        if not Order.objects.filter(project__in=chosen, order_id=order_id).exists():
            raise CommandError(f"There is no order {order_id!r}.", returncode=2)
    return chosen


def _as_json(order: RebuiltOrder) -> dict[str, Any]:
    return {
        "order_id": order.order_id,
        "differences": [asdict(each) for each in order.differences],
        "gaps": sorted(order.gaps),
    }


def _lines(found: _Found) -> Iterator[str]:
    yield f"{found.project}: {found.detail}"
    for order in found.listed[True][:SHOWN]:
        yield f"  {order.order_id}"
        for each in order.differences:
            yield f"    {each.field}: {each.stored or 'nothing'} stored, {each.recomputed or 'nothing'} recomputed"
        yield from (f"    cannot be proven as a whole: {GAPS[gap]}" for gap in sorted(order.gaps))
    if found.different > SHOWN:
        yield f"  and {found.different - SHOWN} more; --json prints {MOST:,} of them"
    for gap, count in sorted(found.gaps.items()):
        yield f"  not provable: {count} orders, {GAPS[gap]}"
