"""The response to user.validate, decided within the request: may this customer pay? See docs/validation.md."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from checkout_integration.conf import Project
from checkout_integration.flows import inbox
from checkout_integration.flows.database import in_transaction, insert, update, with_retries
from checkout_integration.flows.inbox import VerifiedNotification
from checkout_integration.flows.ledger import (
    account_before_order,
    find_or_create,
    identity_of,
    is_blocked,
    is_recorded,
    learn_id,
    lock_customer,
    request_hashes,
)
from checkout_integration.flows.outbox import life_cycle_message, write_messages
from checkout_integration.flows.webhook.response import ACKNOWLEDGED, WebhookResponse
from checkout_integration.flows.webhook.validators import NOT_CHECKED, Outcome, ask_validators
from checkout_integration.hooks import Refusal
from checkout_integration.models import CheckoutUser, Notification, ValidationDecision
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.erasure import is_erased
from checkout_integration.policy.validated import merge_validated
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.user import User
from checkout_integration.protocol.vocabulary import INVALID_USER_CODE
from checkout_integration.signals import user_validated

DecidedBy = ValidationDecision.DecidedBy


def answer(
    verified: VerifiedNotification,
    document: documents.Notification,
    user: User,
    state: Notification.State = Notification.State.APPLIED,
) -> WebhookResponse:
    """Ask the shop's validators, outside any transaction; store notification, decision and message together.

    Nobody asks them about a customer whom staff have blocked, who is refused.
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


def refuse_unread(verified: VerifiedNotification, row: Notification) -> WebhookResponse:
    """Refuse a customer whose request cannot be read, so that no validator can decide. The row is quarantined.

    An empty 200, as for other notifications that are quarantined, would approve the payment.
    """
    outcome = Outcome(refusal=Refusal(message=NOT_CHECKED), decided_by=DecidedBy.FAILURE, failure=row.failure)
    hashes = request_hashes(row.key, verified.body)
    decision = _decision_of(verified, User(document={}), outcome, hashes)

    @in_transaction
    def store() -> ValidationDecision:
        inbox.store_settled(row)
        return _insert(decision, row, hashes)

    return _as_response(verified.project, store())


def _repeat(row: Notification, hashes: Sequence[str]) -> ValidationDecision | None:
    """Return the decision that was recorded for this body, if there is one, and count the duplicate."""
    decision = _recorded(hashes)
    if decision is not None:
        inbox.store(row)
    return decision


def _recorded(hashes: Sequence[str]) -> ValidationDecision | None:
    return ValidationDecision.primary.filter(request_hash__in=hashes).order_by("pk").first()


def _decide(
    verified: VerifiedNotification,
    row: Notification,
    document: documents.Notification,
    user: User,
    hashes: Sequence[str],
) -> ValidationDecision:
    project, identity = verified.project, identity_of(user)
    if with_retries(lambda: is_blocked(project, user)):
        outcome = Outcome(refusal=Refusal(), decided_by=DecidedBy.BLOCK)
    else:
        outcome = ask_validators(project, user, spent=_seconds_since(verified.arrived_at))
    decision = _decision_of(verified, user, outcome, hashes)
    # The shop has approved somebody without a row, and it was no test of the webhook.
    approved = outcome.refusal is None and outcome.decided_by == DecidedBy.SHOP
    inserts = approved and row.state != Notification.State.TEST and not is_recorded(project, identity)
    account = account_before_order(project, identity, user) if inserts else None

    @in_transaction
    def store() -> ValidationDecision:
        customer: CheckoutUser | None = (
            find_or_create(project, identity, user, account) if inserts else lock_customer(project, identity)
        )
        return _store(row, decision, hashes, customer, document)

    return store()


def _decision_of(
    verified: VerifiedNotification, user: User, outcome: Outcome, hashes: Sequence[str]
) -> ValidationDecision:
    latency = _seconds_since(verified.arrived_at)
    return ValidationDecision(
        request_hash=hashes[0],
        project=verified.project.alias,
        external_id=as_column_text(user.external_id),
        approved=outcome.refusal is None,
        code=as_column_text(outcome.refusal.code if outcome.refusal else "", 64),
        reason=as_column_text(outcome.refusal.message if outcome.refusal else ""),
        decided_by=outcome.decided_by,
        failure=as_column_text(outcome.failure),
        latency=latency,
        late=latency > verified.project.validate_budget,
        decided_at=datetime.now(UTC),
    )


def _store(
    row: Notification,
    decision: ValidationDecision,
    hashes: Sequence[str],
    customer: CheckoutUser | None,
    document: documents.Notification,
) -> ValidationDecision:
    if is_erased(customer):
        row.body, row.object_id = None, ""
        decision.external_id = decision.reason = ""
    inbox.store(row)
    decision.user = customer
    stored = _insert(decision, row, hashes)
    if stored is decision and row.state != Notification.State.TEST:
        _mirror(customer, document)
        assert decision.notification is not None  # it was just stored
        inbox.open_incidents_about(inbox.unreadable_incidents(decision.notification, document))
    return stored


def _insert(decision: ValidationDecision, row: Notification, hashes: Sequence[str]) -> ValidationDecision:
    """Insert the decision on a notification that was just stored, and announce it; return the recorded one if there is one.

    RACE: the service sends the same request twice at once, and both ask the validators, who may decide differently. `store`
    has let the second wait for the row of the first, so its decision is visible now: both responses say the same.
    """
    recorded = _recorded(hashes)
    if recorded is not None:
        return recorded
    decision.notification = inbox.stored_row(row)
    insert([decision], key=("request_hash",))
    if row.state != Notification.State.TEST:
        message = life_cycle_message(
            user_validated,
            decision.project,
            decision.pk,
            source="notification",
            decision=decision.pk,
            approved=decision.approved,
        )
        write_messages([message])
    return decision


def _mirror(customer: CheckoutUser | None, document: documents.Notification) -> None:
    """Write the service's id, and the values that only user.validate has, to the customer's row. A tombstone stays empty."""
    if customer is None or is_erased(customer):
        return
    user, before = document.user(), customer.validated
    customer.validated = merge_validated(before, user, document.created_at)
    if learn_id(customer, user.id) or customer.validated != before:
        update([customer], ("validated", "user_id"))


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
