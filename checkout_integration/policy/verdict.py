"""Does a payment pay for the sale that it is bound to?

Anyone who knows the public project id can create an order with any amount and metadata, and the notification about it is
correctly signed; test payments use the same key. So signed does not mean "for what was sold here": `judge` compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from checkout_integration.policy.amounts import without_noise
from checkout_integration.policy.binding import Sale
from checkout_integration.policy.fields import MONEY_CONFLICTS
from checkout_integration.policy.observation import Source, stamp
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.values import same_money
from checkout_integration.protocol.vocabulary import TYPE_PRODUCTS, OrderStatus, OrderType, VatPayer


class VerdictStatus(StrEnum):
    """Verdict of an order (semantics, section 10)."""

    PENDING = "pending"
    VERIFIED = "verified"
    REVIEW = "review"
    ACCEPTED = "accepted"
    HISTORIC = "historic"


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
    NO_ITEMS = "no_items"
    PRODUCTS = "products"
    VIRTUAL_CURRENCY = "virtual_currency"
    CONFLICT = "conflict"
    PAID_TWICE = "paid_twice"
    RECEIVERS_RENAMED = "receivers_renamed"
    BY_SETTING = "by_setting"
    BY_HOOK = "by_hook"
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
LATEST_RETRY = timedelta(hours=48)
"""How much older than the installation a signed success may be: for so long the service goes on delivering it."""
WITHDRAWING = frozenset({Reason.CONFLICT, Reason.MODE, Reason.TESTING_CASE})
"""Findings that take back what a setting has accepted."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the settings say of payments, and when this app began to watch the project.

    ``installed_at`` may be None for an order with a checkout, which it does not matter to. ``accept_unbound`` is
    UNBOUND_ORDERS="accept"; ``accept_test`` is ACCEPT_TEST_PAYMENTS, which decides the mode of an unbound order (a checkout
    has its own); ``historic_margin`` is HISTORIC_MARGIN.
    """

    installed_at: datetime | None = None
    accept_unbound: bool = False
    accept_test: bool = False
    historic_margin: timedelta = timedelta(hours=24)


def judge(state: OrderState, sale: Sale | None, terms: Terms, *, before: Verdict = PENDING) -> Verdict:
    """Return the verdict on an order's payment, whatever became of it later; pending while no money is known.

    A reversal whose success was lost is judged as the success would be. ``before`` is the verdict until now: what staff
    accepted stands, and so does what a setting accepted, unless the payment turns out to be another one.
    """
    if before.reason == Reason.BY_STAFF:
        return before
    if sale is None and is_historic(state, terms):
        return Verdict(VerdictStatus.HISTORIC)
    if not state.settled:
        return PENDING
    return _compared(_refusal(state, sale, terms), terms, before)


def _compared(reason: Reason, terms: Terms, before: Verdict) -> Verdict:
    if reason is Reason.NONE:
        return Verdict(VerdictStatus.VERIFIED)
    if reason is Reason.UNBOUND and terms.accept_unbound:
        return Verdict(VerdictStatus.ACCEPTED, Reason.BY_SETTING)
    if before.reason == Reason.BY_SETTING and reason not in WITHDRAWING:
        return before
    return Verdict(VerdictStatus.REVIEW, reason)


def is_historic(state: OrderState, terms: Terms) -> bool:
    """Whether an order was over before this app was installed: nothing that happens to it is news.

    Only the list tells of it. One that still waits for its payment is not historic: the payment will be news.
    """
    created_at = state.order.created_at
    if created_at is None or terms.installed_at is None or not _only_listed(state):
        return False
    is_open = state.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return not is_open and created_at < terms.installed_at - terms.historic_margin


def _is_older(state: OrderState, terms: Terms) -> bool:
    """Whether an unbound payment is from before the installation.

    A signed success says when it was; of others it is known only when their orders were created.
    """
    if terms.installed_at is None:
        return False
    signed = [time for time in state.facts.times(OrderStatus.PROCESSED, Source.NOTIFICATION) if time]
    if signed:
        return min(signed) < stamp(terms.installed_at - LATEST_RETRY)
    created_at = state.order.created_at
    return created_at is not None and created_at < terms.installed_at


def _only_listed(state: OrderState) -> bool:
    return all(key.endswith(f"/{Source.LIST}") for key in state.facts.slots)


def _refusal(state: OrderState, sale: Sale | None, terms: Terms) -> Reason:
    order, test = state.order, sale.test if sale else terms.accept_test
    if order.testing_case:
        return Reason.TESTING_CASE
    if not _mode_agrees(state, test=test):
        return Reason.MODE
    if state.merged.conflicts & MONEY_CONFLICTS:
        return Reason.CONFLICT
    if sale is None:
        return Reason.BEFORE_INSTALLATION if _is_older(state, terms) else Reason.UNBOUND
    if _order_type(order) != sale.type:
        return Reason.TYPE
    return _content(order, sale)


def _mode_agrees(state: OrderState, *, test: bool) -> bool:
    """A live sale takes live production payments, a test sale test payments.

    The list makes no statement on ``live``; a notification that makes none is not taken for either.
    """
    wanted = not test
    live = state.merged.live
    silent = live is None and not any(key.endswith(f"/{Source.NOTIFICATION}") for key in state.facts.slots)
    return state.order.is_production is wanted and (live is wanted or silent)


def _order_type(order: Order) -> str | None:
    return OrderType.PRODUCT if order.type == TYPE_PRODUCTS else order.type


def _content(order: Order, sale: Sale) -> Reason:
    if sale.type == OrderType.SIMPLE:
        return Reason.AMOUNT if sale.expected_amount is None else _price(order, sale)
    if sale.type == OrderType.VIRTUAL_CURRENCY:
        return _virtual_currency(order, sale) or _price(order, sale)
    return _items(order, sale.products) or _price(order, sale)


def _price(order: Order, sale: Sale) -> Reason:
    """Compare the price that the shop set; where VAT is added for the buyer it is in ``amount`` only (ORD-41).

    Older messages do not say who pays VAT, but give the amount without it.
    """
    if sale.expected_amount is None:
        return Reason.NONE
    if order.currency != sale.currency:
        return Reason.CURRENCY
    without_vat = order.vat_payer == VatPayer.BUYER or (
        not order.vat_payer and order.original_amount is not None
    )
    paid = order.original_amount if without_vat else order.amount
    return Reason.NONE if _same(paid, sale.expected_amount, sale.currency) else Reason.AMOUNT


def _items(order: Order, products: Sequence[str]) -> Reason:
    if not order.items:
        return Reason.NO_ITEMS
    paid = sorted(item.id or "" for item in order.items)
    return Reason.NONE if paid == sorted(products) else Reason.PRODUCTS


def _virtual_currency(order: Order, sale: Sale) -> Reason:
    if sale.virtual_currency_amount is not None:
        same = order.virtual_currency_amount == sale.virtual_currency_amount
        return Reason.NONE if same else Reason.VIRTUAL_CURRENCY
    if sale.products:
        return _items(order, sale.products)
    return Reason.NONE if sale.expected_amount is not None else Reason.VIRTUAL_CURRENCY


def _same(paid: Decimal | None, expected: Decimal, currency: str) -> bool:
    meant = None if paid is None else without_noise(paid, currency)
    return meant is not None and same_money(meant, expected, currency)
