"""The binding of an order by hand: to a checkout, or to a new one that staff describe. See docs/ways-back.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Model, Q
from django.utils.translation import gettext as _

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.ledger import ChangePreview, OrderChange
from checkout_integration.flows.operations.payments import decide
from checkout_integration.models import Checkout, Order, Transition
from checkout_integration.models.actor import Actor
from checkout_integration.models.order import state_of
from checkout_integration.policy.binding import reference_of
from checkout_integration.policy.verdict import Verdict, judge
from checkout_integration.protocol.order import Order as OrderDocument
from checkout_integration.protocol.vocabulary import OrderType

UNPAID: Final = (*Checkout.PAYABLE, Checkout.Status.REVIEW, Checkout.Status.CANCELLED, Checkout.Status.FAILED)
OURS: Final = re.compile("[0-9a-f]{32}")
"""What `models.checkout.new_reference` makes."""
MADE_BEFORE: Final = timedelta(days=7)
MADE_AFTER: Final = timedelta(hours=1)
MOST_LOOKED_AT: Final = 200
MOST_CANDIDATES: Final = 10


@dataclass(frozen=True, kw_only=True)
class CheckoutDescription:
    """A checkout described by staff, for a payment without a checkout of this shop.

    Products, and an amount of virtual currency, come from the order.

    Attributes:
        type: simple, product, key or virtual_currency.
        amount: the price; None if the service set it, as it can for any type but ``simple``.
        currency: of the price.
        description: what was sold, in a line of text.
        subject: the shop's own object that was sold, if its receivers need one.
        user: the account that bought it; left out, that of the customer's row, which may have none. Then nobody owns it.

    """

    type: str = OrderType.SIMPLE.value
    amount: Decimal | None = None
    currency: str = ""
    description: str = ""
    subject: Model | None = None
    user: AbstractBaseUser | None = None


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A checkout that a payment may be for, the verdict that the payment would get, and whether it is another person's."""

    checkout: Checkout
    verdict: Verdict
    is_another: bool


def goes_to_another(order: Order, checkout: Checkout) -> bool:
    """Return whether the goods of a checkout are somebody's who is not known as the order's customer.

    An account with the e-mail address of the receipt is the customer's too.
    """
    customer, account = order.user, checkout.user
    names = {customer.identity, customer.account_id} - {"", None} if customer else set()
    if not (checkout.identity or checkout.user_id) or {checkout.identity, checkout.user_id} & names:
        return False
    personal_data = getattr(order, "personal_data", None)
    address = getattr(account, type(account).get_email_field_name(), "") if account else ""
    return not (address and personal_data and address.lower() == personal_data.email)


def checkout_candidates(order: Order) -> list[Candidate]:
    """Return checkouts that an order's payment may be for: those that fit, then others of its customer; the newest first.

    Of its customer's unpaid checkouts, and of those that were made in the days before the order, a limited number. Those of
    others are left out where the order names its customer by an id of the shop.
    """
    project, state, customer = app_settings().project(order.project), state_of(order), order.user
    unpaid = Checkout.primary.filter(project=order.project, status__in=UNPAID).select_related("user")
    newest = unpaid.order_by("-recorded_at", "-pk")
    whose = Q(identity=customer.identity) if customer else Q()
    whose |= Q(user=customer.account_id) if customer and customer.account_id else Q()
    own = list(newest.filter(whose)[:MOST_LOOKED_AT]) if whose else []
    at = order.created_at or order.recorded_at
    near = newest.filter(recorded_at__gte=at - MADE_BEFORE, recorded_at__lte=at + MADE_AFTER)
    if customer and customer.external_id:
        near = near.filter(identity="", user=None)
    checkouts = {each.pk: each for each in (*own, *near[:MOST_LOOKED_AT])}.values()
    terms = ledger.terms_of(project, None)  # a payment for a checkout is judged by what was sold
    found = [
        Candidate(
            checkout=each,
            verdict=judge(state, each.value, terms),
            is_another=goes_to_another(order, each),
        )
        for each in checkouts
    ]
    theirs = {each.pk for each in own}
    fitting = [each for each in found if each.verdict.pays]
    others = [each for each in found if not each.verdict.pays and each.checkout.pk in theirs]
    fitting.sort(key=lambda each: (each.checkout.pk not in theirs, each.is_another))
    return [*fitting, *others][:MOST_CANDIDATES]


def bind_order(
    order: Order, *, to: Checkout | CheckoutDescription, staff: Actor | None, reason: str
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
    target = to if isinstance(to, Checkout) else partial(_described_checkout, to)
    (change,) = decide(order, Transition.Act.BIND, staff, reason, partial(ledger.bound, to=target))
    return change


def _check(described: CheckoutDescription) -> None:
    if described.type not in set(OrderType):
        raise ValueError(f"There is no type {described.type!r}.")
    if described.type == OrderType.SIMPLE and described.amount is None:
        raise ValueError(_("Say which amount was to be paid."))
    if (described.amount is None) != (not described.currency):
        raise ValueError(_("Give amount and currency, or neither."))


def _described_checkout(to: CheckoutDescription, change: OrderChange) -> Checkout:
    """Insert the checkout that staff describe. The insertion locks it."""
    project = app_settings().project(change.row.project)
    document, customer = change.after.order, change.row.user
    # The account of a link gets it as it gets what the customer bought, so that it can be taken back.
    known = customer.account_id if customer and not customer.linked_at else None
    return Checkout.primary.create(
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
        user_id=to.user.pk if to.user else known,
        order_id=change.order_id,
        **_lost_reference(project, document),
        **({"subject": to.subject} if to.subject is not None else {}),
    )


def _lost_reference(project: Project, document: OrderDocument) -> dict[str, str]:
    """Return the reference of a checkout of ours that a restored backup lacks; nothing where the order names none.

    With it the grant and its messages have the keys that they had before, by which systems elsewhere know what they did.
    """
    reference = reference_of(document, project.reference_key)
    is_lost = OURS.fullmatch(reference) and not Checkout.primary.filter(reference=reference).exists()
    return {"reference": reference} if is_lost else {}
