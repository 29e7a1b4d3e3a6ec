"""Pre-approval: the synchronous user.validate before a payment (EVT-02, EVT-07)."""

from __future__ import annotations

import time
import uuid
from enum import StrEnum

from checkout_integration.protocol.vocabulary import Event, WebhookMode
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.documents import Documents
from checkout_integration.sandbox.faults import Fault, FaultSwitchboard
from checkout_integration.sandbox.faults_catalogue import FaultKind, FaultPoint
from checkout_integration.sandbox.json_text import write_json
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.project import Projects, SandboxProject
from checkout_integration.sandbox.run_log import RunLog
from checkout_integration.sandbox.sending import Answer, send_notification


class Consent(StrEnum):
    """What the merchant made of the question; all but the first refuse the payment.

    Denied is a 4xx; failed is an answer that means neither yes nor no: a broken shop, a redirect, a 204.
    """

    GIVEN = "given"
    DENIED = "denied"
    FAILED = "failed"
    UNANSWERED = "unanswered"


class Approval:
    """Asks the merchant whether the customer may pay."""

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
        answer = self._answer(order, project)
        if answer.status == 0:
            return Consent.UNANSWERED
        if answer.status == 200:
            return Consent.GIVEN
        return Consent.DENIED if 400 <= answer.status < 500 else Consent.FAILED

    def _answer(self, order: Order, project: SandboxProject) -> Answer:
        """Return the merchant's answer, as the fault has it that strikes the question."""
        strike = self._faults.draw(FaultPoint.VALIDATION, Event.USER_VALIDATE)
        fault = strike.fault if strike else None
        body, kind = self._body(order), fault.kind if fault else None
        if not order.webhook_url or kind is FaultKind.DROP:
            note = "" if order.webhook_url else "the project has no webhook URL"
            return self._recorded(order, b"", Answer(status=0, note=note), fault)
        if fault is not None and kind is FaultKind.SLOW:
            time.sleep(fault.seconds)
        answer = Answer(status=0)
        for _ in range(2 if kind is FaultKind.DUPLICATE else 1):
            answer = send_notification(
                order.webhook_url,
                body,
                order.secret_key,
                timeout=project.attempt_timeout,
                anywhere=project.unsafe_allow_any_webhook,
                fault=kind,
                follow=False,
            )
            self._recorded(order, body, answer, fault)
        return Answer(status=0) if kind is FaultKind.UNHEARD else answer

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

    def _recorded(self, order: Order, body: bytes, answer: Answer, fault: Fault | None) -> Answer:
        words = [Event.USER_VALIDATE, f"fault: {fault.kind}" if fault else "", answer.note]
        self._log.record(
            at=write_moment(self._clock.now()),
            direction="out",
            method="POST",
            url=order.webhook_url,
            status=answer.status,
            request=body,
            answer=answer.body,
            note=", ".join(filter(None, words)),
        )
        return answer
