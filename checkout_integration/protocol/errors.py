"""The error object of the service, parsed from the body of an error response, whatever that body is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from checkout_integration.protocol.strict_json import StrictJsonError, loads

CREDENTIAL_CODES: Final = frozenset({"ma000022", "co000005", "fm000048"})
"""Codes of the 400 that token and order creation return for a wrong or missing key, where AUT-05 says 401."""
PROJECT_CODES: Final = frozenset({"fm000001", "fm000002"})
"""Codes of an unknown project, with 400 or 404: the specification does not say what is "not found" at creation (EP1-23)."""

_LONGEST_TEXT: Final = 500
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorObject:
    """The service's error object (ERR-01 to ERR-03). "" for missing texts; one line each, bounded.

    Any text may be a code: their list is not shown (HTT-16).
    """

    code: str = ""
    message: str = field(default="", repr=False)
    details: str = field(default="", repr=False)


def parse_error(body: bytes) -> ErrorObject:
    """Return the error object in a body (HTT-01). Never raises: a body that is something else gives an empty one."""
    try:
        document = loads(body)
    except StrictJsonError:
        return ErrorObject()
    if not isinstance(document, dict):
        return ErrorObject()
    return ErrorObject(**{name: _line(document.get(name)) for name in ("code", "message", "details")})


def _line(value: Any) -> str:
    return _CONTROL.sub(" ", value[:_LONGEST_TEXT]) if isinstance(value, str) else ""
