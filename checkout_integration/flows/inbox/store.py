"""Keeping notifications: one row per event, whatever the number of its deliveries."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import F

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import (
    digest_of,
    insert_once,
    key_of,
    read_committed,
    state_database,
)
from checkout_integration.flows.tombstone import names_erased
from checkout_integration.models import Incident, Notification
from checkout_integration.models.columns import as_column_text
from checkout_integration.protocol import notification as documents


@dataclass(frozen=True, kw_only=True)
class Verified:
    """A body whose signature matched the project's secret at this position of the list (0 is the current one)."""

    project: Project
    body: bytes = field(repr=False)
    secret_position: int
    arrived_at: datetime


def row_of(verified: Verified, told: documents.Notification) -> Notification:
    """The row that a notification is kept as. The key leaves the body out: it changes with every attempt."""
    object_id = str(told.object.get("id") or "")
    return Notification(
        key=digest_of(verified.project.alias, told.id, told.event, object_id),
        project=verified.project.alias,
        **envelope_columns(told),
        body=verified.body,
        secret_position=verified.secret_position,
        received_at=verified.arrived_at,
        last_received_at=verified.arrived_at,
    )


def envelope_columns(notification: documents.Notification) -> dict[str, Any]:
    """Return the columns that repeat what the envelope says."""
    return {
        "notification_id": as_column_text(notification.id),
        "event": as_column_text(notification.event, 64),
        "object_id": as_column_text(str(notification.object.get("id") or "")),
        "live": notification.live,
        "created_at": notification.created_at,
        "expires_at": notification.expires_at,
        "delivery_try": _column_integer(notification.delivery_try),
    }


class Keeping(Enum):
    """What `keep` found. ``RETRIED``: the notification had failed or was quarantined, and this delivery may be applied."""

    NEW = auto()
    REPEATED = auto()
    RETRIED = auto()


WAITING = (Notification.State.FAILED, Notification.State.QUARANTINED)
"""States of notifications that staff can apply again."""


def keep(row: Notification) -> Keeping:
    """Inserts the row, or counts one more delivery of it. Call it inside the transaction that applies the notification.

    Two deliveries at the same time meet here: the second waits for the first one's commit, and is then a repetition.
    """
    notifications = Notification.objects.using(state_database())
    try:
        with transaction.atomic(using=state_database()):
            row.save(using=state_database(), force_insert=True)
    except IntegrityError:
        # Rolling back to the savepoint gives back the lock that InnoDB takes for a refused insert. Kept, it would end in a
        # deadlock: many would hold it, and each would want to update.
        held = notifications.filter(key=row.key)
        seen = {
            "receipts": F("receipts") + 1,
            "last_received_at": row.received_at,
            "delivery_try": row.delivery_try,
        }
        quarantined = row.state == Notification.State.QUARANTINED
        stands = held if quarantined else held.exclude(state__in=WAITING)
        if stands.update(**seen):  # what was applied stays applied
            return Keeping.REPEATED
        # The body becomes the one that is applied, not the earlier one that could not be.
        waiting = held.filter(state__in=WAITING)
        if quarantined or not waiting.update(state=row.state, failure="", body=row.body, **seen):
            raise  # no such row: it was no repetition that the database refused, and nothing is stored (G1)
        return Keeping.RETRIED
    return Keeping.NEW


def count_repetition(row: Notification) -> None:
    """Count one more receipt of a notification that is stored. Nothing else of its row changes."""
    stored = Notification.objects.using(state_database()).filter(key=row.key)
    stored.update(receipts=F("receipts") + 1, last_received_at=row.received_at, delivery_try=row.delivery_try)


def drop_body(row: Notification) -> None:
    """Empties the body of a row that was just kept, since it tells of an erased customer. The row, key and state stay."""
    row.body = None
    Notification.objects.using(state_database()).filter(key=row.key).update(body=None)


def withhold(row: Notification) -> None:
    """Keeps no body that names an erased customer, of a notification that was just kept and that the ledger has not taken."""
    if names_erased(row.project, bytes(row.body or b"")):
        drop_body(row)


def keep_unreadable(verified: Verified, reason: str) -> None:
    """Keeps a signed body that our limits refuse, under a hash of its bytes, and opens an incident (G10)."""
    key = digest_of(verified.project.alias, "body", hashlib.sha256(verified.body).hexdigest())
    row = Notification(
        key=key,
        project=verified.project.alias,
        state=Notification.State.QUARANTINED,
        failure=reason,
        body=verified.body,
        secret_position=verified.secret_position,
        received_at=verified.arrived_at,
        last_received_at=verified.arrived_at,
    )
    with transaction.atomic(using=state_database()):
        read_committed()
        if keep(row) is Keeping.NEW:
            open_incident(row, "refused_content", reason)
            withhold(row)


RESOLVED_BY_APPLYING: Final = ("refused_content", "not_applied")
"""Kinds of incidents that end when their notification is applied."""


def open_incident(row: Notification, kind: str, detail: str = "", *, again: bool = False) -> None:
    """Open an incident about a notification, once per notification and kind; ``again`` also opens a resolved one."""
    incident = Incident(
        key=key_of("notification", row.key, kind),
        kind=kind,
        project=row.project,
        notification=row,
        detail=detail,
    )
    reopened = ("detail", "resolved_at", "resolved_by") if again else ()
    insert_once([incident], "key", update_fields=reopened)


def mark_failed(row: Notification, place: str) -> None:
    """Note where our code failed on a notification, and open its incident; one that was resolved is opened again."""
    failed = Notification.objects.using(state_database()).filter(key=row.key)
    failed.update(state=Notification.State.FAILED, failure=place)
    open_incident(row, "not_applied", place, again=True)


def resolve_incidents(row: Notification, staff_id: Any = None) -> None:
    """Resolve the incidents that asked staff to apply a notification: it is applied."""
    incidents = Incident.objects.using(state_database()).filter(
        notification=row.key, kind__in=RESOLVED_BY_APPLYING
    )
    incidents.filter(resolved_at=None).update(resolved_at=datetime.now(UTC), resolved_by=staff_id)


def _column_integer(value: int | None) -> int:
    return min(max(value or 0, 0), 2**31 - 1)
