"""The path of a notification: verify → parse → store → respond.

It takes one statement, locks no order, and runs no rule that could fail. An empty 200 means that the body is committed. A
refusal stores nothing and takes no statement (docs/guarantees.md). The inbox applies the stored notification.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from datetime import datetime

from checkout_integration import telemetry
from checkout_integration.conf import Project
from checkout_integration.flows import inbox
from checkout_integration.flows.database import (
    TRANSIENT_DATABASE_ERRORS,
    Unavailable,
    ensure_installed,
    with_retries,
)
from checkout_integration.flows.inbox import VerifiedNotification, read_notification
from checkout_integration.flows.outbox import record_own
from checkout_integration.flows.webhook import validation
from checkout_integration.flows.webhook.response import (
    ACKNOWLEDGED,
    NOT_JSON,
    UNAVAILABLE,
    UNREADABLE,
    UNSIGNED,
    WebhookResponse,
)
from checkout_integration.models import Notification
from checkout_integration.policy.log_safety import error_location
from checkout_integration.policy.modes import is_testing_case, user_of_testing_case
from checkout_integration.policy.quarantine import PAYMENT_EVENTS
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.body import BodyRefused, read_body
from checkout_integration.protocol.signature import Encoding, verify
from checkout_integration.protocol.strict_json import JsonRefused, NotJson
from checkout_integration.protocol.vocabulary import Event

logger = logging.getLogger("checkout_integration.intake")

LARGEST_BODY = 1024 * 1024
ASKS_ABOUT_USER = re.compile(rb'"event"\s*:\s*"user\.validate')
"""Found in the bytes of a request that cannot be read: an empty 200 would approve the customer."""


@dataclass(frozen=True, kw_only=True)
class WebhookRequest:
    """A request as it arrived: its bytes, the headers that are needed to read them, and the time."""

    body: bytes = field(repr=False)
    authorization: str | None = field(default=None, repr=False)
    content_encoding: str = ""
    arrived_at: datetime


def receive(project: Project, request: WebhookRequest) -> WebhookResponse:
    """Receive one request and return the response. Raises nothing, whatever is sent."""
    with telemetry.timed(telemetry.ACCEPT, project=project.alias) as measured:
        response = _receive(project, request)
        measured["outcome"] = _outcome(response)
    if response.stored:
        telemetry.count(telemetry.ACCEPTED, project=project.alias, **_kind(response.notification))
    return response


def _outcome(response: WebhookResponse) -> str:
    if response.stored:
        return "stored"
    return "refused" if response.status < 500 else "unavailable"


def _kind(row: Notification | None) -> dict[str, str]:
    """Return the event, and whether the service sent it before; "other" for what is not applied, such as user.validate."""
    event = row.event if row is not None and row.event in PAYMENT_EVENTS else "other"
    return {"event": event, "delivery": "retry" if row is not None and row.delivery_try else "first"}


def _receive(project: Project, request: WebhookRequest) -> WebhookResponse:
    try:
        body = read_body([request.body], request.content_encoding, LARGEST_BODY)
    except BodyRefused:
        return UNREADABLE
    try:
        verified = _verified(project, request, body)
    except Exception as error:  # noqa: BLE001  # a setting's callable may raise anything
        logger.error(
            "The secrets of project %s cannot be read: %s",
            project.alias,
            error_location(error),
            extra={"project": project.alias},
        )
        return UNAVAILABLE
    if verified is None:
        return UNSIGNED
    try:
        ensure_installed(project)
        record_own()
        return _process(verified)
    except (Unavailable, *TRANSIENT_DATABASE_ERRORS) as error:
        logger.error(
            "A notification could not be stored (%s); it was answered 503.",
            type(error).__name__,
            extra={"project": project.alias},
        )
        return UNAVAILABLE


def _verified(project: Project, request: WebhookRequest, body: bytes) -> VerifiedNotification | None:
    """Return the notification if the JSON body is signed, or the bytes as sent: a sender may sign the compressed bytes."""
    encodings = [Encoding(each) for each in project.signature_encodings]
    secrets = project.secrets
    for candidate in dict.fromkeys((body, request.body)):
        position = verify(request.authorization, candidate, secrets, encodings)
        if position is not None:
            return VerifiedNotification(
                project=project, body=body, secret_position=position, arrived_at=request.arrived_at
            )
    return None


def _process(verified: VerifiedNotification) -> WebhookResponse:
    try:
        document = read_notification(verified.body, verified.project.reference_key)
    except NotJson:
        return NOT_JSON
    except (JsonRefused, documents.MalformedNotification) as error:
        # The error's text is our own: it names the rule, never the content.
        row = inbox.unreadable_row_of(verified, str(error))
        if ASKS_ABOUT_USER.search(verified.body):
            return validation.refuse_unread(verified, row)
        with_retries(lambda: inbox.store_settled(row))
        return ACKNOWLEDGED
    if document.event == Event.USER_VALIDATE:
        return validation.answer(verified, document, document.user())
    if is_testing_case(document.object):
        return _handle_testing_case(verified, document)
    row = inbox.row_of(verified, document)
    with_retries(lambda: inbox.store(row))
    return WebhookResponse(stored=True, notification=row)


def _handle_testing_case(verified: VerifiedNotification, document: documents.Notification) -> WebhookResponse:
    """Respond to a test of the webhook: nothing is made or sent. The shop's validators decide about tests with a user."""
    if user := user_of_testing_case(document.order()):
        return validation.answer(verified, document, user, state=Notification.State.TEST)
    row = inbox.row_of(verified, document)
    row.state, row.due_at = Notification.State.TEST.value, None
    with_retries(lambda: inbox.store_settled(row))
    return ACKNOWLEDGED
