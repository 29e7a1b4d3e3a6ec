"""The verdict: whether a payment pays for the checkout that it is bound to.

Anyone who knows the public project id can create an order with any amount and metadata, and the notification about it is
correctly signed; test payments use the same key. A signature does not prove that a payment fits the checkout: `judge`
compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from checkout_integration.policy.amounts import comparable, without_noise
from checkout_integration.policy.binding import CheckoutValue
from checkout_integration.policy.fields import MONEY_CONFLICTS
from checkout_integration.policy.historic import is_historic, is_older
from checkout_integration.policy.modes import is_testing_case, modes_agree
from checkout_integration.policy.order_type import may_pay_for
from checkout_integration.policy.refunds import code_of
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.values import same_money
from checkout_integration.protocol.vocabulary import OrderType, VatPayer


class VerdictStatus(StrEnum):
    """The decision whether an order pays for a checkout of this shop."""

    PENDING = "pending"
    VERIFIED = "verified"
    REVIEW = "review"
    ACCEPTED = "accepted"
    HISTORIC = "historic"
    REVOKED = "revoked"


class Reason(StrEnum):
    """Why a payment is not verified, or why it was accepted."""

    NONE = ""
    UNBOUND = "unbound"
    BEFORE_INSTALLATION = "before_installation"
    TYPE = "type"
    MODE = "mode"
    TESTING_CASE = "testing_case"
    CURRENCY = "currency"
    AMOUNT = "amount"
    CHARGE = "charge"
    NO_ITEMS = "no_items"
    PRODUCTS = "products"
    VIRTUAL_CURRENCY = "virtual_currency"
    CONFLICT = "conflict"
    BLOCKED = "blocked"
    RECEIVERS_RENAMED = "receivers_renamed"
    BY_SETTING = "by_setting"
    BY_STAFF = "by_staff"


@dataclass(frozen=True)
class Verdict:
    """A status and its reason."""

    status: VerdictStatus
    reason: str = Reason.NONE

    @property
    def pays(self) -> bool:
        """Whether goods may be granted."""
        return self.status in (VerdictStatus.VERIFIED, VerdictStatus.ACCEPTED)


PENDING = Verdict(VerdictStatus.PENDING)
FOREIGN = frozenset({Reason.UNBOUND, Reason.BEFORE_INSTALLATION, Reason.MODE, Reason.TESTING_CASE})
"""Findings about payments without a checkout that a shop has by the thousand if it sells elsewhere too."""
SAME_QUESTION: Mapping[str, str] = {Reason.BEFORE_INSTALLATION: Reason.UNBOUND}
"""Reasons with the question of another one for staff: the list alone does not say that a payment is from after it."""
WITHDRAWING = frozenset({Reason.CONFLICT, Reason.MODE, Reason.TESTING_CASE})
"""Findings that overrule an acceptance by a setting."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The settings about payments, and the time since when this app watches the project.

    ``installed_at`` may be None for an order with a checkout, where it does not matter. ``accept_unbound`` is
    UNBOUND_ORDERS="accept"; ``accept_test`` is ACCEPT_TEST_PAYMENTS, which decides the mode of an unbound order (a checkout
    has its own); ``historic_margin`` is HISTORIC_MARGIN.
    """

    installed_at: datetime | None = None
    accept_unbound: bool = False
    accept_test: bool = False
    historic_margin: timedelta = timedelta(hours=24)


def judge(
    state: OrderState,
    checkout: CheckoutValue | None,
    terms: Terms,
    *,
    before: Verdict = PENDING,
    blocked: bool = False,
) -> Verdict:
    """Return the verdict on an order's payment, whatever happened to it later; pending while no payment is known.

    A reversal whose success was lost is judged as the success would be. ``before`` is the verdict until now: an
    acceptance by staff stands, and so does one by a setting, unless the payment turns out to be another one. A payment of a
    customer whom staff have ``blocked`` waits for staff, also when the block is lifted; one that counted before stands.
    """
    if before.reason == Reason.BY_STAFF:
        return before
    if checkout is None and is_historic(state, terms.installed_at, terms.historic_margin):
        return Verdict(VerdictStatus.HISTORIC)
    if not state.settled:
        return PENDING
    if before.reason == Reason.BLOCKED or (blocked and not before.pays):
        return Verdict(VerdictStatus.REVIEW, Reason.BLOCKED)
    return _compared(_refusal(state, checkout, terms), terms, before)


def _compared(reason: Reason, terms: Terms, before: Verdict) -> Verdict:
    if reason is Reason.NONE:
        return Verdict(VerdictStatus.VERIFIED)
    if reason is Reason.UNBOUND and terms.accept_unbound:
        return Verdict(VerdictStatus.ACCEPTED, Reason.BY_SETTING)
    if before.reason == Reason.BY_SETTING and reason not in WITHDRAWING:
        return before
    return Verdict(VerdictStatus.REVIEW, reason)


def _refusal(state: OrderState, checkout: CheckoutValue | None, terms: Terms) -> Reason:
    order, test = state.order, checkout.test if checkout else terms.accept_test
    if is_testing_case(order.document):
        return Reason.TESTING_CASE
    if not modes_agree(state, test=test):
        return Reason.MODE
    if state.merged.conflicts & MONEY_CONFLICTS:
        return Reason.CONFLICT
    if checkout is None:
        return Reason.BEFORE_INSTALLATION if is_older(state, terms.installed_at) else Reason.UNBOUND
    if not may_pay_for(order.type, checkout.type):
        return Reason.TYPE
    return _content(order, checkout)


def _content(order: Order, checkout: CheckoutValue) -> Reason:
    if checkout.type == OrderType.SIMPLE:
        return Reason.AMOUNT if checkout.expected_amount is None else _price(order, checkout)
    if checkout.type == OrderType.VIRTUAL_CURRENCY:
        return _virtual_currency(order, checkout) or _price(order, checkout)
    return _items(order, checkout.products) or _price(order, checkout)


def _price(order: Order, checkout: CheckoutValue) -> Reason:
    """Compare the price that the shop set; where VAT is added for the customer it is in ``amount`` only (ORD-41).

    Older messages do not say who pays VAT, but give the amount without it.
    """
    if checkout.expected_amount is None:
        return Reason.NONE
    if order.currency != checkout.currency:
        return Reason.CURRENCY
    adds_vat = order.vat_payer == VatPayer.BUYER or (
        not order.vat_payer and order.original_amount is not None
    )
    paid = order.original_amount if adds_vat else order.amount
    if not _same(paid, checkout.expected_amount, checkout.currency):
        return Reason.AMOUNT
    if adds_vat and _is_less(order.amount, checkout.expected_amount):
        return Reason.AMOUNT
    return _charge(order, checkout.expected_amount)


def _charge(order: Order, expected: Decimal) -> Reason:
    """Compare what the card paid (ORD-40), where it is stated in the currency of the price: it may be more, with VAT."""
    charged = order.charge_amount
    if charged is None or charged <= 0 or code_of(order.charge_currency) != order.currency:
        return Reason.NONE
    return Reason.CHARGE if _is_less(charged, expected) else Reason.NONE


def _items(order: Order, products: Sequence[str]) -> Reason:
    if not order.items:
        return Reason.NO_ITEMS
    paid = sorted(item.id or "" for item in order.items)
    return Reason.NONE if paid == sorted(products) else Reason.PRODUCTS


def _virtual_currency(order: Order, checkout: CheckoutValue) -> Reason:
    if checkout.virtual_currency_amount is not None:
        same = order.virtual_currency_amount == checkout.virtual_currency_amount
        return Reason.NONE if same else Reason.VIRTUAL_CURRENCY
    if checkout.products:
        return _items(order, checkout.products)
    return Reason.NONE if checkout.expected_amount is not None else Reason.VIRTUAL_CURRENCY


def _is_less(paid: Decimal | None, expected: Decimal) -> bool:
    return paid is not None and comparable(paid) < comparable(expected)


def _same(paid: Decimal | None, expected: Decimal, currency: str) -> bool:
    meant = None if paid is None else without_noise(paid, currency)
    return meant is not None and same_money(meant, expected, currency)
