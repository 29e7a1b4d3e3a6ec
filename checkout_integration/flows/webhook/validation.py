"""The response to user.validate, decided within the request: may this customer pay? See docs/validation.md."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from checkout_integration.conf import Project
from checkout_integration.flows import inbox
from checkout_integration.flows.database import Query, insert, update, with_retries, write_transaction
from checkout_integration.flows.inbox import NotificationRow, VerifiedNotification
from checkout_integration.flows.ledger import (
    account_before_order,
    find_or_create,
    identity_of,
    is_recorded,
    lock_customer,
    request_hashes,
)
from checkout_integration.flows.outbox import message_key
from checkout_integration.flows.webhook.response import ACKNOWLEDGED, WebhookResponse
from checkout_integration.flows.webhook.validators import Outcome, ask_validators
from checkout_integration.hooks import Refusal
from checkout_integration.models import CheckoutUser, Notification, OutboxMessage, ValidationDecision
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.validated import merge_validated
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.user import User
from checkout_integration.protocol.vocabulary import INVALID_USER_CODE

RECORDED: Final = Query(ValidationDecision, "own.request_hash IN {hashes} ORDER BY own.id LIMIT 1")


def answer(
    verified: VerifiedNotification,
    document: documents.Notification,
    user: User,
    state: Notification.State = Notification.State.APPLIED,
) -> WebhookResponse:
    """Ask the shop's validators, outside any transaction; store notification, decision and message together.

    There is one decision for each distinct body: an exact duplicate gets the recorded decision, and no validator is called.

    Returns:
        an empty 200 for an approved customer, VALIDATE_REFUSE_STATUS with the error object for a refused one. The
        specification does not show the status of a refusal (EVT-11), so it is a setting.

    """
    row = inbox.row_of(verified, document)
    row.state, row.due_at = state.value, None
    hashes = request_hashes(row.key, verified.body)
    decision = with_retries(lambda: _repeat(row, hashes))
    if decision is None:
        decision = _decide(verified, row, document, user, hashes)
    return _as_response(verified.project, decision)


def _repeat(row: NotificationRow, hashes: Sequence[str]) -> ValidationDecision | None:
    """Return the decision that was recorded for this body, if there is one, and count the duplicate."""
    decision = _recorded(hashes)
    if decision is not None:
        inbox.store(row)
    return decision


def _recorded(hashes: Sequence[str]) -> ValidationDecision | None:
    return next(iter(RECORDED.rows(hashes=hashes)), None)


def _decide(
    verified: VerifiedNotification,
    row: NotificationRow,
    document: documents.Notification,
    user: User,
    hashes: Sequence[str],
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
        return lock_customer(project, identity)

    def store() -> ValidationDecision:
        with write_transaction():
            return _store(row, decision, hashes, find_customer(), document)

    return with_retries(store)


def _becomes_customer(outcome: Outcome, *, state: str) -> bool:
    """Return whether a customer without a row gets one: if the shop approved them, and it was no test of the webhook."""
    approved = outcome.refusal is None and outcome.decided_by == ValidationDecision.DecidedBy.SHOP
    return approved and state != Notification.State.TEST


def _store(
    row: NotificationRow,
    decision: ValidationDecision,
    hashes: Sequence[str],
    customer: CheckoutUser | None,
    document: documents.Notification,
) -> ValidationDecision:
    if customer is not None and customer.erased_at is not None:
        row.body, row.object_id = None, ""
        decision.external_id = decision.reason = ""
    inbox.store(row)
    # RACE: the process that lost the race for this body has waited for the winner's row; it responds with that decision.
    recorded = _recorded(hashes)
    if recorded is not None:
        return recorded
    decision.notification, decision.user = inbox.stored_row(row), customer
    insert([decision], key=("request_hash",))
    if row.state != Notification.State.TEST:
        _mirror(customer, document)
        _announce(decision)
    return decision


def _mirror(customer: CheckoutUser | None, document: documents.Notification) -> None:
    """Write the values that only user.validate contains to the customer's row. A tombstone stays empty."""
    if customer is None or customer.erased_at is not None:
        return
    validated = merge_validated(customer.validated, document.user(), document.created_at)
    if validated != customer.validated:
        customer.validated = validated
        update([customer], ("validated",))


def _announce(decision: ValidationDecision) -> None:
    arguments: dict[str, Any] = {
        "decision": decision.pk,
        "approved": decision.approved,
        "source": "notification",
    }
    message = OutboxMessage.new(
        idempotency_key=message_key(decision.project, "validated", decision.pk),
        signal="user_validated",
        project=decision.project,
        arguments=arguments,
    )
    insert([message])


def _as_response(project: Project, decision: ValidationDecision) -> WebhookResponse:
    """Return the response, the same for every duplicate: it is made of the row alone, of which erasure leaves the code."""
    if decision.approved:
        return ACKNOWLEDGED
    message = decision.reason or Refusal().message
    return WebhookResponse(
        project.validate_refuse_status, decision.code or INVALID_USER_CODE, message, stored=True
    )


def _seconds_since(moment: datetime) -> float:
    """Return the seconds since then, never less than 0: the host's clock may be set back."""
    return max((datetime.now(UTC) - moment).total_seconds(), 0.0)
