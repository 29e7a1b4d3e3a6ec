"""Reading a notification: what it says of an order, and whether it may be applied."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from checkout_integration.models.columns import LONGEST_IDENTIFIER
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.quarantine import is_quarantined
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.strict_json import loads
from checkout_integration.protocol.vocabulary import Event

PAYMENT_EVENTS: Final = frozenset(Event) - {Event.USER_VALIDATE}


def read_notification(body: bytes) -> documents.Notification:
    """Return the notification of a body; a number beyond our limits costs its field only.

    Raises ``StrictJsonError`` and ``MalformedNotification``, whose texts name our rule and repeat nothing of the body.
    """
    return documents.parse_notification(loads(body, leave_out_numbers=True))


def quarantine_reason(notification: documents.Notification, order: Order, now: datetime) -> str:
    """Return why a notification of a payment is not applied, or "". It names our rule, never the content."""
    if notification.event in PAYMENT_EVENTS and not order.id:
        return "the order has no id"
    if notification.event in PAYMENT_EVENTS and len(order.id or "") > LONGEST_IDENTIFIER:
        return f"the order's id is longer than {LONGEST_IDENTIFIER} characters"
    if is_quarantined(notification.created_at, now):
        return "created_at lies more than two days in the future"
    return ""


def observation_of(notification: documents.Notification, order: Order) -> Observation:
    """Return what a notification of a payment says of its order."""
    return Observation(
        source=Source.NOTIFICATION,
        order=order,
        event=notification.event,
        observed_at=notification.created_at,
        delivery_try=notification.delivery_try or 0,
        live=notification.live,
    )
