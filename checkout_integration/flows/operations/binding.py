"""The binding of an order by hand: to a checkout, or to a new one that staff describe. See docs/ways-back.md."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Final

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.database import (
    state_database,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.ledger import Cause, ChangePreview, OrderChange, changes_of
from checkout_integration.flows.operations.payments import resolve_groups
from checkout_integration.models import Checkout, Incident, Order, Transition
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.vocabulary import OrderType

SETTLED_BY_BINDING: Final = ("review:unbound", "review:before_installation")
"""Kinds of incidents that ask what a payment is for."""


@dataclass(frozen=True, kw_only=True)
class CheckoutDescription:
    """A checkout described by staff, for a payment without a checkout of this shop.

    Products, and an amount of virtual currency, come from the order.

    Attributes:
        type: simple, product, key or virtual_currency.
        amount: the price; None if the service set it, as it can for any type but ``simple``.
        currency: of the price.
        description: the subject, in a line of text.

    """

    type: str = OrderType.SIMPLE.value
    amount: Decimal | None = None
    currency: str = ""
    description: str = ""


def bind_order(
    order: Order, *, to: Checkout | CheckoutDescription, staff: AbstractBaseUser | None, reason: str
) -> ChangePreview:
    """Bind an order to a checkout of its project, or to a new one, and judge its payment by it.

    A payment that pays for exactly this checkout becomes verified, and its goods are granted; any other is in review and
    can be accepted. An order that is accepted already keeps its grant. The order's history has the account and the reason.

    Returns:
        what changed.

    Raises:
        ValueError: the order is bound already, the checkout is another project's, or the description is incomplete.

    """
    if isinstance(to, CheckoutDescription):
        _check(to)
    elif to.project != order.project:
        raise ValueError(_("The checkout belongs to another project."))
    project = app_settings().project(order.project)
    return with_retries(lambda: _bind(order, project, to, staff, reason))


def _check(described: CheckoutDescription) -> None:
    if described.type not in set(OrderType):
        raise ValueError(f"There is no type {described.type!r}.")
    if described.type == OrderType.SIMPLE and described.amount is None:
        raise ValueError(_("Say which amount was to be paid."))
    if (described.amount is None) != (not described.currency):
        raise ValueError(_("Give amount and currency, or neither."))


def _bind(
    order: Order,
    project: Project,
    to: Checkout | CheckoutDescription,
    staff: AbstractBaseUser | None,
    reason: str,
) -> ChangePreview:
    cause = Cause(source=Source.STAFF, staff=staff, act=Transition.Act.BIND, reason=reason)
    with write_transaction():
        target = to if isinstance(to, Checkout) else partial(_described_checkout, project, to)
        batch = ledger.bound(order, project, target, cause)
        (change,) = changes_of(batch)
        ledger.store(batch)
        incidents = Incident.objects.using(state_database()).filter(
            order=order.pk, kind__in=SETTLED_BY_BINDING
        )
        incidents.filter(resolved_at=None).update(
            resolved_at=datetime.now(UTC), resolved_by=staff.pk if staff else None
        )
        resolve_groups(project, staff)
        return change


def _described_checkout(project: Project, to: CheckoutDescription, change: OrderChange) -> Checkout:
    """Insert the checkout that staff describe. The insertion locks it."""
    document = change.after.order
    return Checkout.objects.using(state_database()).create(
        project=project.alias,
        type=to.type,
        expected_amount=to.amount,
        currency=to.currency,
        products=[item.id or "" for item in document.items or ()] if to.type != OrderType.SIMPLE else [],
        virtual_currency_amount=(
            document.virtual_currency_amount if to.type == OrderType.VIRTUAL_CURRENCY else None
        ),
        description=to.description,
        test=project.accept_test_payments,
        user_id=change.row.user.account_id if change.row.user else None,
        order_id=change.order_id,
    )
