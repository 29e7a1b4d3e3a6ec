"""The queue of payment.* notifications, each with a snapshot of its order (EVT-03 to EVT-06)."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from checkout_integration.protocol.vocabulary import Event
from checkout_integration.sandbox.orders.documents import Context, Documents
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.wire.json_text import write_json
from checkout_integration.sandbox.wire.moments import from_microseconds, to_microseconds, write_moment


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedNotification:
    """One notification in the queue; `state` is due, waiting, running, delivered, lost or given_up."""

    seq: int
    order_id: str
    notification_id: str
    event: Event
    object: str
    created_at: datetime
    due_at: datetime
    delivery_try: int
    state: str
    answer: int | None

    def document(self) -> dict[str, Any]:
        """Return its form in the control API."""
        return {
            "notification_id": self.notification_id,
            "event": self.event,
            "state": self.state,
            "created_at": write_moment(self.created_at),
            "delivery_try": self.delivery_try,
            "due_at": write_moment(self.due_at),
            "answer": self.answer,
        }


def notification_id(order_id: str, event: Event, occurrence: int) -> str:
    """Return the id of the notifications of one event of one order, the same for retries and re-sends (WHK-01)."""
    return hashlib.sha256(f"{order_id}/{event}/{occurrence}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Outbox:
    """The queue in the store; notifications that a stopped process was sending are due again."""

    store: Store
    documents: Documents
    profile: Profile

    def __post_init__(self) -> None:
        self.store.run("UPDATE notifications SET state = 'due' WHERE state = 'running'")

    def enqueue(self, order: Order, event: Event, now: datetime) -> None:
        """Queue the notification of a new event with the order as it is now; call it in the transaction that changed it."""
        past = {queued.notification_id for queued in self.of_order(order.id) if queued.event is event}
        occurrence = len(past) if self.profile.event_ids else 0
        self._insert(order, event, notification_id(order.id, event, occurrence), now, now)

    def enqueue_again(self, order: Order, event: Event, now: datetime) -> None:
        """Queue the newest notification of a past event again, with the same id and the order as it is now."""
        newest = [queued for queued in self.of_order(order.id) if queued.event is event][-1]
        self._insert(order, event, newest.notification_id, newest.created_at, now)

    def _insert(self, order: Order, event: Event, id: str, created_at: datetime, due_at: datetime) -> None:
        if not order.webhook_url:
            return
        status = self.profile.success_status if event is Event.PAYMENT_SUCCESS else None
        payload = self.documents.order(order, Context.WEBHOOK, status=status)
        self.store.run(
            "INSERT INTO notifications (order_id, notification_id, event, object, created_at, due_at, delivery_try)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                order.id,
                id,
                event,
                write_json(payload),
                to_microseconds(created_at),
                to_microseconds(due_at),
                self.profile.first_attempt,
            ),
        )

    def claim(self, now: datetime) -> QueuedNotification | None:
        """Take the next due notification, so that no other thread takes it too."""
        rows = self.store.run(
            "UPDATE notifications SET state = 'running' WHERE seq = ("
            " SELECT seq FROM notifications WHERE state IN ('due', 'waiting') AND due_at <= ?"
            " ORDER BY due_at, seq LIMIT 1"
            ") RETURNING *",
            (to_microseconds(now),),
        )
        return _notification_of(rows[0]) if rows else None

    def settle(self, notification: QueuedNotification, state: str, answer: int | None) -> None:
        """Store that a notification needs no further attempt."""
        self.store.run(
            "UPDATE notifications SET state = ?, answer = ? WHERE seq = ?", (state, answer, notification.seq)
        )

    def postpone(self, notification: QueuedNotification, answer: int, now: datetime, seconds: float) -> None:
        """Put a notification back for its next attempt."""
        due_at = to_microseconds(now + timedelta(seconds=seconds))
        self.store.run(
            "UPDATE notifications SET state = 'due', answer = ?, delivery_try = delivery_try + 1, due_at = ?"
            " WHERE seq = ?",
            (answer, due_at, notification.seq),
        )

    def hold(self, notification: QueuedNotification, now: datetime, seconds: float, *, state: str) -> None:
        """Put a notification back without an attempt; in state `waiting` it waits for `release`, `seconds` at most."""
        due_at = to_microseconds(now + timedelta(seconds=seconds))
        self.store.run(
            "UPDATE notifications SET state = ?, due_at = ? WHERE seq = ?", (state, due_at, notification.seq)
        )

    def release(self, order_id: str, now: datetime) -> None:
        """Make the waiting notifications of an order due."""
        self.store.run(
            "UPDATE notifications SET state = 'due', due_at = ? WHERE order_id = ? AND state = 'waiting'",
            (to_microseconds(now), order_id),
        )

    def bring_forward(self, seconds: float) -> None:
        """Make everything in the queue due that much earlier."""
        self.store.run(
            "UPDATE notifications SET due_at = due_at - ? WHERE state IN ('due', 'waiting')",
            (timedelta(seconds=seconds) // timedelta(microseconds=1),),
        )

    def busy(self, now: datetime) -> bool:
        """Return whether a notification is being sent or is due."""
        rows = self.store.run(
            "SELECT 1 FROM notifications WHERE state = 'running'"
            " OR (state IN ('due', 'waiting') AND due_at <= ?) LIMIT 1",
            (to_microseconds(now),),
        )
        return bool(rows)

    def next_due(self) -> datetime | None:
        """Return when the next notification becomes due, or None when the queue is empty."""
        (row,) = self.store.run("SELECT min(due_at) FROM notifications WHERE state IN ('due', 'waiting')")
        return None if row[0] is None else from_microseconds(row[0])

    def of_order(self, order_id: str) -> list[QueuedNotification]:
        """Return every notification of an order, oldest first."""
        rows = self.store.run("SELECT * FROM notifications WHERE order_id = ? ORDER BY seq", (order_id,))
        return [_notification_of(row) for row in rows]


def _notification_of(row: sqlite3.Row) -> QueuedNotification:
    times = {name: from_microseconds(row[name]) for name in ("created_at", "due_at")}
    return QueuedNotification(**{**dict(row), **times, "event": Event(row["event"])})
