"""Does a payment pay for the sale that it is bound to?

Anyone who knows the public project id can create an order with any amount and metadata, and the notification about it is
correctly signed; test payments use the same key. So signed does not mean "for what was sold here": `judge` compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from checkout_integration.policy.binding import Sale
from checkout_integration.policy.fields import MONEY_CONFLICTS
from checkout_integration.policy.observation import Source
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


def judge(state: OrderState, sale: Sale | None, *, accept_unbound: bool, accept_test: bool) -> Verdict:
    """The verdict on an order's success, whatever became of it later; pending while none is known.

    ``accept_unbound`` is the setting UNBOUND_ORDERS="accept"; ``accept_test`` ACCEPT_TEST_PAYMENTS, which decides the mode
    of an unbound order (a sale has its own).
    """
    if not state.succeeded:
        return PENDING
    reason = _refusal(state, sale, test=sale.test if sale else accept_test)
    if reason is Reason.UNBOUND and accept_unbound:
        return Verdict(VerdictStatus.ACCEPTED, Reason.BY_SETTING)
    if reason is not Reason.NONE:
        return Verdict(VerdictStatus.REVIEW, reason)
    return Verdict(VerdictStatus.VERIFIED)


def is_historic(state: OrderState, installed_at: datetime) -> bool:
    """Whether an unbound order that only the list tells of is older than the installation, and was over before it.

    One that still waits for its payment is not: the payment will be news.
    """
    if state.status in (OrderStatus.CREATED, OrderStatus.PENDING):
        return False
    created_at = state.order.created_at
    only_listed = all(key.endswith(f"/{Source.LIST}") for key in state.facts.slots)
    return only_listed and created_at is not None and created_at < installed_at


def _refusal(state: OrderState, sale: Sale | None, *, test: bool) -> Reason:
    order = state.order
    if order.testing_case:
        return Reason.TESTING_CASE
    if not _mode_agrees(state, test=test):
        return Reason.MODE
    if state.merged.conflicts & MONEY_CONFLICTS:
        return Reason.CONFLICT
    if sale is None:
        return Reason.UNBOUND
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
    """Compares the price that the shop set; where VAT is added for the buyer it is in ``amount`` only."""
    if sale.expected_amount is None:
        return Reason.NONE
    if order.currency != sale.currency:
        return Reason.CURRENCY
    paid = order.original_amount if order.vat_payer == VatPayer.BUYER else order.amount
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
    return paid is not None and same_money(paid, expected, currency)
