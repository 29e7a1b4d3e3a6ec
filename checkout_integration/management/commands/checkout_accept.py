"""``manage.py checkout_accept``: accept payments in review or from before the installation, or bind an order first."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q, QuerySet

from checkout_integration import flows
from checkout_integration.management.database_command import StaffCommand, Step, require_project, step_of
from checkout_integration.management.options import filled
from checkout_integration.models import Checkout, Order, Transition
from checkout_integration.models.actor import Actor
from checkout_integration.policy.verdict import Reason, VerdictStatus

KINDS = {
    "before_installation": Q(verdict=VerdictStatus.REVIEW, verdict_reason=Reason.BEFORE_INSTALLATION),
    "historic": Q(verdict=VerdictStatus.HISTORIC),
}


class Command(StaffCommand):
    """Exit codes: 0 all payments are accepted, 1 some are not, 2 usage, such as an order that does not exist."""

    help = (
        "Accepts paid orders whose verdict is review or historic: their goods are granted as if they were verified. "
        "Select orders by --order, or by --kind for all from before the installation. See the effect first with --dry-run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: the orders, and the reason."""
        parser.add_argument(
            "--order", type=filled, action="append", metavar="ID", help="order id; may be repeated"
        )
        parser.add_argument(
            "--kind", choices=sorted(KINDS), action="append", help="all of this kind; may be repeated"
        )
        parser.add_argument("--project", type=filled, help="alias of a project; all projects when not given")
        parser.add_argument(
            "--checkout", type=filled, metavar="REFERENCE", help="bind the one order to it first"
        )
        parser.add_argument(
            "--reason", type=filled, required=True, help="stored in the history of each order"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change, and change nothing"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Accept the payments one by one, oldest first, each in a transaction of its own."""
        orders, staff = list(_selected(options)), self.acting(options)
        if options["checkout"]:
            _bind(orders, staff, options)
        steps = [_step(order, staff, options) for order in self.counted(orders, "orders")]
        self.end_with(steps, "payments", "accepted", options)


def _selected(options: dict[str, Any]) -> QuerySet[Order]:
    project, ids, kinds = options["project"], options["order"] or [], options["kind"] or []
    require_project(project)
    if bool(ids) == bool(kinds):
        raise CommandError("Select orders by either --order or --kind.", returncode=2)
    orders = Order.objects.filter(project=project) if project else Order.objects.all()
    for order_id in ids:
        if not orders.filter(order_id=order_id).exists():
            raise CommandError(f"There is no order {order_id!r}.", returncode=2)
    chosen = Q(order_id__in=ids)
    for kind in kinds:
        chosen |= KINDS[kind]
    return orders.filter(chosen).order_by("created_at", "pk")


def _bind(orders: list[Order], staff: Actor, options: dict[str, Any]) -> None:
    if len(orders) != 1 or options["dry_run"]:
        raise CommandError("--checkout needs exactly one --order, and no --dry-run.", returncode=2)
    checkout = Checkout.objects.filter(reference=options["checkout"], project=orders[0].project).first()
    if checkout is None:
        raise CommandError(f"There is no checkout {options['checkout']!r} in its project.", returncode=2)
    try:
        flows.operations.bind_order(orders[0], to=checkout, staff=staff, reason=options["reason"])
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from error
    orders[0].refresh_from_db()


def _step(order: Order, staff: Actor, options: dict[str, Any]) -> Step:
    began = time.monotonic()
    if order.verdict == VerdictStatus.VERIFIED:
        return step_of(order.order_id, began, "already verified", changes=[])
    try:
        if options["dry_run"]:
            (change,) = flows.operations.preview_decision(order, Transition.Act.ACCEPT)
        else:
            change = flows.operations.accept_payment(order, staff=staff, reason=options["reason"])
    except ValueError as error:
        return step_of(order.order_id, began, str(error), ok=False, changes=[])
    return step_of(order.order_id, began, change.summary, changes=[change.as_json])
