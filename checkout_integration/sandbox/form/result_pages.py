"""The other pages of the hosted form: the bank's question, the result of the payment, and the receipt."""

from __future__ import annotations

from typing import Final

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.merchant.currencies import display_money
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.payment_methods import CODE
from checkout_integration.sandbox.pages.rendering import render
from checkout_integration.sandbox.payments.transitions import receipt_number

_REVERSED: Final = {OrderStatus.REFUNDED, OrderStatus.CHARGEBACK}


def code_page(order: Order, step: str) -> str:
    """Return the page on which the customer's bank asks for a code: the 3-D Secure step (MTH-07)."""
    return render(
        "code", order=order, step=step, right_code=CODE, event="formRendered", scheme=order.view_scheme
    )


def end_page(order: Order, *, expired: bool) -> str:
    """Return the page of an order that can no longer be paid."""
    # EVT-12: deployed services reject a payment that was not acknowledged, although the customer has paid.
    if order.paid and order.status != OrderStatus.CANCELED:
        return _paid_page(order)
    if order.status == OrderStatus.CANCELED:
        if order.paid:
            text = "It was cancelled after the payment. Ask the seller for your money."
            return _failed_page(order, "Payment cancelled", text)
        reason = (order.cancellation or {}).get("reason", "")
        text = f"{reason}. Nothing was charged."
        return _failed_page(order, "Payment cancelled", text, event="paymentCancelled")
    if expired:
        text = "This form was open for too long. Nothing was charged."
        return _failed_page(order, "This form has expired", text, event="formExpired", may_repeat=True)
    reason = (order.cancellation or {}).get("reason", "The bank declined the payment")
    text = f"{reason}. Nothing was charged."
    return _failed_page(order, "Payment declined", text, event="paymentDeclined", may_repeat=True)


def _paid_page(order: Order) -> str:
    returned = order.status in _REVERSED
    return render(
        "result",
        order=order,
        heading="Payment returned" if returned else "Payment successful",
        text=f"A receipt goes to {order.receipt_email}." if order.receipt_email else "Thank you.",
        tone="bad" if returned else "good",
        mark="↩" if returned else "✓",
        facts=[("Receipt", order.receipt_number)],
        return_url=order.url_success,
        event="" if returned else "paymentCompleted",
        scheme=order.view_scheme,
    )


def _failed_page(order: Order, heading: str, text: str, *, event: str = "", may_repeat: bool = False) -> str:
    return render(
        "result",
        order=order,
        heading=heading,
        text=text,
        tone="bad",
        mark="!",
        may_repeat=may_repeat,
        return_url=order.url_fail,
        event=event,
        scheme=order.view_scheme,
    )


def receipt_page(order: Order, receipt_id: str) -> str:
    """Return the receipt for online access: that of the payment (ORD-15), or that of the refund (RFD-06)."""
    facts = [("Receipt", receipt_number(receipt_id)), ("Seller", order.company_name)]
    if order.receipt_email:
        facts.append(("Sent to", order.receipt_email))
    if order.refund:
        facts.append(("Returned", display_money(order.refund["amount"], order.refund["currency"])))
    return render(
        "result",
        order=order,
        heading="Receipt",
        text=order.description,
        tone="good",
        mark="✓",
        facts=facts,
        scheme=order.view_scheme,
    )
