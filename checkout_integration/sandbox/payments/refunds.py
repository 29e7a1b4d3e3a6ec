"""Refunds, in full or in parts, and chargebacks (STA-06, STA-07)."""

from __future__ import annotations

import uuid
import zlib
from dataclasses import replace
from decimal import Decimal
from typing import Any

from checkout_integration.protocol.vocabulary import Event, OrderStatus
from checkout_integration.sandbox.merchant.currencies import display_money, round_money, smallest_unit
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.payments.transitions import Transitions, receipt_number
from checkout_integration.sandbox.wire.errors import Case, RefusedError


class Refunds(Transitions):
    """Refunds and chargebacks, each with its notification; deployed services list an item for each (STA-06, STA-07)."""

    def refund(self, order_id: str, *, amount: Decimal | None = None, reason: str = "") -> None:
        """Refund a processed order, or a further part of one that was refunded in part (STA-06).

        Args:
            order_id: the order.
            amount: how much, in the currency of the charge; None for all that is left of it.
            reason: a text for people; "Requested" by default.

        Raises:
            RefusedError: 404 no such order, 409 nothing to refund, 400 an amount that cannot be refunded.
        """
        with self.transaction():
            order = self.order(order_id)
            left = order.charge_amount - order.refunded_amount
            if order.status not in {OrderStatus.PROCESSED, OrderStatus.REFUNDED} or not left:
                raise RefusedError(409, Case.NOT_IN_THIS_STATUS, "the order is not processed")
            if not (order.method or {}).get("refund_allowed", True):
                raise RefusedError(409, Case.NO_REFUND, "the payment method allows no refund")
            part = left if amount is None else _checked_part(amount, left, order.charge_currency)
            self._reverse(order, OrderStatus.REFUNDED, Event.PAYMENT_REFUND, part, reason or "Requested")

    def chargeback(self, order_id: str) -> None:
        """Charge a processed payment back, as the payment system does (STA-07).

        Raises:
            RefusedError: 404 no such order, 409 not processed.
        """
        with self.transaction():
            order = self.order(order_id)
            if order.status != OrderStatus.PROCESSED:
                raise RefusedError(409, Case.NOT_IN_THIS_STATUS, "the order is not processed")
            status, event = OrderStatus.CHARGEBACK, Event.PAYMENT_CHARGEBACK
            if self.profile.chargeback_is_refund:
                self._reverse(order, status, event, order.charge_amount, "Chargeback")
            else:
                self.change(replace(order, status=status), event)  # STA-07 has no other effect

    def _reverse(self, order: Order, status: OrderStatus, event: Event, part: Decimal, reason: str) -> None:
        ended_at = self.end_of(order)
        second_item = self.profile.reversal_is_second_item
        document_id = str(uuid.uuid4()) if second_item else order.id
        # One refund object for all parts has one receipt, whose address stays.
        receipt_id = ("" if second_item else order.refund_receipt_id) or uuid.uuid4().hex
        refund: dict[str, Any] = {
            "amount": part,
            "currency": order.charge_currency,
            "reason": reason,
            "code": _reason_code(reason),
            "receipt_number": receipt_number(receipt_id),
            "receipt_url": self.receipt_url(document_id, receipt_id),
        }
        # An order has one refund object: its amount is the sum of all refunds.
        total = {**refund, "amount": order.refunded_amount + part}
        reversed_order = replace(order, status=status, refunded=True, refunded_at=ended_at, refund=total)
        self.change(reversed_order, event)
        if second_item:
            self.ledger.add(
                replace(
                    _share_of(reversed_order, part),
                    id=document_id,
                    created_at=ended_at,
                    refund=refund,
                    receipt_id=receipt_id,
                    receipt_number=receipt_number(receipt_id),
                    receipt_url=refund["receipt_url"],
                    reversal=True,
                    webhook_url="",
                )
            )


def _reason_code(reason: str) -> str:
    """Return the code of a reason: each reason has its own, always the same (RFD-04)."""
    return f"{zlib.crc32(reason.encode()) % 9000 + 1000}"


def _share_of(order: Order, part: Decimal) -> Order:
    """Return the order with the amounts of a reversal item: the refunded part of each."""
    share = part / order.charge_amount
    amount = round_money(order.amount * share, order.currency)
    tax = round_money(order.tax_amount * share, order.currency)
    # The price is without the tax if the tax was added to it.
    added = order.amount - order.original_amount
    return replace(
        order,
        amount=amount,
        tax_amount=tax,
        original_amount=amount - tax if added else amount,
        charge_amount=part,
    )


def _checked_part(amount: Decimal, left: Decimal, currency: str) -> Decimal:
    """Return an amount that can be refunded: positive, two decimals (RFD-01), at most the rest of the charge."""
    if not 0 < amount <= left:
        allowed = f"above zero, {display_money(left, currency)} at most"
    elif round_money(amount, currency) != amount:
        allowed = f"no parts of {display_money(smallest_unit(currency), currency)}"
    else:
        return amount
    raise RefusedError(400, Case.INVALID_DATA, "this amount cannot be refunded", f"amount: {allowed}")
