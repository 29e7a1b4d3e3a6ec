"""The fields that a customer fills in on the hosted form, and their checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from checkout_integration.sandbox.orders.payment_methods import (
    CARD_NUMBER,
    CRYPTO_CURRENCIES,
    WALLETS,
    Card,
    CryptoCurrency,
    PaymentMethod,
    Wallet,
    passes_luhn,
)
from checkout_integration.sandbox.orders.tax import COUNTRIES
from checkout_integration.sandbox.payments.payments import PaymentDetails
from checkout_integration.sandbox.wire.fields import PHONE

METHODS: Final = {"card": "Card", "wallet": "Wallet", "crypto": "Crypto currency"}
_EXPIRY: Final = re.compile(r"(0[1-9]|1[0-2])\s*/\s*(?:20)?(\d\d)", re.ASCII)
_CVC: Final = re.compile(r"\d{3,4}", re.ASCII)
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_NAME: Final = re.compile(r"\S{3,120}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentForm:
    """The customer's input.

    Attributes:
        method: the payment method, None when any field is wrong.
        details: the other fields, for `Payments.pay`; the address where the form asks for it.
        problems: field name to what is wrong with it, in words.
    """

    method: PaymentMethod | None
    details: PaymentDetails
    problems: dict[str, str]


def read_payment_form(form: Mapping[str, str], now: datetime, *, ask_address: bool) -> PaymentForm:
    """Read the posted fields; a card's expiry is compared with `now`, and an address is required with `ask_address`."""
    problems: dict[str, str] = {}
    method = _READERS[method_or_card(form.get("method"))](form, now, problems)
    email = form.get("email", "").strip()
    if len(email) > 254 or not _EMAIL.fullmatch(email):
        problems["email"] = "The receipt needs an e-mail address."
    phone = form.get("phone", "").strip()
    if phone and not PHONE.fullmatch(phone):
        problems["phone"] = "Write the phone number with digits, or leave it out."
    country = form.get("country", "") if form.get("country") in COUNTRIES else ""
    state, code = form.get("state", "").strip()[:6], form.get("zip", "").strip()[:16]
    if ask_address:
        _check_address(country, state, code, problems)
    details = PaymentDetails(
        saved=form.get("saved") == "1",
        recurring=form.get("recurring") == "1"
        and method is not None
        and method.method()["recurring_allowed"],
        notify_sale=form.get("notify_sale") == "1",
        notify_new_region=form.get("notify_new_region") == "1",
        notify_new_region_email=email,
        receipt_email=email,
        receipt_phone=phone,
        billing_country=country if ask_address else "",
        billing_state=state if ask_address else "",
        billing_zip=code if ask_address else "",
    )
    return PaymentForm(method=None if problems else method, details=details, problems=problems)


def _check_address(country: str, state: str, code: str, problems: dict[str, str]) -> None:
    """Require the country, in the USA state and zip too (ORD-25)."""
    if not country:
        problems["country"] = "Choose your country."
    elif country == "US":
        problems |= {} if state else {"state": "Your state."}
        problems |= {} if code else {"zip": "Your ZIP code."}


def _read_card(form: Mapping[str, str], now: datetime, problems: dict[str, str]) -> PaymentMethod | None:
    number = re.sub(r"[ -]", "", form.get("number", ""))
    if not CARD_NUMBER.fullmatch(number) or not passes_luhn(number):
        problems["number"] = "This is not a card number."
    expiry = _EXPIRY.fullmatch(form.get("expiry", "").strip())
    if expiry is None:
        problems["expiry"] = "Write month and year as MM/YY."
    elif (2000 + int(expiry[2]), int(expiry[1])) < (now.year, now.month):
        problems["expiry"] = "This card has expired."
    if not _CVC.fullmatch(form.get("cvc", "").strip()):
        problems["cvc"] = "Three or four digits."
    if problems or expiry is None:
        return None
    return Card(number=number, expiry_month=expiry[1], expiry_year=f"20{expiry[2]}")


def _read_wallet(form: Mapping[str, str], now: datetime, problems: dict[str, str]) -> PaymentMethod | None:
    account, brand = form.get("wallet_account", "").strip(), form.get("wallet_brand", WALLETS[0])
    if not _NAME.fullmatch(account):
        problems["wallet_account"] = "The name of your account, without spaces."
    return Wallet(brand=brand if brand in WALLETS else WALLETS[0], account=account)


def _read_crypto(form: Mapping[str, str], now: datetime, problems: dict[str, str]) -> PaymentMethod | None:
    address, brand = form.get("crypto_address", "").strip(), form.get("crypto_brand", CRYPTO_CURRENCIES[0])
    if not _NAME.fullmatch(address):
        problems["crypto_address"] = "The address you pay from, without spaces."
    return CryptoCurrency(
        brand=brand if brand in CRYPTO_CURRENCIES else CRYPTO_CURRENCIES[0], address=address
    )


_READERS: Final[dict[str, Callable[[Mapping[str, str], datetime, dict[str, str]], PaymentMethod | None]]] = {
    "card": _read_card,
    "wallet": _read_wallet,
    "crypto": _read_crypto,
}


def method_or_card(name: str | None) -> str:
    """Return a method of `METHODS`, the card when there is none of that name."""
    return name if name in METHODS else "card"
