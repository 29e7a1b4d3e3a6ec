"""The queue of payment.* notifications: each a snapshot of its order, waiting for its time (EVT-03 to EVT-06)."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from checkout_integration.protocol.vocabulary import Event
from checkout_integration.sandbox.documents import Context, Documents
from checkout_integration.sandbox.json_text import write_json
from checkout_integration.sandbox.moments import from_microseconds, to_microseconds, write_moment
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """One notification in the queue; `state` is due, held, running, delivered, lost or given_up."""

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
        """Return what the control API tells about it."""
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
    """Return the id of every message of one event of one order, retries and re-sends included (WHK-01)."""
    return hashlib.sha256(f"{order_id}/{event}/{occurrence}".encode()).hexdigest()[:32]


class Outgoing:
    """The queue in the store."""

    def __init__(self, store: Store, documents: Documents, profile: Profile) -> None:
        """Work on the sandbox's parts, and take up again what a stopped process was sending."""
        self._store = store
        self._documents = documents
        self._profile = profile
        with store.transaction() as connection:
            connection.execute("UPDATE deliveries SET state = 'due' WHERE state = 'running'")

    def enqueue(self, order: Order, event: Event, now: datetime) -> None:
        """Queue the message of a new event with the order as it is now; inside the transaction that changed it."""
        past = {each.notification_id for each in self.of_order(order.id) if each.event is event}
        occurrence = len(past) if self._profile.event_ids else 0
        self._insert(order, event, notification_id(order.id, event, occurrence), now, now)

    def enqueue_again(self, order: Order, event: Event, now: datetime) -> None:
        """Queue the newest message of a past event once more, with the same id and the order as it is now."""
        newest = [each for each in self.of_order(order.id) if each.event is event][-1]
        self._insert(order, event, newest.notification_id, newest.created_at, now)

    def _insert(self, order: Order, event: Event, id: str, created_at: datetime, due_at: datetime) -> None:
        if not order.webhook_url:
            return
        status = self._profile.success_status if event is Event.PAYMENT_SUCCESS else None
        payload = self._documents.order(order, Context.WEBHOOK, status=status)
        with self._store.transaction() as connection:
            connection.execute(
                "INSERT INTO deliveries (order_id, notification_id, event, object, created_at, due_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    order.id,
                    id,
                    event,
                    write_json(payload),
                    to_microseconds(created_at),
                    to_microseconds(due_at),
                ),
            )

    def claim(self, now: datetime) -> Delivery | None:
        """Take the next due message, so that no other thread takes it too."""
        with self._store.transaction() as connection:
            row = connection.execute(
                "UPDATE deliveries SET state = 'running' WHERE seq = ("
                " SELECT seq FROM deliveries WHERE state IN ('due', 'held') AND due_at <= ? ORDER BY due_at, seq LIMIT 1"
                ") RETURNING *",
                (to_microseconds(now),),
            ).fetchone()
        return None if row is None else _delivery_of(row)

    def settle(self, delivery: Delivery, state: str, answer: int | None) -> None:
        """Note that a message needs no further attempt."""
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE deliveries SET state = ?, answer = ? WHERE seq = ?", (state, answer, delivery.seq)
            )

    def postpone(self, delivery: Delivery, answer: int, now: datetime, seconds: float) -> None:
        """Put a message back for its next attempt."""
        due_at = now + timedelta(seconds=seconds)
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE deliveries SET state = 'due', answer = ?, delivery_try = delivery_try + 1, due_at = ?"
                " WHERE seq = ?",
                (answer, to_microseconds(due_at), delivery.seq),
            )

    def hold(self, delivery: Delivery, now: datetime, seconds: float, *, state: str) -> None:
        """Put a message back without having tried it; one that is `held` waits for `release`, `seconds` at most."""
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE deliveries SET state = ?, due_at = ? WHERE seq = ?",
                (state, to_microseconds(now + timedelta(seconds=seconds)), delivery.seq),
            )

    def release(self, order_id: str, now: datetime) -> None:
        """Let the held messages of an order go."""
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE deliveries SET state = 'due', due_at = ? WHERE order_id = ? AND state = 'held'",
                (to_microseconds(now), order_id),
            )

    def bring_forward(self, seconds: float) -> None:
        """Let everything that waits become due so much earlier."""
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE deliveries SET due_at = due_at - ? WHERE state IN ('due', 'held')",
                (timedelta(seconds=seconds) // timedelta(microseconds=1),),
            )

    def busy(self, now: datetime) -> bool:
        """Whether a message is being sent or could be sent now."""
        with self._store.transaction() as connection:
            row = connection.execute(
                "SELECT 1 FROM deliveries WHERE state = 'running' OR (state IN ('due', 'held') AND due_at <= ?) LIMIT 1",
                (to_microseconds(now),),
            ).fetchone()
        return row is not None

    def next_due(self) -> datetime | None:
        """Return when the next message becomes due, or None when nothing waits."""
        with self._store.transaction() as connection:
            (due_at,) = connection.execute(
                "SELECT min(due_at) FROM deliveries WHERE state IN ('due', 'held')"
            ).fetchone()
        return None if due_at is None else from_microseconds(due_at)

    def of_order(self, order_id: str) -> list[Delivery]:
        """Return every message of an order, oldest first."""
        with self._store.transaction() as connection:
            rows = connection.execute(
                "SELECT * FROM deliveries WHERE order_id = ? ORDER BY seq", (order_id,)
            ).fetchall()
        return [_delivery_of(row) for row in rows]


def _delivery_of(row: sqlite3.Row) -> Delivery:
    return Delivery(
        seq=row["seq"],
        order_id=row["order_id"],
        notification_id=row["notification_id"],
        event=Event(row["event"]),
        object=row["object"],
        created_at=from_microseconds(row["created_at"]),
        due_at=from_microseconds(row["due_at"]),
        delivery_try=row["delivery_try"],
        state=row["state"],
        answer=row["answer"],
    )
