"""Decisions of staff about a payment: accept it, restore it, resolve its incidents."""

from __future__ import annotations

from datetime import UTC, datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.database import (
    read_committed,
    state_database,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.ledger import GROUPED, Cause, ChangePreview, changes_of
from checkout_integration.models import (
    Incident,
    Order,
    Transition,
)
from checkout_integration.policy.drift import REVERSAL_UNDONE
from checkout_integration.policy.observation import Source


def accept_payment(order: Order, *, staff: AbstractBaseUser | None, reason: str) -> ChangePreview:
    """Accept a payment that is in review or historic, so that its goods are granted, and return what changed.

    ``reason`` is stored in the order's history, with the account (None for a command). The incidents about this review are
    resolved by it. Raises ``ValueError`` when the order is in neither state, or its payment was reversed.
    """
    project = app_settings().project(order.project)
    return with_retries(lambda: _accept(order, project, staff, reason))


def preview_acceptance(order: Order) -> ChangePreview:
    """Return the changes that `accept_payment` would make now, and write nothing. Raises ``ValueError`` as it does."""
    project = app_settings().project(order.project)

    def preview() -> ChangePreview:
        with transaction.atomic(using=state_database()):
            read_committed()
            (change,) = changes_of(ledger.accepted(order, project, Cause(source=Source.STAFF)))
            return change

    return with_retries(preview)


def restore_payment(order: Order, *, staff: AbstractBaseUser, reason: str) -> ChangePreview:
    """Restore a reversed payment, for example after a dispute was won, and return what changed: goods are granted again.

    The decision overrules all that is known now, accepts a payment that is in review or historic, and resolves the incident
    ``reversal_undone``. A later reversal closes no grant by itself: staff are asked to review it.
    Raises ``ValueError`` when the payment was not reversed.
    """
    project = app_settings().project(order.project)
    return with_retries(lambda: _restore(order, project, staff, reason))


def resolve_incident(incident: Incident, *, staff: AbstractBaseUser) -> bool:
    """Mark an incident as resolved; return False when it is resolved already."""
    return _resolve(Q(pk=incident.pk), staff)


def _accept(order: Order, project: Project, staff: AbstractBaseUser | None, reason: str) -> ChangePreview:
    with write_transaction():
        cause = Cause(source=Source.STAFF, staff=staff, act=Transition.Act.ACCEPT, reason=reason)
        batch = ledger.accepted(order, project, cause)  # and has locked the order
        (change,) = changes_of(batch)
        ledger.store(batch)
        _resolve(Q(order=order.pk, kind__startswith="review:"), staff)
        resolve_groups(project, staff)
        return change


def _restore(order: Order, project: Project, staff: AbstractBaseUser, reason: str) -> ChangePreview:
    with write_transaction():
        cause = Cause(source=Source.STAFF, staff=staff, act=Transition.Act.RESTORE, reason=reason)
        batch = ledger.restored(order, project, cause)
        (change,) = changes_of(batch)
        ledger.store(batch)
        _resolve(Q(order=order.pk, kind=REVERSAL_UNDONE), staff)
        return change


def resolve_groups(project: Project, staff: AbstractBaseUser | None) -> None:
    """Resolve the incidents about payments without a checkout of which no payment is in review any more.

    Called in the transaction of a decision about one of them, after it was written.
    """
    groups = Q(project=project.alias, order=None, kind__in=GROUPED, resolved_at=None)
    open_ones = Incident.objects.using(state_database()).filter(groups)
    kinds = {incident.kind: incident for incident in open_ones}
    # RACE: a payment that is being recorded is not seen. It is in review all the same, and the next one opens an incident.
    done = [kind for kind, incident in kinds.items() if not incident.payments.exists()]
    if done:
        _resolve(groups & Q(kind__in=done), staff)


def _resolve(which: Q, staff: AbstractBaseUser | None) -> bool:
    open_ones = Incident.objects.using(state_database()).filter(which, resolved_at=None)
    by = staff.pk if staff else None
    return bool(open_ones.update(resolved_at=datetime.now(UTC), resolved_by=by))
