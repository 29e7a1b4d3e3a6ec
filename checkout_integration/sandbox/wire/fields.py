"""The reader of a request body's fields; it collects all problems and reports them at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any, Final

from checkout_integration.sandbox.wire.addresses import is_ip_address, is_web_address

FIELD_LIMIT: Final = 255  # LIM-03: description, metadata keys and values, as deployed services
COUNTRY: Final = re.compile(r"[A-Z]{2}")
PHONE: Final = re.compile(r"\+?[0-9][0-9 ()-]{3,30}", re.ASCII)
_STATE: Final = re.compile(r"([A-Z]{2}-)?[A-Z0-9]{1,3}")
_LARGEST_AMOUNT: Final = Decimal(10) ** 12


class Fields:
    """A JSON object; a field that is absent or null, or a text that is "", reads as None.

    Attributes:
        problems: the problems so far, shared with the nested objects.
    """

    def __init__(self, document: dict[str, Any], prefix: str = "", problems: list[str] | None = None) -> None:
        """Read `document`, whose fields are named after `prefix` in problems."""
        self._document = document
        self._prefix = prefix
        self.problems: list[str] = [] if problems is None else problems

    def wrong(self, name: str, reason: str) -> None:
        """Add a problem of one field."""
        self.problems.append(f"{self._prefix}{name}: {reason}")

    def _value(self, name: str, is_right: Callable[[Any], bool], reason: str) -> Any:
        """Return a value; None when it is absent, or wrong, which is a problem."""
        value = self._document.get(name)
        if value is None or is_right(value):
            return value
        self.wrong(name, reason)
        return None

    def _text_that(
        self, name: str, is_right: Callable[[str], object], reason: str, **limits: int
    ) -> str | None:
        """Return a string field that is right in another way too."""
        value = self.text(name, **limits)
        if value is None or is_right(value):
            return value
        self.wrong(name, reason)
        return None

    def nested(self, name: str) -> Fields | None:
        """Return an object field for reading, None when it is absent."""
        value = self._value(name, lambda value: isinstance(value, dict), "must be an object")
        return None if value is None else Fields(value, f"{self._prefix}{name}.", self.problems)

    def text(self, name: str, *, longest: int = FIELD_LIMIT, shortest: int = 0) -> str | None:
        """Return a string field within its length."""
        value: str = self._value(name, lambda value: isinstance(value, str), "must be a string") or ""
        if value and not shortest <= len(value) <= longest:
            self.wrong(name, f"must have {shortest} to {longest} characters")
            return None
        return value or None

    def choice(self, name: str, values: Collection[str]) -> str | None:
        """Return a string field that has one of the given values."""
        return self._text_that(name, values.__contains__, f"must be one of {', '.join(values)}")

    def matching(self, name: str, form: re.Pattern[str], meaning: str, *, shortest: int = 0) -> str | None:
        """Return a string field that matches the whole pattern."""
        return self._text_that(name, form.fullmatch, f"must be {meaning}", shortest=shortest)

    def boolean(self, name: str) -> bool | None:
        """Return a boolean field."""
        value: bool | None = self._value(name, lambda value: isinstance(value, bool), "must be true or false")
        return value

    def amount(self, name: str) -> Decimal | None:
        """Return a positive number; text is refused, even if it is numeric."""
        value = self._value(
            name,
            lambda value: isinstance(value, (int, Decimal)) and not isinstance(value, bool),
            "must be a number",
        )
        if value is not None and not 0 < value <= _LARGEST_AMOUNT:
            self.wrong(name, f"must be positive, {_LARGEST_AMOUNT} at most")
            return None
        return None if value is None else Decimal(value)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return an array of non-empty strings."""
        reason = f"must be an array of strings of 1 to {FIELD_LIMIT} characters"
        value = self._value(
            name, lambda value: isinstance(value, list) and all(map(_is_short, value)), reason
        )
        return None if value is None else tuple(value)

    def attributes(self, name: str) -> dict[str, str] | None:
        """Return an object of string values, keys and values of at most 255 characters."""
        value: dict[str, str] | None = self._value(name, _has_texts, "must be an object of string values")
        if value and any(len(text) > FIELD_LIMIT for pair in value.items() for text in pair):
            self.wrong(name, f"keys and values must have at most {FIELD_LIMIT} characters")
            return None
        return value

    def url(self, name: str) -> str | None:
        """Return an http(s) address."""
        return self._text_that(name, is_web_address, "must be an http or https URL", longest=2048)

    def ip(self, name: str) -> str | None:
        """Return an IP address."""
        return self._text_that(name, is_ip_address, "must be an IP address")

    def address(self, name: str) -> dict[str, str] | None:
        """Return an address object: country, city, postal_code, state (EP1-10, EP2-13)."""
        inner = self.nested(name)
        if inner is None:
            return None
        return {
            "country": inner.matching("country", COUNTRY, "an ISO 3166-1 alpha-2 code in uppercase") or "",
            "city": inner.text("city") or "",
            "postal_code": inner.text("postal_code") or "",
            "state": inner.matching("state", _STATE, "an ISO 3166-2 code") or "",
        }


def _is_short(text: Any) -> bool:
    return isinstance(text, str) and 0 < len(text) <= FIELD_LIMIT


def _has_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
