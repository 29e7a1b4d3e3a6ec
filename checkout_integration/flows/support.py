"""What staff and operators do: accept a payment, resolve an incident, run a receiver again, ask the service now."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database.connection import (
    acquire_write_lock,
    locked,
    read_committed,
    state_database,
)
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.ledger import deciding, recording
from checkout_integration.flows.ledger.cause import Cause
from checkout_integration.flows.ledger.preview import ChangePreview, changes_of
from checkout_integration.flows.listed import record_rows, steps_of
from checkout_integration.flows.outbox.grants import complete_by_staff
from checkout_integration.flows.outbox.lines import finish
from checkout_integration.flows.outbox.replay import make_due_again
from checkout_integration.flows.service import client_for
from checkout_integration.models import (
    Checkout,
    Incident,
    Order,
    ReceiverRun,
    Transition,
)
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.listing import TransactionFilter
from checkout_integration.signals import checkout_paid

logger = logging.getLogger("checkout_integration.support")

NOT_DONE = (ReceiverRun.State.FAILED, ReceiverRun.State.SUPERSEDED)
"""States of a run that ended without success, which staff may run again."""
MARKABLE = (ReceiverRun.State.DUE, ReceiverRun.State.WAITING, ReceiverRun.State.FAILED)
"""States of a run whose goods staff may grant by hand."""


def accept_payment(order: Order, *, staff: AbstractBaseUser | None, reason: str) -> ChangePreview:
    """Accept a payment that is in review or historic, so that its goods are granted, and return what changed.

    ``reason`` is kept in the order's history, with who did it (None for a command). The incidents that asked for this review
    are resolved by it. Raises ``ValueError`` when the order is in neither state, or its payment was reversed.
    """
    project = app_settings().project(order.project)
    return with_retries(lambda: _accept(order, project, staff, reason))


def preview_acceptance(order: Order) -> ChangePreview:
    """Return what `accept_payment` would change now, without writing anything. Raises ``ValueError`` as it does."""
    project = app_settings().project(order.project)

    def preview() -> ChangePreview:
        with transaction.atomic(using=state_database()):
            read_committed()
            (change,) = changes_of(deciding.accepted(order, project, Cause(source=Source.STAFF)))
            return change

    return with_retries(preview)


def restore_payment(order: Order, *, staff: AbstractBaseUser, reason: str) -> None:
    """Decide that a reversed payment stands after all, such as a dispute that was won: its goods are granted anew.

    The decision outranks what is known now. A reversal that comes later closes no grant by itself: staff are asked to look.
    Raises ``ValueError`` when the payment was not reversed.
    """
    project = app_settings().project(order.project)
    with_retries(lambda: _restore(order, project, staff, reason))


def mark_granted(run: ReceiverRun, *, staff: AbstractBaseUser, reason: str) -> bool:
    """Mark a receiver of ``checkout_paid`` as completed: staff granted its goods by hand. A reversal then undoes it.

    False when the receiver runs, has completed, or its grant was closed. Who did it, and why, stands in the order's history.
    """
    return with_retries(lambda: _mark_granted(run, staff, reason))


def run_again(run: ReceiverRun, *, staff: AbstractBaseUser) -> bool:
    """Makes a run that ended without success due again, with ten new attempts.

    False when it is due, running, or done: what has run would grant twice. Who asked is logged by primary key.
    """
    held = ReceiverRun.objects.using(state_database()).filter(pk=run.pk, state__in=NOT_DONE)
    made_due = bool(make_due_again(held))
    if made_due:
        logger.info("ReceiverRun %s was made due again by account %s.", run.pk, staff.pk)
    return made_due


def refresh_order(order: Order) -> bool:
    """Asks the service for one order now, through the transaction list; True when it was found.

    Raises ``CheckoutError`` when the service does not answer.
    """
    project = app_settings().project(order.project)
    return _refresh(project, TransactionFilter(id=order.order_id, projects=[project.project_id]))


def refresh_checkout(checkout: Checkout) -> bool:
    """Asks the service for the orders of one sale, by its reference; True when one was found.

    Raises ``CheckoutError`` when the service does not answer.
    """
    project = app_settings().project(checkout.project)
    return _refresh(project, TransactionFilter(invoice_id=checkout.reference, projects=[project.project_id]))


def resolve_incident(incident: Incident, *, staff: AbstractBaseUser) -> bool:
    """Marks an incident as looked at; False when somebody has done so already."""
    return _resolve(Q(pk=incident.pk), staff)


def _accept(order: Order, project: Project, staff: AbstractBaseUser | None, reason: str) -> ChangePreview:
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        cause = Cause(source=Source.STAFF, staff=staff, reason=reason)
        batch = deciding.accepted(order, project, cause)  # and has locked the order
        (change,) = changes_of(batch)
        recording.store(batch)
        _resolve(Q(order=order.pk, kind__startswith="review:"), staff)
        return change


def _restore(order: Order, project: Project, staff: AbstractBaseUser, reason: str) -> None:
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        cause = Cause(source=Source.STAFF, staff=staff, reason=reason)
        recording.store(deciding.restored(order, project, cause))


def _mark_granted(run: ReceiverRun, staff: AbstractBaseUser, reason: str) -> bool:
    grant = run.message.grant
    if grant is None or run.message.signal != checkout_paid.name:
        return False
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        # Lock order: the run, then its grant, as an attempt locks them.
        runs = ReceiverRun.objects.using(state_database()).filter(pk=run.pk, state__in=MARKABLE)
        if not locked(runs) or not finish(run, ReceiverRun.State.DONE, before=MARKABLE):
            return False
        if not complete_by_staff(grant.pk, run.receiver):
            transaction.set_rollback(True, using=state_database())
            return False
        Transition.objects.using(state_database()).create(
            order_id=grant.order_id,
            from_status=grant.order.status,
            to_status=grant.order.status,
            source=Source.STAFF.value,
            staff_id=staff.pk,
            reason=reason[:255],
        )
    return True


def _resolve(which: Q, staff: AbstractBaseUser | None) -> bool:
    open_ones = Incident.objects.using(state_database()).filter(which, resolved_at=None)
    by = staff.pk if staff else None
    return bool(open_ones.update(resolved_at=datetime.now(UTC), resolved_by=by))


def _refresh(project: Project, query: TransactionFilter) -> bool:
    with client_for(project) as client:
        page = client.list_transactions(query)
    outcomes = record_rows(project, steps_of(page, Cause(source=Source.LIST)))
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return bool(outcomes)
