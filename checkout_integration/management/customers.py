"""The options by which commands find a customer, and record who asks for an act on their data."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from checkout_integration import flows
from checkout_integration.management.database_command import require_project
from checkout_integration.management.options import filled
from checkout_integration.models import CheckoutUser
from checkout_integration.models.actor import Actor

NO_DATA = "There is no data of such a customer."


def add_customer_options(parser: CommandParser) -> None:
    """Add the options that name one customer, in one project or in all, and the one that says why."""
    whom = parser.add_mutually_exclusive_group(required=True)
    whom.add_argument("--customer", type=int, help="primary key of the customer's row")
    whom.add_argument("--external-id", type=filled, help="the customer's id in this shop")
    whom.add_argument("--user-id", type=filled, help="the customer's id at the service")
    whom.add_argument("--email", type=filled, help="e-mail address of one of their orders")
    whom.add_argument("--order-id", type=filled, help="the service's id of one of their orders")
    parser.add_argument("--project", type=filled, help="alias of a project; all projects when not given")
    parser.add_argument(
        "--reason", type=filled, help="why; stored for good, so without personal data of the customer"
    )


def find_customer(options: dict[str, Any]) -> list[flows.privacy.Person]:
    """Return the customer in each project. Raises ``CommandError`` for an unknown project, or where nothing is stored."""
    project = options["project"] or ""
    require_project(options["project"])
    customer = None
    if options["customer"] is not None:
        rows = CheckoutUser.objects.filter(pk=options["customer"])
        customer = (rows.filter(project=project) if project else rows).first()
        if customer is None:
            raise CommandError(NO_DATA)
    keys = {name: options[name] or "" for name in ("external_id", "user_id", "email", "order_id")}
    persons = flows.privacy.find_persons(project=project, customer=customer, order=None, **keys)
    if not persons:
        raise CommandError(NO_DATA)
    return persons


def request_of(options: dict[str, Any], staff: Actor) -> flows.privacy.PrivacyRequest:
    """Return who asks, and why. Raises ``CommandError`` without a reason."""
    if not options["reason"]:
        raise CommandError("Give a --reason: it is stored with the act.", returncode=2)
    return flows.privacy.PrivacyRequest(reason=options["reason"], staff=staff)
