"""Which notifications are quarantined: they break a rule of ours, and wait for a person."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from checkout_integration.protocol.notification import Notification
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.vocabulary import Event

MOST_AHEAD: Final = timedelta(days=2)
"""Later ones would win every comparison of times; the specification does not show how far a clock may be ahead (WHK-05)."""
PAYMENT_EVENTS: Final = frozenset(Event) - {Event.USER_VALIDATE}


def quarantine_reason(notification: Notification, order: Order, now: datetime, *, longest_id: int) -> str:
    """Return why a notification is not applied, or ""."""
    if notification.event == Event.USER_VALIDATE:
        return "user.validate is answered in the request only"
    if notification.event in PAYMENT_EVENTS and not order.id:
        return "the order has no id"
    if notification.event in PAYMENT_EVENTS and len(order.id or "") > longest_id:
        return f"the order's id is longer than {longest_id} characters"
    if is_too_far_ahead(notification.created_at, now):
        return "created_at lies more than two days in the future"
    return ""


def is_too_far_ahead(created_at: datetime | None, now: datetime) -> bool:
    """Return whether a notification with this creation time is quarantined, judged by the present time."""
    return created_at is not None and created_at > now + MOST_AHEAD
