"""Pre-approval: the synchronous user.validate before a payment (EVT-02, EVT-07)."""

from __future__ import annotations

import uuid

from checkout_integration.protocol.vocabulary import Event, WebhookMode
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.documents import Documents
from checkout_integration.sandbox.json_text import write_json
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.project import Projects
from checkout_integration.sandbox.run_log import RunLog
from checkout_integration.sandbox.sending import send_notification


class Approval:
    """Asks the merchant whether the customer may pay."""

    def __init__(self, projects: Projects, documents: Documents, clock: VirtualClock, log: RunLog) -> None:
        """Work on the sandbox's parts."""
        self._projects = projects
        self._documents = documents
        self._clock = clock
        self._log = log

    def may_pay(self, order: Order) -> bool:
        """Ask in pre-approval mode, once and without retry; only an exact 200 approves, the body is not read.

        Call it outside any transaction: it waits for the merchant, ten seconds at most.
        """
        project = self._projects.find(order.project_id)
        if project is None or project.mode != WebhookMode.PRE_APPROVAL:
            return True
        now = self._clock.now()
        message = self._documents.notification(
            id=str(uuid.uuid4()),
            event=Event.USER_VALIDATE,
            live=order.live,
            now=now,
            delivery_try=1,
            payload=self._documents.user(order),
        )
        body = write_json(message).encode()
        answer = send_notification(
            order.webhook_url,
            body,
            order.secret_key,
            timeout=project.attempt_timeout,
            anywhere=project.unsafe_allow_any_webhook,
        )
        self._log.record(
            at=write_moment(now),
            direction="out",
            method="POST",
            url=order.webhook_url,
            status=answer.status,
            request=body,
            answer=answer.body,
            note=" ".join(filter(None, [Event.USER_VALIDATE, answer.note])),
        )
        return answer.status == 200
