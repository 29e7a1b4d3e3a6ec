"""Taking a notification in: verify → parse → store and apply in one transaction → answer.

An empty 200 means that the bytes are committed (G1); a refusal stores nothing and costs no statement (G2).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime

from django.db import IntegrityError, transaction

from checkout_integration.conf import Project
from checkout_integration.flows import ledger
from checkout_integration.flows.database.connection import read_committed, state_database
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS, Unavailable, with_retries
from checkout_integration.flows.inbox import store as inbox
from checkout_integration.flows.inbox.reading import (
    PAYMENT_EVENTS,
    observation_of,
    quarantine_reason,
    read_notification,
)
from checkout_integration.flows.inbox.store import Keeping, Verified
from checkout_integration.flows.installation import ensure_installed
from checkout_integration.flows.ledger import Cause, Step
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
from checkout_integration.policy.observation import Source
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.body import BodyRefused, read_body
from checkout_integration.protocol.order import Order
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
        told = read_notification(verified.body)
    except NotJson:
        return NOT_JSON
    except (JsonRefused, documents.MalformedNotification) as error:
        reason = str(error)  # ours: it names the rule, never the content
        with_retries(lambda: inbox.keep_unreadable(verified, reason))
        return ACKNOWLEDGED
    if told.event == Event.USER_VALIDATE:
        return validation.answer(verified, told, told.user())
    testing_case = told.order().testing_case
    if testing_case:
        return _answer_test(verified, told, testing_case)
    try:
        with_retries(lambda: _store_and_apply(verified, told))
    except (Unavailable, IntegrityError) as error:  # the latter inside a transaction of a test's
        failure = error.__cause__ if isinstance(error, Unavailable) else error
        if not isinstance(failure, IntegrityError):
            raise
        # No race is lost three times over: something of ours breaks a constraint, and would for 48 h of retries.
        with_retries(lambda: _store_and_apply(verified, told, races=False))
    return ACKNOWLEDGED


def _answer_test(verified: Verified, told: documents.Notification, testing_case: str) -> Answer:
    """A test of the receiver: no order is made, nothing is announced; cases about users are answered by the hook."""
    if testing_case in USER_CASES and (user := told.order().user) is not None:
        return validation.answer(verified, told, user, state=Notification.State.TEST)
    row = inbox.row_of(verified, told)
    row.state = Notification.State.TEST

    def store() -> None:
        with transaction.atomic(using=state_database()):
            read_committed()
            if inbox.keep(row) is Keeping.NEW:
                inbox.withhold(row)

    with_retries(store)
    return ACKNOWLEDGED


def _store_and_apply(verified: Verified, told: documents.Notification, *, races: bool = True) -> None:
    """One transaction: the notification's row, and what it tells.

    ``races``: an ``IntegrityError`` may mean that another transaction was faster, so it is raised.
    """
    row = inbox.row_of(verified, told)
    order = told.order()
    quarantined = quarantine_reason(told, order, verified.arrived_at)
    if quarantined:
        row.state, row.failure = Notification.State.QUARANTINED, quarantined
    try:
        with transaction.atomic(using=state_database()):
            read_committed()
            kept = inbox.keep(row)
            if quarantined or told.event not in PAYMENT_EVENTS:
                if kept is not Keeping.REPEATED:
                    inbox.open_incident(
                        row, "refused_content" if quarantined else "unknown_event", quarantined
                    )
                inbox.withhold(row)
            else:
                likely_bound = kept is not Keeping.NEW or _follows_creation(told, order)
                _apply(verified.project, row, told, order, likely_bound=likely_bound)
            if kept is Keeping.RETRIED:
                inbox.resolve_incidents(row)
    except TRANSIENT_DATABASE_ERRORS:
        raise  # not our rules: the whole transaction is with_retries
    except Exception as error:
        if races and isinstance(error, IntegrityError):
            raise
        _keep_unapplied(row, error)


def _follows_creation(told: documents.Notification, order: Order) -> bool:
    """Whether the order is probably known: all but a first success, and that of a customer whom the shop did not name.

    An order of a guest is usually made by ``create_checkout``, which records it; orders by token name their customer.
    """
    named = order.user is not None and bool(order.user.external_id)
    return told.event != Event.PAYMENT_SUCCESS or not named


def _apply(
    project: Project,
    row: Notification,
    told: documents.Notification,
    order: Order,
    *,
    likely_bound: bool,
) -> None:
    cause = Cause(source=Source.NOTIFICATION, notification=row)
    step = Step(observations=(observation_of(told, order),), cause=cause)
    (outcome,) = ledger.record(project, [step], ledger.consult_hooks(project, [step]))
    if outcome.error is not None:
        raise outcome.error
    if outcome.erased:
        inbox.drop_body(row)


def _keep_unapplied(row: Notification, error: Exception) -> None:
    """Our own rules failed on it: the bytes stay, the service is answered 200, staff can apply it again.

    A transaction of its own, since the one that applied it was rolled back together with the row.
    """
    place = error_location(error)
    logger.error("Notification %s could not be applied: %s", row.key, place)
    with transaction.atomic(using=state_database()):
        read_committed()
        inbox.keep(row)
        inbox.mark_failed(row, place)
        inbox.withhold(row)
