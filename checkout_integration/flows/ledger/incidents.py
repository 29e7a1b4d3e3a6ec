"""Incidents about orders: opened and ended by their changes; one of the day for payments without a checkout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from django.db.models import Q

from checkout_integration.conf import Project
from checkout_integration.flows.database import (
    about_order,
    end_incidents,
    insert_missing,
    key_about_order,
    key_of,
    open_incidents,
    resolve_incidents,
)
from checkout_integration.flows.ledger.batch import OrderChange
from checkout_integration.models import Incident, Order
from checkout_integration.models.actor import Actor, actor_columns
from checkout_integration.policy.observation import Source
from checkout_integration.policy.verdict import FOREIGN

GROUPED = frozenset(f"review:{reason}" for reason in FOREIGN)
"""Kinds of incidents about payments without a checkout: a row for each project and day."""
NAMED_ORDERS = 5


def ended_incidents(project: Project, changes: Iterable[OrderChange]) -> set[str]:
    """Return the keys of the incidents about one order each whose cause is over after all changes."""
    ended: set[str] = set()
    for change in changes:
        ended |= {key_about_order(project.alias, order.order_id, kind) for kind, order in change.ended}
        opened = {
            key_about_order(project.alias, order.order_id, kind) for kind, order in incident_kinds(change)
        }
        ended -= opened
    return ended


def is_grouped(change: OrderChange, kind: str) -> bool:
    """Return whether the incident is one of the day: about a payment without a checkout."""
    return change.checkout is None and kind in GROUPED


def incident_kinds(change: OrderChange) -> list[tuple[str, Order]]:
    """Return the kinds of incidents that the change opens, each with the order that it is about."""
    kinds = [(kind, change.row) for kind in change.incidents]
    kinds += [(f"review:{reason}", order) for reason, order in change.reviews]
    # An order that is not inserted yet cannot be hashed.
    return list({(kind, order.order_id): (kind, order) for kind, order in kinds}.values())


def settle_incidents(project: Project, changes: Sequence[OrderChange]) -> None:
    """Open the incidents of these changes, and end those whose cause is over; staff resolve theirs by name."""
    about_orders: list[Incident] = []
    of_the_day: dict[str, list[str]] = {}
    for change in changes:
        for kind, order in incident_kinds(change):
            if is_grouped(change, kind):
                of_the_day.setdefault(kind, []).append(order.order_id)
            else:
                about_orders.append(about_order(order, kind, notification=change.cause.notification))
    open_incidents(about_orders)
    _open_groups(project, of_the_day)
    own = [change for change in changes if change.cause.source is not Source.STAFF]
    end_incidents(ended_incidents(project, own))
    if any(change.checkout_before is None and kind in GROUPED for change in own for kind, _ in change.ended):
        end_groups(project)


def _open_groups(project: Project, orders: Mapping[str, Sequence[str]]) -> None:
    """Open the incidents of the day, one a kind, which names a few orders; and those that were resolved today again.

    RACE: all processes share these rows. Open ones are only read, and nothing is counted in them: a process that stops before
    its commit must not hold up others. One that is resolved at this very moment stays resolved until the next payment.
    """
    if not orders:
        return
    today = datetime.now(UTC).date().isoformat()
    groups = [
        Incident(
            key=key_of("day", project.alias, kind, today),
            kind=kind,
            project=project.alias,
            detail=", ".join(list(dict.fromkeys(order_ids))[:NAMED_ORDERS]),
        )
        for kind, order_ids in orders.items()
    ]
    stored = Incident.primary.filter(key__in=[group.key for group in groups])
    resolved = dict(stored.values_list("key", "resolved_at"))
    insert_missing([group for group in groups if group.key not in resolved], "key")
    if again := [key for key, at in resolved.items() if at is not None]:
        stored.filter(key__in=again).update(resolved_at=None, ended_itself=False, **actor_columns(None))


def end_groups(project: Project, staff: Actor | None = None, *, by_staff: bool = False) -> None:
    """End the incidents about payments without a checkout of which no payment is in review any more.

    Called in the transaction that has decided about one of them, after it was written.
    """
    groups = Q(project=project.alias, order=None, kind__in=GROUPED)
    open_ones = Incident.primary.filter(groups, resolved_at=None)
    kinds = {incident.kind: incident for incident in open_ones}
    # RACE: while we count, another process records one more such payment, and has not committed. We do not see it, and end
    # the incident that it has just read as open. The payment is in review all the same, and the next one opens an incident.
    done = [kind for kind, incident in kinds.items() if not incident.payments.exists()]
    if not done:
        return
    if by_staff:
        resolve_incidents(groups & Q(kind__in=done), staff)
    else:
        end_incidents(open_ones.filter(kind__in=done).values_list("key", flat=True))
