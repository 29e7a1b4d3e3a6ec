"""Checking what a buyer typed into the hosted form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from checkout_integration.sandbox.cards import Card, passes_luhn
from checkout_integration.sandbox.tax import COUNTRIES

_NUMBER: Final = re.compile(r"\d{13,19}", re.ASCII)
_EXPIRY: Final = re.compile(r"(0[1-9]|1[0-2])\s*/\s*(?:20)?(\d\d)", re.ASCII)
_CVC: Final = re.compile(r"\d{3,4}", re.ASCII)
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Typed:
    """The buyer's input.

    Attributes:
        card: the card, None when something about it is wrong.
        email, country, state, zip: the other fields; an unknown country is "".
        problems: field name to what is wrong with it, in words.
    """

    card: Card | None
    email: str
    country: str
    state: str
    zip: str
    problems: dict[str, str] = field(default_factory=dict)


def read_typed(form: Mapping[str, str], now: datetime) -> Typed:
    """Read the posted fields; the card's expiry is compared with `now`."""
    problems: dict[str, str] = {}
    number = re.sub(r"[ -]", "", form.get("number", ""))
    if not _NUMBER.fullmatch(number) or not passes_luhn(number):
        problems["number"] = "This is not a card number."
    expiry = _EXPIRY.fullmatch(form.get("expiry", "").strip())
    if expiry is None:
        problems["expiry"] = "Write month and year as MM/YY."
    elif (2000 + int(expiry[2]), int(expiry[1])) < (now.year, now.month):
        problems["expiry"] = "This card has expired."
    if not _CVC.fullmatch(form.get("cvc", "").strip()):
        problems["cvc"] = "Three or four digits."
    email = form.get("email", "").strip()
    if len(email) > 254 or not _EMAIL.fullmatch(email):
        problems["email"] = "The receipt needs an e-mail address."
    country = form.get("country", "")
    card = None
    if not problems and expiry is not None:
        card = Card(number=number, expiry_month=expiry[1], expiry_year=f"20{expiry[2]}")
    return Typed(
        card=card,
        email=email,
        country=country if country in COUNTRIES else "",
        state=form.get("state", "").strip()[:6],
        zip=form.get("zip", "").strip()[:16],
        problems=problems,
    )
