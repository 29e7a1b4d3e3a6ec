"""Pre-approval: the synchronous user.validate before a payment (EVT-02, EVT-07)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import StrEnum

from checkout_integration.protocol.vocabulary import Event, WebhookMode
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.faults.catalogue import FaultPoint
from checkout_integration.sandbox.faults.switchboard import FaultSwitchboard
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.notify.sender import Sender
from checkout_integration.sandbox.orders.documents import Documents
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.wire.json_text import write_json


class Consent(StrEnum):
    """The merchant's decision; all but the first refuse the payment.

    Denied is a 4xx; failed is a response that means neither yes nor no: a broken shop, a redirect, a 204.
    """

    GIVEN = "given"
    DENIED = "denied"
    FAILED = "failed"
    UNANSWERED = "unanswered"


@dataclass(frozen=True)
class UserValidation:
    """The question to the merchant whether the customer may pay."""

    projects: Projects
    documents: Documents
    clock: VirtualClock
    faults: FaultSwitchboard
    sender: Sender

    def ask(self, order: Order) -> Consent:
        """Ask in pre-approval mode, once and without retry; only an exact 200 approves, the body is not read.

        Call it outside any transaction: it waits for the merchant, as long as the project's `attempt_timeout`.
        """
        project = self.projects.find(order.project_id)
        if project is None or project.mode != WebhookMode.PRE_APPROVAL:
            return Consent.GIVEN
        strike = self.faults.draw(FaultPoint.VALIDATION, Event.USER_VALIDATE)
        response = self.sender.send(
            project,
            self._body(order),
            Event.USER_VALIDATE,
            url=order.webhook_url,
            secret_key=order.secret_key,
            fault=strike.fault if strike else None,
            follow=False,
        )
        if response.status == 0:
            return Consent.UNANSWERED
        if response.status == 200:
            return Consent.GIVEN
        return Consent.DENIED if 400 <= response.status < 500 else Consent.FAILED

    def _body(self, order: Order) -> bytes:
        message = self.documents.notification(
            id=str(uuid.uuid4()),
            event=Event.USER_VALIDATE,
            live=order.live,
            created_at=self.clock.now(),
            delivery_try=1,
            payload=self.documents.user(order),
        )
        return write_json(message).encode()
