"""The pages of the hosted form: paying, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from markupsafe import Markup

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.currencies import display_money
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.pages import choices, fill, joined, line, page, price_lines
from checkout_integration.sandbox.tax import COUNTRIES

# WHY: an empty caption reads OK (EP1-21).
_CAPTION: Final = "OK"
_REVERSED: Final = {OrderStatus.REFUNDED, OrderStatus.CHARGEBACK}


def pay_page(
    order: Order,
    *,
    ask_country: bool,
    country: str,
    typed: Mapping[str, str],
    problems: Mapping[str, str],
    refused: bool,
) -> Markup:
    """Return the page on which the buyer pays; the card's own fields are never filled again."""
    notice = Markup()
    if refused:
        notice = Markup(
            '<div class="notice" role="alert"><strong>The payment was refused.</strong> '
            "The seller did not approve this customer. Nothing was charged.</div>"
        )
    elif problems:
        notice = Markup(
            '<div class="notice" role="alert">Please check the marked fields. Nothing was charged.</div>'
        )
    email = typed.get("email", order.user.get("email", ""))
    content = fill(
        "pay",
        seller=order.company_name,
        description=order.description,
        total=display_money(order.amount, order.currency),
        lines=price_lines(order, "Price"),
        notice=notice,
        order_id=order.id,
        country=_country_form(order.id, country) if ask_country else "",
        country_code=country,
        number=_field("number", "Card number", "4242 4242 4242 4242", "numeric", "", problems),
        expiry=_field("expiry", "Expiry date", "MM/YY", "text", "", problems),
        cvc=_field("cvc", "Security code", "123", "numeric", "", problems),
        address=_us_address(typed, problems) if ask_country and country == "US" else "",
        email=_field("email", "E-mail for the receipt", "you@example.com", "email", email, problems),
    )
    return page(f"Pay {order.company_name}", content, event="formRendered")


def _field(
    name: str, label: str, placeholder: str, inputmode: str, value: str, problems: Mapping[str, str]
) -> Markup:
    problem = problems.get(name)
    state, error = Markup("required"), Markup()
    if problem:
        state = Markup('required aria-invalid="true" aria-describedby="{}-error"').format(name)
        error = Markup('<p class="error" id="{}-error">{}</p>').format(name, problem)
    return fill(
        "field",
        name=name,
        label=label,
        kind="email" if name == "email" else "text",
        value=value,
        inputmode=inputmode,
        placeholder=placeholder,
        state=state,
        error=error,
    )


def _country_form(order_id: str, chosen: str) -> Markup:
    options = choices({"": "Choose a country", **COUNTRIES}, chosen)
    return fill("country", order_id=order_id, options=options)


def _us_address(typed: Mapping[str, str], problems: Mapping[str, str]) -> Markup:
    state = _field("state", "State", "CA", "text", typed.get("state", ""), problems)
    code = _field("zip", "ZIP code", "94105", "text", typed.get("zip", ""), problems)
    return Markup('<div class="pair">{}{}</div>').format(state, code)


def end_page(order: Order, *, expired: bool) -> Markup:
    """Return the page of an order that can no longer be paid."""
    if order.status == OrderStatus.PROCESSED or (order.paid and order.status in _REVERSED):
        return _paid_page(order)
    if order.status == OrderStatus.CANCELED:
        return _failed_page(
            order, "Payment cancelled", "Nothing was charged.", "paymentCancelled", again=False
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
    content = fill(
        "result",
        tone="bad" if back else "good",
        mark="↩" if back else "✓",
        heading="Payment returned" if back else "Payment successful",
        text=f"A receipt goes to {order.receipt_email}." if order.receipt_email else "Thank you.",
        lines=joined([price_lines(order), line("Receipt", order.receipt_number)]),
        buttons=_return_button(order.url_success, order.button_caption),
    )
    return page("Payment successful", content, width="narrow", event="paymentCompleted")


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
    return page(heading, content, width="narrow", event=event)


def _return_button(url: str, caption: str, *, primary: bool = True) -> Markup:
    """Return the link back: in the same frame, with nothing appended to the URL (field notes)."""
    if not url:
        return Markup('<p class="soft">You can close this window now.</p>')
    kind = "button primary full" if primary else "button full"
    return Markup('<a class="{}" href="{}" data-tells="returnRequested">{}</a>').format(
        kind, url, caption or _CAPTION
    )


def message_page(heading: str, text: str) -> Markup:
    """Return a page that says one thing, for instance that there is no such order."""
    content = fill("result", tone="bad", mark="?", heading=heading, text=text, lines="", buttons="")
    return page(heading, content, width="narrow")


def receipt_page(order: Order) -> Markup:
    """Return the receipt for online access (ORD-15)."""
    facts = [line("Receipt", order.receipt_number), line("Seller", order.company_name)]
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
    return page("Receipt", content, width="narrow")
