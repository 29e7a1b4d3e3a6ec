"""Checks of single fields of a creation request. `creation_rules` has the fields and their requirements.

Null, and "" for a text, mean "not given". The specification shows no limits of length; deployed services accept 255
characters (docs/open-questions.md, LIM-03).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from checkout_integration.protocol.address import split
from checkout_integration.protocol.values import Document, is_currency, parse_money

TEXT_MAX: Final = 255
BUTTON_CAPTION_MAX: Final = 18
ADDRESS_MAX: Final = 2048
TOKEN_LOCALE_MIN: Final = 5
AMOUNT_MAX: Final = Decimal(10) ** 12

_COUNTRY: Final = re.compile(r"[A-Z]{2}", re.ASCII)
_STATE: Final = re.compile(r"(?:[A-Z]{2}-)?[A-Z0-9]{1,3}", re.ASCII)
_LOCALE: Final = re.compile(
    r"[a-z]{2}|[a-z]{2,3}(?:-[a-z]{4})?-(?:[a-z]{2}|[0-9]{3})", re.ASCII | re.IGNORECASE
)
_LANGUAGE_RANGE: Final = (
    r"(?:\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)(?:[ \t]*;[ \t]*q=(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?"
)
_ACCEPT_LANGUAGE: Final = re.compile(
    rf"{_LANGUAGE_RANGE}(?:[ \t]*,[ \t]*{_LANGUAGE_RANGE})*", re.ASCII | re.IGNORECASE
)


class CreationError(ValueError):
    """A request that breaks rules of the specification. ``problems`` are pairs of a field and its correction."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, message in problems))
        self.problems = list(problems)


class Checks:
    """A collector of problems, so that a developer sees all of them at once. No message contains a value."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []

    def add(self, field: str, message: str) -> None:
        """Note a problem of one field."""
        self.problems.append((field, message))

    def finish(self) -> None:
        """Raise CreationError when there were problems."""
        if self.problems:
            raise CreationError(self.problems)

    def members(self, field: str, value: object) -> Document:
        """Return the members of an object; none if ``value`` is absent or is no object."""
        if isinstance(value, Mapping):
            return value
        if value is not None:
            self.add(field, "must be an object")
        return {}

    def text(
        self, field: str, value: object, *, required: bool = False, at_most: int | None = TEXT_MAX
    ) -> str | None:
        """Return a given text that can be sent. ``at_most`` is None for a text that the service has issued."""
        if value is None or value == "":
            if required:
                self.add(field, "is required; give it as text")
        elif not isinstance(value, str):
            self.add(field, "must be text; convert it with str()")
        elif at_most is not None and len(value) > at_most:
            self.add(field, f"must have at most {at_most} characters; shorten it")
        elif not is_sendable(value):
            self.add(field, "has half a character (a lone surrogate), which cannot be sent; replace it")
        else:
            return value
        return None

    def matching(self, field: str, value: object, form: re.Pattern[str], advice: str) -> None:
        """Check that a given text has this form."""
        text = self.text(field, value)
        if text is not None and not form.fullmatch(text):
            self.add(field, advice)

    def choice(self, field: str, value: object, choices: Iterable[str], *, required: bool = False) -> None:
        """Check that a text is one of a list."""
        words = tuple(choices)
        given = value is not None and value != ""
        if value not in words if given else required:
            self.add(field, f"must be one of {', '.join(words)}")

    def flag(self, field: str, value: object) -> None:
        """Check that a value is a boolean."""
        if value is not None and not isinstance(value, bool):
            self.add(field, "must be True or False")

    def currency(self, field: str, value: object) -> None:
        """Check a currency (EP1-14, EP2-05): an active code of ISO 4217."""
        code = self.text(field, value)
        if code is not None and not is_currency(code):
            self.add(field, "must be an active ISO 4217 code of three capital letters, such as USD")

    def amount(self, field: str, value: object) -> Decimal | None:
        """Return an amount of money (EP1-15, EP2-04) that can be sent, whatever its currency."""
        if value is None:
            return None
        if not isinstance(value, Decimal):
            self.add(field, 'must be a Decimal, such as Decimal("9.99"), never a float')
        elif value == 0:
            self.add(field, "is zero: there is nothing to pay; grant the goods without a checkout")
        elif not _is_positive_money(value):
            self.add(field, f"must be a positive amount of money, at most {AMOUNT_MAX:f}")
        else:
            return value
        return None

    def identifiers(self, field: str, value: object) -> None:
        """Check an array of identifiers (EP1-17, EP2-11)."""
        if value is None:
            return
        if isinstance(value, str) or not isinstance(value, Sequence):
            self.add(field, "must be a list of product identifiers")
            return
        for index, identifier in enumerate(value):
            self.text(f"{field}.{index}", identifier, required=True)

    def attributes(self, field: str, value: object) -> None:
        """Check string-valued attributes (EP1-22, EP2-08): texts for keys and values."""
        if value is not None and not isinstance(value, Mapping):
            self.add(field, "must be a mapping of text to text")
            return
        for key, text in (value or {}).items():
            if self.text(field, key) is None and key != "":
                continue
            if text is None:
                self.add(f"{field}.{key}", "must be text; leave out what has no value")
            self.text(f"{field}.{key}", text)

    def web_address(self, field: str, value: object) -> None:
        """Check an address for the customer's browser (EP1-13, EP2-09, EP2-10)."""
        address = self.text(field, value, at_most=ADDRESS_MAX)
        parts = split(address)
        if address is not None and (parts is None or parts.scheme not in {"https", "http"}):
            self.add(field, "must be a complete web address, such as https://shop.example/paid")

    def ip(self, field: str, value: object) -> None:
        """Check an IP address (EP1-08, EP2-13)."""
        text = self.text(field, value)
        try:
            ipaddress.ip_address(text or "::")
        except ValueError:
            self.add(field, "must be an IP address")

    def order_locale(self, field: str, value: object) -> None:
        """Check the locale of an order's customer (EP2-13)."""
        self.matching(
            field, value, _LOCALE, "must be a language and a region, such as de-DE, or a language, such as de"
        )

    def token_locale(self, field: str, value: object) -> None:
        """Check the locale of a token's customer (EP1-09): Accept-Language as in RFC 7231, section 5.3.5."""
        self.matching(
            field, value, _ACCEPT_LANGUAGE, "must be as in Accept-Language, such as de-DE or de-DE,en;q=0.8"
        )
        if isinstance(value, str) and 0 < len(value) < TOKEN_LOCALE_MIN:
            self.add(field, f"must have at least {TOKEN_LOCALE_MIN} characters, such as de-DE")

    def postal_address(self, field: str, value: object) -> None:
        """Check an address of a customer (EP1-10, EP2-13)."""
        address = self.members(field, value)
        for name in ("city", "postal_code"):
            self.text(f"{field}.{name}", address.get(name))
        advice = "must be an ISO 3166-1 code of two capital letters, such as DE"
        self.matching(f"{field}.country", address.get("country"), _COUNTRY, advice)
        advice = "must be an ISO 3166-2 code, such as US-CA or CA"
        self.matching(f"{field}.state", address.get("state"), _STATE, advice)


def is_sendable(text: str) -> bool:
    """Return whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_positive_money(amount: Decimal) -> bool:
    try:
        return 0 < (parse_money(amount) or 0) <= AMOUNT_MAX
    except ValueError:
        return False
