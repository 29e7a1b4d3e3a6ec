"""The page of the hosted form on which the buyer pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from markupsafe import Markup

from checkout_integration.protocol.vocabulary import VatPayer
from checkout_integration.sandbox.approval import Consent
from checkout_integration.sandbox.currencies import display_money
from checkout_integration.sandbox.methods import CRYPTO_CURRENCIES, WALLETS
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.pages import (
    choices,
    fill,
    input_field,
    joined,
    page,
    price_lines,
    select_field,
)
from checkout_integration.sandbox.tax import COUNTRIES
from checkout_integration.sandbox.typed import METHODS

_VAT: Final = {
    VatPayer.BUYER: "Taxes of your country are added to the price.",
    VatPayer.SELLER: "Taxes of your country are included in the price.",
    VatPayer.NOBODY: "This purchase is exempt from VAT.",
}
STALE: Final = "stale"
_REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    Consent.DENIED: ("The payment was refused.", "The seller did not approve this customer."),
    Consent.FAILED: (
        "The payment was refused.",
        "The seller could not approve it just now. You can try again.",
    ),
    Consent.UNANSWERED: ("The payment was refused.", "The seller did not answer in time. You can try again."),
    STALE: ("The payment was not confirmed.", "Your bank's question is no longer open. Please pay again."),
}
_CONSENTS: Final[Mapping[str, str]] = {
    "saved": "Save this method for next time",
    "notify_sale": "Tell me about sales by e-mail",
    "notify_new_region": "Tell me by e-mail when payments open in new regions",
}
_RECURRING: Final[Mapping[str, str]] = {"recurring": "Renew this payment automatically"}
_WRONG: Final = Markup(
    '<div class="notice" role="alert">Please check the marked fields. Nothing was charged.</div>'
)


def pay_page(
    order: Order,
    *,
    method: str,
    ask_country: bool,
    country: str,
    typed: Mapping[str, str],
    problems: Mapping[str, str],
    refused: str,
) -> Markup:
    """Return the page; a card's own fields are never filled again. `refused` is a consent that was not given, or `STALE`."""
    kept = {**typed, "email": typed.get("email", order.user.get("email", ""))}
    content = fill(
        "pay",
        seller=order.company_name,
        description=order.description,
        total=display_money(order.amount, order.currency),
        lines=price_lines(order, "Price"),
        vat=_VAT[order.vat_payer],
        tabs=_tabs(order.id, method, country),
        notice=_notice(refused) or (_WRONG if problems else ""),
        hint=fill(f"hint_{method}"),
        order_id=order.id,
        country=_country_form(order.id, method, country, problems) if ask_country else "",
        country_code=country,
        method=method,
        fields=_FIELDS[method](kept, problems),
        address=_us_address(kept, problems) if ask_country and country == "US" else "",
        email=input_field("email", "E-mail for the receipt", kept, problems, "you@example.com", "email"),
        phone=input_field(
            "phone", "Phone for the receipt (optional)", kept, problems, "+1 555 0100", "tel", needed=False
        ),
        consents=joined([_consent(name, text, kept) for name, text in _consents(method).items()]),
    )
    title = f"Pay {order.company_name}"
    return page(title, content, event="formRendered", scheme=order.view_scheme)


def _notice(refused: str) -> Markup:
    """Return why the last attempt to pay came to nothing, in words for the buyer."""
    if refused not in _REFUSED:
        return Markup()
    return Markup(
        '<div class="notice" role="alert"><strong>{}</strong> {} Nothing was charged.</div>'
    ).format(*_REFUSED[refused])


def _consents(method: str) -> Mapping[str, str]:
    """Return what the buyer may agree to: renewals with a card only (MTH-11)."""
    return {**_CONSENTS, **(_RECURRING if method == "card" else {})}


def _consent(name: str, text: str, typed: Mapping[str, str]) -> Markup:
    checked = Markup("checked") if typed.get(name) == "1" else Markup()
    return Markup(
        '<p class="check"><input type="checkbox" id="{0}" name="{0}" value="1" {2}><label for="{0}">{1}</label></p>'
    ).format(name, text, checked)


def _tabs(order_id: str, chosen: str, country: str) -> Markup:
    """Return the links between the methods, which keep the chosen country."""
    tabs = []
    for name, text in METHODS.items():
        query = {"order_id": order_id, "method": name, **({"country": country} if country else {})}
        current = Markup(' aria-current="page"') if name == chosen else Markup()
        tabs.append(Markup('<a href="/form/?{}"{}>{}</a>').format(urlencode(query), current, text))
    return joined(tabs)


def _card_fields(typed: Mapping[str, str], problems: Mapping[str, str]) -> Markup:
    hidden: Mapping[str, str] = {}
    expiry = input_field("expiry", "Expiry date", hidden, problems, "MM/YY")
    cvc = input_field("cvc", "Security code", hidden, problems, "123", "numeric")
    number = input_field("number", "Card number", hidden, problems, "4242 4242 4242 4242", "numeric")
    return Markup('{}<div class="pair">{}{}</div>').format(number, expiry, cvc)


def _wallet_fields(typed: Mapping[str, str], problems: Mapping[str, str]) -> Markup:
    brand = select_field("wallet_brand", "Wallet", {name: name for name in WALLETS}, typed)
    return brand + input_field("wallet_account", "Your account", typed, problems, "ada-lovelace")


def _crypto_fields(typed: Mapping[str, str], problems: Mapping[str, str]) -> Markup:
    brand = select_field("crypto_brand", "Currency", {name: name for name in CRYPTO_CURRENCIES}, typed)
    return brand + input_field("crypto_address", "Address you pay from", typed, problems, "bc1qexample")


_FIELDS: Final = {"card": _card_fields, "wallet": _wallet_fields, "crypto": _crypto_fields}


def _country_form(order_id: str, method: str, chosen: str, problems: Mapping[str, str]) -> Markup:
    problem = problems.get("country")
    return fill(
        "country",
        order_id=order_id,
        method=method,
        options=choices({"": "Choose a country", **COUNTRIES}, chosen),
        state=Markup('aria-invalid="true" aria-describedby="country-error"') if problem else "",
        error=Markup('<p class="error" id="country-error">{}</p>').format(problem) if problem else "",
    )


def _us_address(typed: Mapping[str, str], problems: Mapping[str, str]) -> Markup:
    state = input_field("state", "State", typed, problems, "CA")
    code = input_field("zip", "ZIP code", typed, problems, "94105")
    return Markup('<div class="pair">{}{}</div>').format(state, code)
