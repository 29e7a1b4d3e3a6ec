"""Incidents about notifications, opened and resolved for a whole batch at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from checkout_integration.flows.database.connection import key_of, state_database
from checkout_integration.flows.database.statements import insert_missing, upsert
from checkout_integration.models import Incident, Notification

REFUSED_CONTENT: Final = "refused_content"
UNKNOWN_EVENT: Final = "unknown_event"
NOT_APPLIED: Final = "not_applied"
RESOLVED_BY_APPLYING: Final = (REFUSED_CONTENT, NOT_APPLIED)
"""Kinds of incidents that end when their notification, or another attempt of it, is applied."""


def incident_about(row: Notification, kind: str, detail: str = "") -> Incident:
    """Return an incident about a notification: one for all of its attempts."""
    return Incident(
        key=_key(row, kind), kind=kind, project=row.project, notification_id=row.pk, detail=detail
    )


def open_incidents(incidents: Sequence[Incident]) -> None:
    """Open incidents, each once; one about a failure that was resolved before is opened again, for staff to see it."""
    once = [each for each in incidents if each.kind != NOT_APPLIED]
    again = {each.key: each for each in incidents if each.kind == NOT_APPLIED}
    insert_missing(once, "key")
    upsert(list(again.values()), "key", update=("notification", "detail", "resolved_at", "resolved_by"))


def resolve_incidents(rows: Iterable[Notification], staff_id: Any = None) -> None:
    """Resolve the incidents that asked staff to apply these notifications: they are applied."""
    keys = sorted(_key(row, kind) for row in rows for kind in RESOLVED_BY_APPLYING)
    if keys:
        incidents = Incident.objects.using(state_database()).filter(key__in=keys, resolved_at=None)
        incidents.update(resolved_at=datetime.now(UTC), resolved_by=staff_id)


def _key(row: Notification, kind: str) -> str:
    return key_of("notification", row.key, kind)
