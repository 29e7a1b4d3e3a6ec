"""The page of the hosted form on which the customer pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkout_integration.protocol.vocabulary import VatPayer
from checkout_integration.sandbox.form.payment_form import METHODS
from checkout_integration.sandbox.notify.user_validation import Consent
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.payment_methods import CRYPTO_CURRENCIES, WALLETS
from checkout_integration.sandbox.orders.tax import COUNTRIES
from checkout_integration.sandbox.pages.rendering import render

_VAT: Final = {
    VatPayer.BUYER: "Taxes of your country are added to the price.",
    VatPayer.SELLER: "Taxes of your country are included in the price.",
    VatPayer.NOBODY: "This purchase is exempt from VAT.",
}
STALE: Final = "stale"
_REFUSALS: Final[Mapping[str, tuple[str, str]]] = {
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
    "notify_sale": "Tell me about special offers by e-mail",
    "notify_new_region": "Tell me by e-mail when payments open in new regions",
}
_RECURRING: Final[Mapping[str, str]] = {"recurring": "Renew this payment automatically"}


def pay_page(
    order: Order,
    *,
    method: str,
    ask_country: bool,
    country: str,
    entered: Mapping[str, str],
    problems: Mapping[str, str],
    refused: str,
) -> str:
    """Return the page to pay on.

    Args:
        order: with the tax of `country`.
        method: one of `METHODS`.
        ask_country: whether the form asks for the billing address.
        country: the chosen country, "" for none.
        entered: what was entered before; a card's own fields are never filled again.
        problems: field name to what is wrong with it.
        refused: why the last attempt came to nothing: a consent that was not given, or `STALE`.
    """
    return render(
        "pay",
        order=order,
        vat=_VAT[order.vat_payer],
        method=method,
        methods=METHODS,
        wallets={name: name for name in WALLETS},
        crypto_currencies={name: name for name in CRYPTO_CURRENCIES},
        ask_country=ask_country,
        country=country,
        countries={"": "Choose a country", **COUNTRIES},
        values={**entered, "email": entered.get("email", order.user.get("email", ""))},
        problems=problems,
        refusal=_REFUSALS.get(refused),
        consents=_consents(method),
        event="formRendered",
        scheme=order.view_scheme,
    )


def _consents(method: str) -> Mapping[str, str]:
    """Return the agreements that the customer may choose: renewals, with a card only (MTH-11)."""
    return {**_CONSENTS, **(_RECURRING if method == "card" else {})}
