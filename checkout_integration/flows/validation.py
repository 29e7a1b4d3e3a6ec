"""Answering user.validate, in the request: may this customer pay?"""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from django.db import transaction

from checkout_integration.flows import inbox
from checkout_integration.flows.answer import ACKNOWLEDGED, Answer
from checkout_integration.flows.customers import identity_of, named
from checkout_integration.flows.database import key_of, state_database, write_first
from checkout_integration.flows.failure import place_of
from checkout_integration.flows.inbox import Verified
from checkout_integration.flows.repeating import repeated
from checkout_integration.hooks import Refusal, load_hooks
from checkout_integration.models import Announcement, Notification, ValidationDecision
from checkout_integration.models.columns import as_column_text
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.user import User

logger = logging.getLogger("checkout_integration.validation")


def answer(
    verified: Verified,
    told: documents.Notification,
    user: User,
    state: Notification.State = Notification.State.APPLIED,
) -> Answer:
    """Asks the shop's hook, outside any transaction, and keeps notification, decision and announcement together.

    Approved is an empty 200; refused is VALIDATE_REFUSE_STATUS with the error object. How the service is to be
    answered is not shown (EVT-11), so the status is a setting.
    """
    refusal = _decision(verified, user)
    decided_at = datetime.now(UTC)
    row = inbox.row_of(verified, told)
    row.state = state
    repeated(lambda: _store(verified, row, user, refusal, decided_at))
    if refusal is None:
        return ACKNOWLEDGED
    return Answer(verified.project.validate_refuse_status, refusal.code, refusal.message, stored=True)


def _decision(verified: Verified, user: User) -> Refusal | None:
    """None to approve. An exception, or any answer but True, refuses."""
    try:
        decision = load_hooks(verified.project.hooks).validate_user(user)
    except Exception as error:  # noqa: BLE001  # whatever the hook raises, the customer is refused
        logger.error("Hooks.validate_user failed, so the customer is refused: %s", place_of(error))
        return Refusal(message="The customer could not be checked.")
    if decision is True:
        return None
    return decision if isinstance(decision, Refusal) else Refusal()


def _store(
    verified: Verified, row: Notification, user: User, refusal: Refusal | None, decided_at: datetime
) -> None:
    alias, project = state_database(), verified.project.alias
    with transaction.atomic(using=alias):
        write_first()
        customer = named(verified.project, identity_of(user))
        erased = customer is not None and customer.erased_at is not None
        if erased:
            row.body, row.object_id = None, ""
        inbox.keep(row)
        decision = ValidationDecision.objects.using(alias).create(
            notification=row,
            project=project,
            external_id="" if erased else as_column_text(user.external_id),
            user=customer,
            approved=refusal is None,
            code=as_column_text(refusal.code if refusal else "", 64),
            reason="" if erased or refusal is None else as_column_text(refusal.message),
            latency=(decided_at - verified.arrived_at).total_seconds(),
            decided_at=decided_at,
        )
        if row.state == Notification.State.TEST:
            return  # a test of the receiver announces nothing
        Announcement.objects.using(alias).create(
            idempotency_key=key_of(project, "validated", decision.pk),
            signal="user_validated",
            project=project,
            arguments={"decision": decision.pk, "approved": decision.approved, "source": "notification"},
        )
