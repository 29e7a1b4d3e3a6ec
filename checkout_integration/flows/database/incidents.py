"""Incidents are opened once, resolved by staff, and end by themselves when their cause is over."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q

from checkout_integration.flows.database.statements import insert_missing
from checkout_integration.flows.database.transactions import key_of
from checkout_integration.models import Incident, Order
from checkout_integration.models.actor import Actor, actor_columns


def open_incidents(incidents: Sequence[Incident]) -> None:
    """Open incidents, each once. One that staff have resolved stays so; one that ended by itself is opened again."""
    if incidents:
        insert_missing(incidents, "key")
        ended = Incident.primary.filter(ended_itself=True)
        ended.filter(key__in=sorted({incident.key for incident in incidents})).update(
            resolved_at=None, ended_itself=False
        )


def about_order(order: Order, kind: str, **about: Any) -> Incident:
    """Return an incident about an order: one of each kind."""
    key = key_about_order(order.project, order.order_id, kind)
    return Incident(key=key, kind=kind[:64], project=order.project, order=order, **about)


def key_about_order(project: str, order_id: str, kind: str) -> str:
    """Return the key that makes an incident about an order unique."""
    return key_of("order", project, order_id, kind)


def end_incidents(keys: Collection[str]) -> None:
    """End the open ones of these incidents: their cause is over, so nobody has to look."""
    if keys:
        _open(Q(key__in=sorted(keys))).update(resolved_at=datetime.now(UTC), ended_itself=True)


def resolve_incidents(which: Q, staff: Actor | None) -> bool:
    """Resolve open incidents by a decision of staff; return whether there were any."""
    return bool(_open(which).update(resolved_at=datetime.now(UTC), **actor_columns(staff)))


def _open(which: Q) -> Any:
    return Incident.primary.filter(which, resolved_at=None)
