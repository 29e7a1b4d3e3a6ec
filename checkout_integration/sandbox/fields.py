"""Reading the fields of a request body: each wrong one is noted, and all are told at once."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Any, Final

FIELD_LIMIT: Final = 255  # field notes: description, metadata keys and values
COUNTRY: Final = re.compile(r"[A-Z]{2}")
_STATE: Final = re.compile(r"([A-Z]{2}-)?[A-Z0-9]{1,3}")
_LABEL: Final = r"[0-9a-z_]([0-9a-z_-]*[0-9a-z_])?"
_WEB_ADDRESS: Final = re.compile(
    rf"https?://(?P<host>{_LABEL}(\.{_LABEL})*\.?|\[[0-9a-f.]*:[0-9a-f:.]+\])(:(?P<port>[0-9]{{0,5}}))?"
    r"([/?#][^\x00-\x20\x7f-\xa0\\\u2028\u2029]*)?",
    re.ASCII | re.IGNORECASE,
)
_ENDS_IN_A_NUMBER: Final = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)\.?", re.ASCII | re.IGNORECASE)
_LAST_PORT: Final = 65_535
_LARGEST_AMOUNT: Final = Decimal(10) ** 12


def is_web_address(text: str) -> bool:
    """Whether the text is an http(s) address; the form links to it, so `javascript:` and the like must never pass."""
    parts = _WEB_ADDRESS.fullmatch(text)
    if parts is None or (parts["port"] and not 0 < int(parts["port"]) <= _LAST_PORT):
        return False
    host = parts["host"].strip("[]")
    return not (":" in host or _ENDS_IN_A_NUMBER.fullmatch(host)) or _is_ip(host)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class Fields:
    """A JSON object under reading; a field that is absent or null, or a text that is "", reads as None.

    Attributes:
        problems: what was wrong so far, shared with the nested objects.
    """

    def __init__(self, document: dict[str, Any], prefix: str = "", problems: list[str] | None = None) -> None:
        """Read `document`, whose fields are named after `prefix` in problems."""
        self._document = document
        self._prefix = prefix
        self.problems: list[str] = [] if problems is None else problems

    def wrong(self, name: str, reason: str) -> None:
        """Note a problem of one field."""
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
        """Return a string field that matches wholly."""
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
        """Return a positive number; a numeric text is no number."""
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
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
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
        if value is not None and not _is_ip(value):
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
