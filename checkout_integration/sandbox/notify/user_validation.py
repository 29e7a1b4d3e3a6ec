"""Pre-approval: the synchronous user.validate before a payment (EVT-02, EVT-07)."""

from __future__ import annotations

import time
import uuid
from enum import StrEnum

from checkout_integration.protocol.vocabulary import Event, WebhookMode
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.faults import Fault, FaultKind, FaultPoint, FaultSwitchboard
from checkout_integration.sandbox.merchant import Projects, SandboxProject
from checkout_integration.sandbox.notify.signed_request import MerchantResponse, send_notification
from checkout_integration.sandbox.orders import Documents, Order
from checkout_integration.sandbox.wire import RunLog, write_json, write_moment


class Consent(StrEnum):
    """The merchant's decision; all but the first refuse the payment.

    Denied is a 4xx; failed is a response that means neither yes nor no: a broken shop, a redirect, a 204.
    """

    GIVEN = "given"
    DENIED = "denied"
    FAILED = "failed"
    UNANSWERED = "unanswered"


class UserValidation:
    """The question to the merchant whether the customer may pay."""

    def __init__(
        self,
        projects: Projects,
        documents: Documents,
        clock: VirtualClock,
        faults: FaultSwitchboard,
        log: RunLog,
    ) -> None:
        """Work on the sandbox's parts."""
        self._projects = projects
        self._documents = documents
        self._clock = clock
        self._faults = faults
        self._log = log

    def ask(self, order: Order) -> Consent:
        """Ask in pre-approval mode, once and without retry; only an exact 200 approves, the body is not read.

        Call it outside any transaction: it waits for the merchant, as long as the project's `attempt_timeout`.
        """
        project = self._projects.find(order.project_id)
        if project is None or project.mode != WebhookMode.PRE_APPROVAL:
            return Consent.GIVEN
        response = self._answer(order, project)
        if response.status == 0:
            return Consent.UNANSWERED
        if response.status == 200:
            return Consent.GIVEN
        return Consent.DENIED if 400 <= response.status < 500 else Consent.FAILED

    def _answer(self, order: Order, project: SandboxProject) -> MerchantResponse:
        """Return the merchant's response, changed by a fault that strikes user.validate."""
        strike = self._faults.draw(FaultPoint.VALIDATION, Event.USER_VALIDATE)
        fault = strike.fault if strike else None
        body, kind = self._body(order), fault.kind if fault else None
        if not order.webhook_url or kind is FaultKind.DROP:
            note = "" if order.webhook_url else "the project has no webhook URL"
            return self._recorded(order, b"", MerchantResponse(status=0, note=note), fault)
        if fault is not None and kind is FaultKind.SLOW:
            time.sleep(fault.seconds)
        response = MerchantResponse(status=0)
        for _ in range(2 if kind is FaultKind.DUPLICATE else 1):
            response = send_notification(
                order.webhook_url,
                body,
                order.secret_key,
                timeout=project.attempt_timeout,
                anywhere=project.unsafe_allow_any_webhook,
                fault=kind,
                follow=False,
            )
            self._recorded(order, body, response, fault)
        return MerchantResponse(status=0) if kind is FaultKind.UNHEARD else response

    def _body(self, order: Order) -> bytes:
        message = self._documents.notification(
            id=str(uuid.uuid4()),
            event=Event.USER_VALIDATE,
            live=order.live,
            created_at=self._clock.now(),
            delivery_try=1,
            payload=self._documents.user(order),
        )
        return write_json(message).encode()

    def _recorded(
        self, order: Order, body: bytes, response: MerchantResponse, fault: Fault | None
    ) -> MerchantResponse:
        words = [Event.USER_VALIDATE, f"fault: {fault.kind}" if fault else "", response.note]
        self._log.record(
            at=write_moment(self._clock.now()),
            direction="out",
            method="POST",
            url=order.webhook_url,
            status=response.status,
            request=body,
            answer=response.body,
            note=", ".join(filter(None, words)),
        )
        return response
