"""Reading a notification: what it says of an order, and whether it may be applied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib.auth.models import AbstractBaseUser

from checkout_integration.conf import app_settings
from checkout_integration.flows.ledger import Cause, Step
from checkout_integration.models import Notification
from checkout_integration.models.columns import LONGEST_IDENTIFIER
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.quarantine import is_quarantined
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.strict_json import StrictJsonError, loads
from checkout_integration.protocol.vocabulary import Event

PAYMENT_EVENTS: Final = frozenset(Event) - {Event.USER_VALIDATE}

State = Notification.State


def read_notification(body: bytes) -> documents.Notification:
    """Return the notification of a body; a number beyond our limits costs its field only.

    Raises ``StrictJsonError`` and ``MalformedNotification``, whose texts name our rule and repeat nothing of the body.
    """
    return documents.parse_notification(loads(body, leave_out_numbers=True))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a stored notification comes to before the ledger sees it.

    Attributes:
        state: what it becomes unless the ledger fails on it.
        reason: why it is quarantined; it names our rule, never the content.
        document: None where it cannot be read.
        step: what it says of an order; None where it says nothing.
        error: what our own code raised on it.

    """

    row: Notification
    state: str = State.APPLIED
    reason: str = ""
    document: documents.Notification | None = None
    step: Step | None = None
    error: Exception | None = None


def read(row: Notification, now: datetime, staff: AbstractBaseUser | None = None) -> Reading:
    """Read a stored notification, judged by the clock as it is ``now``. Raises nothing, whatever its body holds."""
    if row.project not in app_settings().projects:
        return Reading(row=row, state=State.FAILED, reason="its project is not in the settings")
    try:
        return _read(row, now, staff)
    except (StrictJsonError, documents.MalformedNotification) as error:
        return Reading(row=row, state=State.QUARANTINED, reason=str(error))
    except Exception as error:  # noqa: BLE001  # a bug of ours costs this notification, not its batch
        return Reading(row=row, state=State.FAILED, error=error)


def _read(row: Notification, now: datetime, staff: AbstractBaseUser | None) -> Reading:
    document = read_notification(bytes(row.body or b""))
    order = document.order()
    if reason := _quarantine_reason(document, order, now):
        return Reading(row=row, state=State.QUARANTINED, reason=reason, document=document)
    if order.testing_case:
        return Reading(row=row, state=State.TEST, document=document)
    if document.event not in PAYMENT_EVENTS:
        return Reading(row=row, document=document)
    cause = Cause(source=Source.NOTIFICATION, notification=row, staff=staff)
    step = Step(observations=(_observation_of(document, order),), cause=cause)
    return Reading(row=row, document=document, step=step)


def _quarantine_reason(notification: documents.Notification, order: Order, now: datetime) -> str:
    """Return why a notification is not applied, or ""."""
    if notification.event == Event.USER_VALIDATE:
        return "user.validate is answered in the request only"
    if notification.event in PAYMENT_EVENTS and not order.id:
        return "the order has no id"
    if notification.event in PAYMENT_EVENTS and len(order.id or "") > LONGEST_IDENTIFIER:
        return f"the order's id is longer than {LONGEST_IDENTIFIER} characters"
    if is_quarantined(notification.created_at, now):
        return "created_at lies more than two days in the future"
    return ""


def _observation_of(notification: documents.Notification, order: Order) -> Observation:
    return Observation(
        source=Source.NOTIFICATION,
        order=order,
        event=notification.event,
        observed_at=notification.created_at,
        delivery_try=notification.delivery_try or 0,
        live=notification.live,
    )
