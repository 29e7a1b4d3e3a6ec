"""Storing notifications: one row per distinct body, whatever the number of its deliveries."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import acquire_write_lock, digest_of, state_database
from checkout_integration.flows.database.statements import upsert
from checkout_integration.flows.inbox.incidents import REFUSED_CONTENT, incident_about, open_incidents
from checkout_integration.flows.tombstone import names_erased, request_hashes
from checkout_integration.models import Notification
from checkout_integration.models.columns import as_column_text
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.vocabulary import Event


@dataclass(frozen=True, kw_only=True)
class Verified:
    """A body whose signature matched the project's secret at this position of the list (0 is the current one)."""

    project: Project
    body: bytes = field(repr=False)
    secret_position: int
    arrived_at: datetime


def row_of(verified: Verified, document: documents.Notification) -> Notification:
    """Return the row of a notification, due at once. The key leaves the body out: it changes with every attempt."""
    object_id = str(document.object.get("id") or "")
    key = digest_of(verified.project.alias, document.id, document.event, object_id)
    return Notification(
        **_as_received(verified, key),
        **envelope_columns(document, verified.project.reference_key),
        due_at=verified.arrived_at,
    )


def unreadable_row_of(verified: Verified, reason: str) -> Notification:
    """Return the row of a signed body that our limits refuse: its key is a hash of its bytes."""
    key = digest_of(verified.project.alias, "body", request_hashes("", verified.body)[0])
    state = Notification.State.QUARANTINED
    return Notification(**_as_received(verified, key), state=state, failure=reason)


def _as_received(verified: Verified, key: str) -> dict[str, Any]:
    return {
        "key": key,
        "body_hash": request_hashes(key, verified.body)[0],
        "project": verified.project.alias,
        "body": verified.body,
        "secret_position": verified.secret_position,
        "received_at": verified.arrived_at,
        "last_received_at": verified.arrived_at,
    }


def envelope_columns(document: documents.Notification, reference_key: str) -> dict[str, Any]:
    """Return the columns that repeat what the envelope says, and our own reference of the checkout."""
    is_order = document.event != Event.USER_VALIDATE
    return {
        "notification_id": as_column_text(document.id),
        "event": as_column_text(document.event, 64),
        "object_id": as_column_text(str(document.object.get("id") or "")),
        "reference": as_column_text(_reference(document, reference_key) if is_order else ""),
        "live": document.live,
        "created_at": document.created_at,
        "expires_at": document.expires_at,
        "delivery_try": min(max(document.delivery_try or 0, 0), 2**31 - 1),
    }


def _reference(document: documents.Notification, reference_key: str) -> str:
    metadata = document.object.get("metadata")
    reference = metadata.get(reference_key) if isinstance(metadata, dict) else None
    return reference if isinstance(reference, str) else ""


def store(row: Notification) -> None:
    """Insert the row, or count one more receipt of the body that is stored already: one statement.

    RACE: two deliveries of one body at the same time meet at the unique key, and the later one counts.
    """
    upsert([row], "key", "body_hash", update=("last_received_at",), add=("receipts",))


def store_settled(row: Notification) -> None:
    """Store a notification that nobody is to apply: quarantined, with its incident, or a test of the receiver.

    No body is stored that names an erased customer. A repetition changes nothing of what is stored already.
    """
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        if names_erased(row.project, [bytes(row.body or b"")]) == [True]:
            row.body = None
        store(row)
        if row.state == Notification.State.QUARANTINED:
            open_incidents([incident_about(stored_row(row), REFUSED_CONTENT, row.failure)])


def stored_row(row: Notification) -> Notification:
    """Return the stored row of the same body, after `store`."""
    rows = Notification.objects.using(state_database())
    return rows.get(key=row.key, body_hash=row.body_hash)
