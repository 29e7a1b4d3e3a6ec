"""The stored evidence of a batch of orders: their notifications, their history, and the checkouts that they name.

A few statements for a batch, whatever the number of its orders. Notifications are read one after the other, so that only
one body at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from django.db.models import QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database import state_database
from checkout_integration.flows.inbox import read
from checkout_integration.flows.ledger import identity_of, state_of
from checkout_integration.models import Checkout, CheckoutUser, Notification, Order, Transition
from checkout_integration.policy.binding import reference_of
from checkout_integration.policy.observation import Source, Timing
from checkout_integration.policy.quarantine import PAYMENT_EVENTS
from checkout_integration.policy.sources import without_notifications
from checkout_integration.policy.state import OrderState, observe

NOTIFICATIONS_AT_ONCE: Final = 50


class Gap(StrEnum):
    """Why an order cannot be proven as a whole.

    ``erased``: its customer was erased. ``bodies``: bodies of its notifications are gone. ``notifications``: notifications of
    it are gone. ``unreadable``: a notification that was applied cannot be read by the rules of this version. ``settings``: a
    setting accepted its payment, or other settings than those of now gave its verdict.
    """

    ERASED = "erased"
    BODIES = "bodies"
    NOTIFICATIONS = "notifications"
    UNREADABLE = "unreadable"
    SETTINGS = "settings"


INCOMPLETE: Final = frozenset({Gap.ERASED, Gap.BODIES, Gap.NOTIFICATIONS, Gap.UNREADABLE})
"""With one of these, what notifications said is taken from the order's row where no stored one says it."""


@dataclass(kw_only=True)
class Evidence:
    """What is stored about one order.

    Attributes:
        row: the order's row, with what belongs to it.
        stored: its state as the row has it.
        state: its state as its notifications add up, together with its list and staff slots.
        gaps: what is missing.
        history: its transitions, oldest first.
        references: of checkouts, as any of its observations named them.
        checkouts: those that it named, by its id or by reference.
        customer: the key of the customer whom the state names; None for nobody, or for one without a row.

    """

    row: Order
    stored: OrderState
    state: OrderState
    gaps: set[Gap] = field(default_factory=set)
    history: list[Transition] = field(default_factory=list)
    references: set[str] = field(default_factory=set)
    checkouts: list[Checkout] = field(default_factory=list)
    customer: int | None = None

    def did(self, *acts: str) -> bool:
        """Return whether staff did one of these acts with the order."""
        return any(transition.act in acts for transition in self.history)


def evidence_of(project: Project, rows: Sequence[Order]) -> list[Evidence]:
    """Return the evidence of these orders of a project, whose rows can be read."""
    found = [Evidence(row=row, stored=(state := state_of(row)), state=state) for row in rows]
    _read_history(found)
    _note_missing_bodies(project, found)
    _add_up(project, found)
    if unreadable := [each for each in found if Gap.UNREADABLE in each.gaps]:
        _add_up(project, unreadable)  # once more, now that it is known that they are incomplete
    _find_checkouts(project, found)
    _find_customers(project, found)
    return found


def _read_history(found: Sequence[Evidence]) -> None:
    """Read the transitions. One of a notification that is gone shows that there was one."""
    by_key = {each.row.pk: each for each in found}
    history = Transition.objects.using(state_database()).filter(order__in=list(by_key))
    for transition in history.defer("reason").order_by("pk"):
        each = by_key[transition.order_id]
        each.history.append(transition)
        if transition.source == Source.NOTIFICATION and transition.notification_id is None:
            each.gaps.add(Gap.NOTIFICATIONS)


def _note_missing_bodies(project: Project, found: Sequence[Evidence]) -> None:
    without = _applied(project, found).filter(body=None)
    ids = set(without.values_list("object_id", flat=True))
    for each in found:
        if each.row.order_id in ids:
            each.gaps.add(Gap.BODIES)
        personal_data = getattr(each.row, "personal_data", None)
        if personal_data is not None and personal_data.erased_at:
            each.gaps.add(Gap.ERASED)


def _applied(project: Project, found: Sequence[Evidence]) -> QuerySet[Notification]:
    """Return the notifications of these orders that the ledger has taken."""
    notifications = Notification.objects.using(state_database())
    about = notifications.about_orders(project.alias, [each.row.order_id for each in found])
    return about.filter(state=Notification.State.APPLIED, event__in=sorted(PAYMENT_EVENTS))


def _add_up(project: Project, found: Sequence[Evidence]) -> None:
    """Set the states: what the row alone knows, and then one notification after the other, in any order."""
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    by_id = {each.row.order_id: each for each in found}
    for each in found:
        each.state = each.stored if each.gaps & INCOMPLETE else without_notifications(each.stored)
        each.references.add(reference_of(each.stored.order, project.reference_key))
    now = datetime.now(UTC)
    for row in _applied(project, found).exclude(body=None).iterator(NOTIFICATIONS_AT_ONCE):
        each, step = by_id[row.object_id], read(row, now).step
        if step is None:
            each.gaps.add(Gap.UNREADABLE)
            continue
        for observation in step.observations:
            each.state = observe(each.state, observation, timing)
            each.references.add(reference_of(observation.order, project.reference_key))


def _find_checkouts(project: Project, found: Sequence[Evidence]) -> None:
    checkouts = Checkout.objects.using(state_database()).filter(project=project.alias)
    ids = [each.row.order_id for each in found]
    references = {reference for each in found for reference in each.references} - {""}
    # Two indexed look-ups; an OR over them would read the whole table.
    by_id = {checkout.order_id: checkout for checkout in checkouts.filter(order_id__in=ids)}
    by_reference = {each.reference: each for each in checkouts.filter(reference__in=sorted(references))}
    for each in found:
        named = [by_id.get(each.row.order_id), *map(by_reference.get, sorted(each.references))]
        each.checkouts = [checkout for checkout in named if checkout is not None]


def _find_customers(project: Project, found: Sequence[Evidence]) -> None:
    identities = {each.row.pk: identity_of(each.state.order.user) for each in found}
    users = CheckoutUser.objects.using(state_database()).filter(
        project=project.alias, identity__in=sorted({*identities.values()} - {""})
    )
    keys = dict(users.values_list("identity", "pk"))
    for each in found:
        each.customer = keys.get(identities[each.row.pk])
