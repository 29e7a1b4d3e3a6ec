"""Accepting a notification: verify → parse → store → answer. One statement, no order locked, no rule that could fail it.

An empty 200 means that the bytes are committed (G1); a refusal stores nothing and costs no statement (G2). Applying what is
stored is the inbox's work, whoever does it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import datetime

from checkout_integration.conf import Project
from checkout_integration.flows import inbox
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS, Unavailable, with_retries
from checkout_integration.flows.inbox import Verified
from checkout_integration.flows.inbox.reading import read_notification
from checkout_integration.flows.installation import ensure_installed
from checkout_integration.flows.log_safety import error_location
from checkout_integration.flows.webhook import validation
from checkout_integration.flows.webhook.response import (
    ACKNOWLEDGED,
    NOT_JSON,
    UNAVAILABLE,
    UNREADABLE,
    UNSIGNED,
    Answer,
)
from checkout_integration.models import Notification
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.body import BodyRefused, read_body
from checkout_integration.protocol.signature import Encoding, verify
from checkout_integration.protocol.strict_json import JsonRefused, NotJson
from checkout_integration.protocol.vocabulary import Event, TestingCase

logger = logging.getLogger("checkout_integration.intake")

LARGEST_BODY = 1024 * 1024
USER_CASES = (TestingCase.EXISTING_USER, TestingCase.NON_EXISTING_USER)


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """A request as it came: its bytes, and the headers that tell how to read them."""

    body: bytes = field(repr=False)
    authorization: str | None = field(default=None, repr=False)
    content_encoding: str = ""
    arrived_at: datetime


def receive(project: Project, delivered: Delivered) -> Answer:
    """Takes one request in and returns its answer; whatever a stranger sends, it raises nothing."""
    try:
        body = read_body([delivered.body], delivered.content_encoding, LARGEST_BODY)
    except BodyRefused:
        return UNREADABLE
    try:
        verified = _verified(project, delivered, body)
    except Exception as error:  # noqa: BLE001  # a setting's callable may raise anything
        logger.error("The secrets of project %s cannot be read: %s", project.alias, error_location(error))
        return UNAVAILABLE
    if verified is None:
        return UNSIGNED
    try:
        ensure_installed(project)
        return _take(verified)
    except (Unavailable, *TRANSIENT_DATABASE_ERRORS) as error:
        logger.error("A notification could not be stored (%s); it was answered 503.", type(error).__name__)
        return UNAVAILABLE


def _verified(project: Project, delivered: Delivered, body: bytes) -> Verified | None:
    """The JSON body if it is signed, else the bytes as sent: a sender may have signed what it compressed."""
    encodings = [Encoding(each) for each in project.signature_encodings]
    secrets = project.secrets
    for candidate in dict.fromkeys((body, delivered.body)):
        position = verify(delivered.authorization, candidate, secrets, encodings)
        if position is not None:
            return Verified(
                project=project, body=body, secret_position=position, arrived_at=delivered.arrived_at
            )
    return None


def _take(verified: Verified) -> Answer:
    try:
        document = read_notification(verified.body)
    except NotJson:
        return NOT_JSON
    except (JsonRefused, documents.MalformedNotification) as error:
        # Its text is ours: it names the rule, never the content.
        row = inbox.unreadable_row_of(verified, str(error))
        with_retries(lambda: inbox.store_settled(row))
        return ACKNOWLEDGED
    if document.event == Event.USER_VALIDATE:
        return validation.answer(verified, document, document.user())
    if document.object.get("testing_case"):
        return _answer_test(verified, document)
    row = inbox.row_of(verified, document)
    with_retries(lambda: inbox.store(row))
    return replace(ACKNOWLEDGED, notification=row)


def _answer_test(verified: Verified, document: documents.Notification) -> Answer:
    """A test of the receiver: no order is made, no signal sent; cases about users are answered by the hook."""
    order = document.order()
    if order.testing_case in USER_CASES and order.user is not None:
        return validation.answer(verified, document, order.user, state=Notification.State.TEST)
    row = inbox.row_of(verified, document)
    row.state, row.due_at = Notification.State.TEST, None
    with_retries(lambda: inbox.store_settled(row))
    return ACKNOWLEDGED
