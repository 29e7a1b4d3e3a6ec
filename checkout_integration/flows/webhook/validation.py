"""Answering user.validate, in the request: may this customer pay? See docs/validation.md."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows import inbox
from checkout_integration.flows.database.connection import acquire_write_lock, state_database
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.inbox import Verified
from checkout_integration.flows.ledger.customers import (
    account_before_order,
    find_or_create,
    identity_of,
    is_recorded,
    named,
)
from checkout_integration.flows.outbox import message_key
from checkout_integration.flows.tombstone import request_hashes
from checkout_integration.flows.webhook.response import ACKNOWLEDGED, Answer
from checkout_integration.flows.webhook.validators import Outcome, ask_validators
from checkout_integration.hooks import Refusal
from checkout_integration.models import CheckoutUser, Notification, OutboxMessage, ValidationDecision
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.validated import merge_validated
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.user import User
from checkout_integration.protocol.vocabulary import INVALID_USER_CODE


def answer(
    verified: Verified,
    told: documents.Notification,
    user: User,
    state: Notification.State = Notification.State.APPLIED,
) -> Answer:
    """Ask the shop's validators, outside any transaction; store notification, decision and message together.

    There is one decision for each distinct body: an exact repetition gets the recorded answer, and nobody is asked.

    Returns:
        an empty 200 for an approved customer, VALIDATE_REFUSE_STATUS with the error object for a refused one: how a refusal
        is answered is not shown (EVT-11), so the status is a setting.

    """
    row = inbox.row_of(verified, told)
    row.state, row.due_at = state, None
    hashes = request_hashes(row.key, verified.body)
    decision = with_retries(lambda: _repeat(row, hashes))
    if decision is None:
        decision = _decide(verified, row, told, user, hashes)
    return _as_answer(verified.project, decision)


def _repeat(row: Notification, hashes: Sequence[str]) -> ValidationDecision | None:
    """The decision that was recorded for this body, if there is one; the repetition is counted."""
    decision = _recorded(hashes).first()
    if decision is not None:
        inbox.store(row)
    return decision


def _recorded(hashes: Sequence[str]) -> QuerySet[ValidationDecision]:
    return ValidationDecision.objects.using(state_database()).filter(request_hash__in=hashes)


def _decide(
    verified: Verified, row: Notification, told: documents.Notification, user: User, hashes: Sequence[str]
) -> ValidationDecision:
    project, identity = verified.project, identity_of(user)
    outcome = ask_validators(project, user, spent=_seconds_since(verified.arrived_at))
    latency = _seconds_since(verified.arrived_at)
    decision = ValidationDecision(
        request_hash=hashes[0],
        project=project.alias,
        external_id=as_column_text(user.external_id),
        approved=outcome.refusal is None,
        code=as_column_text(outcome.refusal.code if outcome.refusal else "", 64),
        reason=as_column_text(outcome.refusal.message if outcome.refusal else ""),
        decided_by=outcome.decided_by,
        failure=as_column_text(outcome.failure),
        latency=latency,
        late=latency > project.validate_budget,
        decided_at=datetime.now(UTC),
    )
    inserts = _becomes_customer(outcome, state=row.state) and not is_recorded(project, identity)
    account = account_before_order(project, identity, user) if inserts else None

    def find_customer() -> CheckoutUser | None:
        if inserts:
            return find_or_create(project, identity, user, account)
        return named(project, identity)

    def store() -> ValidationDecision:
        with transaction.atomic(using=state_database()):
            acquire_write_lock()
            return _store(row, decision, hashes, find_customer(), told)

    return with_retries(store)


def _becomes_customer(outcome: Outcome, *, state: str) -> bool:
    """Whether a customer without a row gets one: the shop approved them, and it was no test of the receiver."""
    approved = outcome.refusal is None and outcome.decided_by == ValidationDecision.DecidedBy.SHOP
    return approved and state != Notification.State.TEST


def _store(
    row: Notification,
    decision: ValidationDecision,
    hashes: Sequence[str],
    customer: CheckoutUser | None,
    told: documents.Notification,
) -> ValidationDecision:
    if customer is not None and customer.erased_at is not None:
        row.body, row.object_id = None, ""
        decision.external_id = decision.reason = ""
    inbox.store(row)
    # Whoever lost the race for this body has waited for the winner's row, and answers with the winner's decision.
    recorded = _recorded(hashes).first()
    if recorded is not None:
        return recorded
    decision.notification, decision.user = inbox.stored_row(row), customer
    # A try that was rolled back has left a key behind.
    decision.pk = None
    decision.save(using=state_database(), force_insert=True)
    if row.state != Notification.State.TEST:
        _mirror(customer, told)
        _announce(decision)
    return decision


def _mirror(customer: CheckoutUser | None, told: documents.Notification) -> None:
    """Write what only user.validate says into the customer's row. A tombstone stays empty."""
    if customer is None or customer.erased_at is not None:
        return
    validated = merge_validated(customer.validated, told.user(), told.created_at)
    if validated != customer.validated:
        CheckoutUser.objects.using(state_database()).filter(pk=customer.pk).update(validated=validated)


def _announce(decision: ValidationDecision) -> None:
    arguments: dict[str, Any] = {
        "decision": decision.pk,
        "approved": decision.approved,
        "source": "notification",
    }
    OutboxMessage.objects.using(state_database()).create(
        idempotency_key=message_key(decision.project, "validated", decision.pk),
        signal="user_validated",
        project=decision.project,
        arguments=arguments,
    )


def _as_answer(project: Project, decision: ValidationDecision) -> Answer:
    """The same for every repetition: made of the row alone, of which erasing leaves the code."""
    if decision.approved:
        return ACKNOWLEDGED
    message = decision.reason or Refusal().message
    return Answer(project.validate_refuse_status, decision.code or INVALID_USER_CODE, message, stored=True)


def _seconds_since(moment: datetime) -> float:
    """Never negative: the host's clock may be set back."""
    return max((datetime.now(UTC) - moment).total_seconds(), 0.0)
