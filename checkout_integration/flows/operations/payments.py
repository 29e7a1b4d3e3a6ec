"""Decisions of staff about a payment: accept it, revoke its goods, restore it, resolve its incidents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.database import (
    in_transaction,
    own_transaction,
    read_committed,
    record_staff_act,
    resolve_incidents,
    with_retries,
)
from checkout_integration.flows.ledger import Cause, ChangePreview, changes_of
from checkout_integration.models import (
    Incident,
    Order,
    StaffAct,
    Transition,
)
from checkout_integration.models.actor import Actor
from checkout_integration.policy.drift import REVERSAL_UNDONE
from checkout_integration.policy.incidents import REVIEW
from checkout_integration.policy.observation import Source

Decision: TypeAlias = Callable[[Order, Project, Cause], ledger.Batch]
DECISIONS: Final[Mapping[str, Decision]] = {
    Transition.Act.ACCEPT: ledger.accepted,
    Transition.Act.REVOKE: ledger.revoked,
    Transition.Act.RESTORE: ledger.restored,
}
"""Decisions about a payment. Each raises ``ValueError`` where the payment is in no state for it."""
SETTLED: Final = {
    Transition.Act.ACCEPT: Q(kind__startswith=REVIEW),
    Transition.Act.BIND: Q(kind__in=("review:unbound", "review:before_installation")),
    Transition.Act.RESTORE: Q(kind=REVERSAL_UNDONE),
}
"""The incidents that ask for a decision, which resolves them."""


def accept_payment(order: Order, *, staff: Actor | None, reason: str) -> ChangePreview:
    """Accept a payment that is in review, historic or revoked, so that its goods are granted, and return what changed.

    ``reason`` is stored in the order's history, with the account (None for the shop's own code). The incidents about this
    review are resolved by it. Raises ``ValueError`` when the order is in none of these states, or its payment was reversed.
    """
    return decide(order, Transition.Act.ACCEPT, staff, reason)[0]


def restore_payment(order: Order, *, staff: Actor | None, reason: str) -> ChangePreview:
    """Restore a reversed payment, for example after a dispute was won, and return what changed: goods are granted again.

    The decision overrules all that is known now, accepts a payment that is in review or historic, and resolves the incident
    ``reversal_undone``. A later reversal closes no grant by itself: staff review it.
    Raises ``ValueError`` when the payment was not reversed.
    """
    return decide(order, Transition.Act.RESTORE, staff, reason)[0]


def revoke_payment(order: Order, *, staff: Actor | None, reason: str) -> tuple[ChangePreview, ...]:
    """Revoke the goods of a payment whose money stays with the shop, and return what changed.

    ``checkout_reversed`` is sent, and the checkout is owned no longer. Other payments for the same goods that are known now
    are revoked too; a renewal is not. No later notification or row of the list changes it: `accept_payment` does, and grants
    the goods again. ``reason`` is stored in the history of each order, with the account (None for the shop's own code).
    Raises ``ValueError`` when the payment is neither verified nor accepted, or was reversed.
    """
    return decide(order, Transition.Act.REVOKE, staff, reason)


def preview_decision(order: Order, act: Transition.Act) -> tuple[ChangePreview, ...]:
    """Return the changes that a decision would make now (accept, revoke or restore), and write nothing.

    Raises ``ValueError`` where the decision would.
    """
    project = app_settings().project(order.project)

    def preview() -> tuple[ChangePreview, ...]:
        with own_transaction():
            read_committed()
            return changes_of(DECISIONS[act](order, project, Cause(source=Source.STAFF)))

    return with_retries(preview)


@in_transaction
def resolve_incident(incident: Incident, *, staff: AbstractBaseUser) -> bool:
    """Mark an incident as resolved; return False when it is resolved already."""
    resolved = resolve_incidents(Q(pk=incident.pk), staff)
    if resolved:
        about: dict[str, Any] = {"order_id": incident.order_id, "incident": incident}
        record_staff_act(StaffAct.Act.RESOLVE, staff, project=incident.project, **about)
    return resolved


@in_transaction
def decide(
    order: Order, act: Transition.Act, staff: Actor | None, reason: str, decision: Decision | None = None
) -> tuple[ChangePreview, ...]:
    """Carry out a decision, that of the act by default: it locks the order. Return what changed."""
    project = app_settings().project(order.project)
    cause = Cause(source=Source.STAFF, staff=staff, act=act, reason=reason)
    batch = (decision or DECISIONS[act])(order, project, cause)
    changes = changes_of(batch)
    ledger.write(batch)
    if act in SETTLED:
        resolve_incidents(Q(order=order.pk) & SETTLED[act], staff)
    if act in (Transition.Act.ACCEPT, Transition.Act.BIND):
        ledger.end_groups(project, staff, by_staff=True)
    record_staff_act(act, staff, project=order.project, reason=reason, order_id=order.pk)
    return changes
