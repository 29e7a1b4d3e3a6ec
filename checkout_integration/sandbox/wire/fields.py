"""The reader of a request body's fields; it collects all problems and reports them at once."""

from __future__ import annotations

import re
from collections.abc import Collection
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

    def nested(self, name: str) -> Fields | None:
        """Return an object field for reading, None when it is absent."""
        value = self._document.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.wrong(name, "must be an object")
            return None
        return Fields(value, f"{self._prefix}{name}.", self.problems)

    def text(self, name: str, *, longest: int = FIELD_LIMIT, shortest: int = 0) -> str | None:
        """Return a string field within its length."""
        value = self._document.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self.wrong(name, "must be a string")
            return None
        if not shortest <= len(value) <= longest:
            self.wrong(name, f"must have {shortest} to {longest} characters")
            return None
        return value

    def choice(self, name: str, values: Collection[str]) -> str | None:
        """Return a string field that has one of the given values."""
        value = self.text(name)
        if value is not None and value not in values:
            self.wrong(name, f"must be one of {', '.join(values)}")
            return None
        return value

    def matching(self, name: str, form: re.Pattern[str], meaning: str, *, shortest: int = 0) -> str | None:
        """Return a string field that matches the whole pattern."""
        value = self.text(name, shortest=shortest)
        if value is not None and not form.fullmatch(value):
            self.wrong(name, f"must be {meaning}")
            return None
        return value

    def boolean(self, name: str) -> bool | None:
        """Return a boolean field."""
        value = self._document.get(name)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, "must be true or false")
            return None
        return value

    def amount(self, name: str) -> Decimal | None:
        """Return a positive number; text is refused, even if it is numeric."""
        value = self._document.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            self.wrong(name, "must be a number")
            return None
        number = Decimal(value)
        if not 0 < number <= _LARGEST_AMOUNT:
            self.wrong(name, f"must be positive, {_LARGEST_AMOUNT} at most")
            return None
        return number

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return an array of non-empty strings."""
        value = self._document.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(
            isinstance(text, str) and 0 < len(text) <= FIELD_LIMIT for text in value
        ):
            self.wrong(name, f"must be an array of strings of 1 to {FIELD_LIMIT} characters")
            return None
        return tuple(value)

    def attributes(self, name: str) -> dict[str, str] | None:
        """Return an object of string values, keys and values of at most 255 characters."""
        value = self._document.get(name)
        if value is None:
            return None
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            self.wrong(name, "must be an object of string values")
            return None
        if any(len(text) > FIELD_LIMIT for pair in value.items() for text in pair):
            self.wrong(name, f"keys and values must have at most {FIELD_LIMIT} characters")
            return None
        return value

    def url(self, name: str) -> str | None:
        """Return an http(s) address."""
        value = self.text(name, longest=2048)
        if value is None:
            return None
        if not is_web_address(value):
            self.wrong(name, "must be an http or https URL")
            return None
        return value

    def ip(self, name: str) -> str | None:
        """Return an IP address."""
        value = self.text(name)
        if value is not None and not is_ip_address(value):
            self.wrong(name, "must be an IP address")
            return None
        return value

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
