"""The reading of a notification: its observation of an order, and whether it may be applied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from checkout_integration.conf import app_settings
from checkout_integration.flows.ledger import Cause, OrderChange, Step
from checkout_integration.models import Notification
from checkout_integration.models.actor import Actor
from checkout_integration.models.columns import LONGEST_IDENTIFIER
from checkout_integration.policy.modes import is_testing_case
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.quarantine import PAYMENT_EVENTS, quarantine_reason
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.exact_names import problem_of, unclear_name
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.strict_json import JsonRefused, StrictJsonError, loads

State = Notification.State


def read_notification(body: bytes, reference_key: str) -> documents.Notification:
    """Return the notification of a body. What cannot be read costs its field only, unless it names something.

    Raises ``StrictJsonError`` and ``MalformedNotification``. Their messages name our rule and repeat nothing of the body.
    """
    document = loads(body, tolerant=True)
    if name := unclear_name(document, reference_key):
        raise JsonRefused(problem_of(name))
    return documents.parse_notification(document)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A stored notification as it was read, and once it is settled what the ledger made of it.

    Attributes:
        state: its next state unless the ledger fails on it.
        reason: why it is quarantined; it names our rule, never the content. Of a failed one the place of the error.
        document: None where it cannot be read.
        step: its observation of an order; None where it has none.
        error: the exception of our own code.
        change: the change of its order.
        erased: no personal data of it may be stored.

    """

    row: Notification
    state: str = State.APPLIED
    reason: str = ""
    document: documents.Notification | None = None
    step: Step | None = None
    error: Exception | None = None
    change: OrderChange | None = None
    erased: bool = False

    @property
    def ends_well(self) -> bool:
        """Whether nothing is left to do."""
        return self.state in (State.APPLIED, State.TEST)


def read(row: Notification, now: datetime, staff: Actor | None = None) -> Reading:
    """Read a stored notification, judged by the time ``now``. Raises nothing, for any body."""
    if row.project not in app_settings().projects:
        return Reading(row=row, state=State.FAILED, reason="its project is not in the settings")
    try:
        return _read(row, now, staff)
    except (StrictJsonError, documents.MalformedNotification) as error:
        return Reading(row=row, state=State.QUARANTINED, reason=str(error))
    except Exception as error:  # noqa: BLE001  # a bug of ours costs this notification, not its batch
        return Reading(row=row, state=State.FAILED, error=error)


def _read(row: Notification, now: datetime, staff: Actor | None) -> Reading:
    reference_key = app_settings().project(row.project).reference_key
    document = read_notification(bytes(row.body or b""), reference_key)
    order = document.order()
    if reason := quarantine_reason(document, order, now, longest_id=LONGEST_IDENTIFIER):
        return Reading(row=row, state=State.QUARANTINED, reason=reason, document=document)
    if is_testing_case(document.object):
        return Reading(row=row, state=State.TEST, document=document)
    if document.event not in PAYMENT_EVENTS:
        return Reading(row=row, document=document)
    cause = Cause(source=Source.NOTIFICATION, notification=row, staff=staff)
    step = Step(observation=_observation_of(document, order), cause=cause)
    return Reading(row=row, document=document, step=step)


def _observation_of(notification: documents.Notification, order: Order) -> Observation:
    return Observation(
        source=Source.NOTIFICATION,
        order=order,
        event=notification.event,
        observed_at=notification.created_at,
        delivery_try=notification.delivery_try or 0,
        live=notification.live,
    )
