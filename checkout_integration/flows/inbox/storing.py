"""The rows of notifications: one per distinct body, whatever the number of its deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db.models import Q

from checkout_integration.conf import Project
from checkout_integration.flows.database import (
    KEY_LENGTH,
    end_incidents,
    key_of,
    open_incidents,
    resolve_incidents,
    upsert,
    write_transaction,
)
from checkout_integration.flows.ledger import names_erased, request_hashes
from checkout_integration.flows.outbox import life_cycle_message, write_messages
from checkout_integration.models import Incident, Notification, OutboxMessage
from checkout_integration.models.actor import Actor
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.quarantine import PAYMENT_EVENTS
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.strict_json import unread_in
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.signals import notification_failed
from checkout_integration.signals.arguments import Origin

# Incidents about notifications are opened and resolved for a whole batch at once.

REFUSED_CONTENT: Final = "refused_content"
UNKNOWN_EVENT: Final = "unknown_event"
NOT_APPLIED: Final = "not_applied"
UNREADABLE: Final = "unreadable"
RESOLVED_BY_APPLYING: Final = (REFUSED_CONTENT, NOT_APPLIED)
"""Kinds of incidents that end when their notification, or another attempt of it, is applied."""


def incident_about(row: Notification, kind: str, detail: str = "") -> Incident:
    """Return an incident about a notification: one for all of its attempts."""
    return Incident(
        key=_key(row, kind), kind=kind, project=row.project, notification_id=row.pk, detail=detail
    )


def open_incidents_about(incidents: Sequence[Incident]) -> None:
    """Open incidents, each once. A resolved incident about a failure is opened again, so that staff see it."""
    open_incidents([each for each in incidents if each.kind != NOT_APPLIED])
    again = {each.key: each for each in incidents if each.kind == NOT_APPLIED}
    columns = ("notification", "detail", "resolved_at", "staff", "system_user", "ended_itself")
    upsert(list(again.values()), "key", update=columns)


def unreadable_incidents(row: Notification, document: documents.Notification) -> list[Incident]:
    """Return the incident about what could not be read of a notification. The ledger opens those about an order."""
    is_ours = document.event not in PAYMENT_EVENTS
    if any(is_ours or not path.startswith("object.") for path in unread_in(document.document)):
        asks = document.event == Event.USER_VALIDATE
        return [incident_about(row, f"{UNREADABLE}:{'user' if asks else 'other'}")]
    return []


def end_incidents_about(rows: Iterable[Notification], staff: Actor | None = None) -> None:
    """End the incidents about these notifications, which are applied: by themselves, or by the staff who applied them."""
    keys = sorted(_key(row, kind) for row in rows for kind in RESOLVED_BY_APPLYING)
    if keys and staff:
        resolve_incidents(Q(key__in=keys), staff)
    else:
        end_incidents(keys)


def failed_message(row: Notification, state: str, reason: str, *, source: Origin) -> OutboxMessage:
    """Return ``notification_failed``: one for all attempts of the notification that fail in the same way."""
    return life_cycle_message(
        notification_failed,
        row.project,
        row.key,
        state,
        reason,
        source=source,
        notification=row.pk,
        state=str(state),
        reason=reason,
        order_id=row.order_id,
    )


def _key(row: Notification, kind: str) -> str:
    return key_of("notification", row.key, kind)


State = Notification.State


@dataclass(frozen=True, kw_only=True)
class VerifiedNotification:
    """A body whose signature matched the project's secret at this position of the list (0 is the current one)."""

    project: Project
    body: bytes = field(repr=False)
    secret_position: int
    arrived_at: datetime


def row_of(verified: VerifiedNotification, document: documents.Notification) -> Notification:
    """Return the row of a notification, due at once. The key leaves the body out: it changes with every attempt."""
    object_id = str(document.object.get("id") or "")
    key = key_of(verified.project.alias, document.id, document.event, object_id)
    return Notification(
        **_as_received(verified, key),
        **envelope_columns(document, verified.project.reference_key),
        due_at=verified.arrived_at,
    )


def unreadable_row_of(verified: VerifiedNotification, reason: str) -> Notification:
    """Return the row of a signed body that our limits refuse: its key is a hash of its bytes."""
    key = key_of(verified.project.alias, "body", request_hashes("", verified.body)[0])
    return Notification(**_as_received(verified, key), state=State.QUARANTINED.value, failure=reason)


def _as_received(verified: VerifiedNotification, key: str) -> dict[str, Any]:
    return {
        "key": key,
        "body_hash": request_hashes(key, verified.body)[0][:KEY_LENGTH],
        "project": verified.project.alias,
        "body": verified.body,
        "secret_position": verified.secret_position,
        "received_at": verified.arrived_at,
        "last_received_at": verified.arrived_at,
    }


def envelope_columns(document: documents.Notification, reference_key: str) -> dict[str, Any]:
    """Return the columns with values of the envelope, and our own reference of the checkout."""
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
    """Store a notification that will not be applied: a quarantined one with its incident, or a test of the webhook.

    A body that names an erased customer is not stored. A duplicate does not change the stored row.
    """
    with write_transaction():
        if names_erased(row.project, [row.body or b""]) == [True]:
            row.body = None
        store(row)
        if row.state == State.QUARANTINED:
            stored = stored_row(row)
            open_incidents_about([incident_about(stored, REFUSED_CONTENT, row.failure)])
            if stored.receipts == 1:  # its message may have been pruned since the first time
                write_messages([failed_message(stored, row.state, row.failure, source="notification")])


def stored_row(row: Notification) -> Notification:
    """Return the stored row of the same body, after `store`."""
    return Notification.primary.get(key=row.key, body_hash=row.body_hash)
