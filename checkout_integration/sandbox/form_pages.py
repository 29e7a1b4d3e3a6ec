"""The pages of the hosted form beside paying: the bank's question, how it ended, and the receipt."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.cards import CODE
from checkout_integration.sandbox.currencies import display_money
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.pages import fill, input_field, joined, line, page, price_lines

# WHY: an empty caption reads OK (EP1-21).
_CAPTION: Final = "OK"
_REVERSED: Final = {OrderStatus.REFUNDED, OrderStatus.CHARGEBACK}
TO_OPERATOR: Final = ("/_sandbox/", "Back to the operator")


def code_page(order: Order, step: str) -> Markup:
    """Return the page on which the buyer's bank asks for a code: the 3-D Secure step (MTH-07)."""
    content = fill(
        "code",
        amount=display_money(order.amount, order.currency),
        seller=order.company_name,
        right=CODE,
        order_id=order.id,
        step=step,
        code=input_field("code", "Code from your bank", {}, {}, CODE, "numeric"),
    )
    return page(
        "Confirm the payment", content, width="narrow", event="formRendered", scheme=order.view_scheme
    )


def end_page(order: Order, *, expired: bool) -> Markup:
    """Return the page of an order that can no longer be paid."""
    # WHY all but one: a payment that nobody acknowledged turns rejected at the service, and the buyer has paid (field notes).
    if order.paid and order.status != OrderStatus.CANCELED:
        return _paid_page(order)
    if order.status == OrderStatus.CANCELED:
        if order.paid:
            text = "It was cancelled after the payment. Ask the seller for your money."
            return _failed_page(order, "Payment cancelled", text, "", again=False)
        reason = (order.cancellation or {}).get("reason", "")
        return _failed_page(
            order, "Payment cancelled", f"{reason}. Nothing was charged.", "paymentCancelled", again=False
        )
    if expired:
        text = "This form was open for too long. Nothing was charged."
        return _failed_page(order, "This form has expired", text, "formExpired", again=True)
    reason = (order.cancellation or {}).get("reason", "The bank declined the payment")
    return _failed_page(
        order, "Payment declined", f"{reason}. Nothing was charged.", "paymentDeclined", again=True
    )


def _paid_page(order: Order) -> Markup:
    back = order.status in _REVERSED
    heading = "Payment returned" if back else "Payment successful"
    content = fill(
        "result",
        tone="bad" if back else "good",
        mark="↩" if back else "✓",
        heading=heading,
        text=f"A receipt goes to {order.receipt_email}." if order.receipt_email else "Thank you.",
        lines=joined([price_lines(order), line("Receipt", order.receipt_number)]),
        buttons=_return_button(order.url_success, order.button_caption),
    )
    event = "" if back else "paymentCompleted"
    return page(heading, content, width="narrow", event=event, scheme=order.view_scheme)


def _failed_page(order: Order, heading: str, text: str, event: str, *, again: bool) -> Markup:
    buttons = []
    if again:
        buttons.append(
            Markup(
                '<form method="post" action="/form/again"><input type="hidden" name="order_id" value="{}">'
                '<p><button class="primary full" type="submit">Try again</button></p></form>'
            ).format(order.id)
        )
    buttons.append(_return_button(order.url_fail, order.button_caption, primary=not again))
    content = fill(
        "result",
        tone="bad",
        mark="!",
        heading=heading,
        text=text,
        lines=price_lines(order),
        buttons=joined(buttons),
    )
    return page(heading, content, width="narrow", event=event, scheme=order.view_scheme)


def _return_button(url: str, caption: str, *, primary: bool = True) -> Markup:
    """Return the link back: in the same frame, with nothing appended to the URL (field notes)."""
    if not url:
        return Markup('<p class="soft">You can close this window now.</p>')
    kind = "button primary full" if primary else "button full"
    return Markup('<a class="{}" href="{}" data-tells="returnRequested">{}</a>').format(
        kind, url, caption or _CAPTION
    )


def message_page(heading: str, text: str, back: tuple[str, str] | None = None) -> Markup:
    """Return a page that says one thing, for instance that there is no such order; `back` is a link and its words."""
    link = Markup('<a class="button full" href="{}">{}</a>').format(*back) if back else ""
    content = fill("result", tone="bad", mark="?", heading=heading, text=text, lines="", buttons=link)
    return page(heading, content, width="narrow")


def receipt_page(order: Order) -> Markup:
    """Return the receipt for online access (ORD-15)."""
    facts = [line("Receipt", order.receipt_number), line("Seller", order.company_name)]
    if order.receipt_email:
        facts.append(line("Sent to", order.receipt_email))
    if order.refund:
        facts.append(line("Returned", display_money(order.refund["amount"], order.refund["currency"])))
    content = fill(
        "result",
        tone="good",
        mark="✓",
        heading="Receipt",
        text=order.description,
        lines=joined([price_lines(order), *facts]),
        buttons="",
    )
    return page("Receipt", content, width="narrow", scheme=order.view_scheme)
