"""Keeping notifications: one row per event, whatever the number of its deliveries."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database import insert_once, key_of, read_committed, state_database
from checkout_integration.flows.tombstone import names_erased
from checkout_integration.models import Incident, Notification
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


def row_of(verified: Verified, told: documents.Notification) -> Notification:
    """The row that a notification is kept as. The key leaves the body out: it changes with every attempt."""
    object_id = str(told.object.get("id") or "")
    return Notification(
        key=key_of(verified.project.alias, told.id, told.event, object_id),
        project=verified.project.alias,
        notification_id=as_column_text(told.id),
        event=as_column_text(told.event, 64),
        object_id=as_column_text(object_id),
        live=told.live,
        created_at=told.created_at,
        expires_at=told.expires_at,
        delivery_try=_column_integer(told.delivery_try),
        body=verified.body,
        secret_position=verified.secret_position,
        received_at=verified.arrived_at,
        last_received_at=verified.arrived_at,
    )


class Keeping(Enum):
    """What `keep` found. ``SET_ASIDE``: our rules refuse this delivery, or refused an earlier one and this inherits it."""

    NEW = auto()
    REPEATED = auto()
    SET_ASIDE = auto()


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
        refused = Notification.State.REFUSED
        if row.state != refused and held.exclude(state=refused).update(state=row.state, failure="", **seen):
            return Keeping.REPEATED
        if not held.update(**seen):  # its state stands: what was applied stays applied
            raise  # no such row: it was no repetition that the database refused, and nothing is stored (G1)
        return Keeping.SET_ASIDE
    return Keeping.NEW


def count_repetition(row: Notification) -> None:
    """Count one more receipt of a notification that is stored. Nothing else of its row changes."""
    stored = Notification.objects.using(state_database()).filter(key=row.key)
    stored.update(receipts=F("receipts") + 1, last_received_at=row.received_at, delivery_try=row.delivery_try)


def told_of_orders(project: str, order_ids: Sequence[str]) -> QuerySet[Notification]:
    """The notifications of these orders; the object of a user.validate is a customer, whose id may be the same."""
    told = Notification.objects.using(state_database()).filter(project=project, object_id__in=order_ids)
    return told.exclude(event=Event.USER_VALIDATE)


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
    key = key_of(verified.project.alias, "body", hashlib.sha256(verified.body).hexdigest())
    row = Notification(
        key=key,
        project=verified.project.alias,
        state=Notification.State.REFUSED,
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


def open_incident(row: Notification, kind: str, detail: str = "") -> None:
    """Opens an incident about a notification, once per notification and kind."""
    incident = Incident(
        key=key_of("notification", row.key, kind),
        kind=kind,
        project=row.project,
        notification=row,
        detail=detail,
    )
    insert_once([incident], "key")


def _column_integer(value: int | None) -> int:
    return min(max(value or 0, 0), 2**31 - 1)
