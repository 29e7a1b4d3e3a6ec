"""The error by which a request to the sandbox is refused, and the code of each case (HTT-01, ERR-01).

The specification lists no codes (HTT-16). The first part of the table is what deployed services send; the second part is the
sandbox's own. Codes of the control API begin with `sb` and stand where they are raised.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from checkout_integration.protocol.vocabulary import ORDER_PATH


class Case(StrEnum):
    """A reason to refuse; the same case can have another code at the checkout API than at the service API."""

    UNKNOWN_PROJECT = "unknown project"
    SIGNATURE_MISSING = "signature missing"
    WRONG_SECRET = "wrong secret"
    BAD_TOKEN = "bad token"
    INVALID_DATA = "invalid data"
    NOT_JSON = "not JSON"
    RETURN_ADDRESSES = "return addresses not allowed"
    FORM_EXPIRED = "form expired"
    ORDER_NOT_FOUND = "order not found"
    ENCODING = "unknown encoding"
    TOO_LARGE = "too large"
    BOTH_CURSORS = "both cursors"
    FOREIGN_ORDER = "another merchant's order"
    NOT_IN_THIS_STATUS = "not in this status"
    NOTHING_TO_RESEND = "nothing to send again"
    NOT_ACTIVATED = "not activated"
    SUSPENDED = "suspended"
    NO_REFUND = "method allows no refund"


CODES: Final[dict[Case, tuple[str, str]]] = {
    # HTT-16: deployed services  service API  checkout API
    Case.UNKNOWN_PROJECT: ("fm000002", "fm000002"),
    Case.SIGNATURE_MISSING: ("ma000022", "co000005"),
    Case.WRONG_SECRET: ("fm000048", "fm000048"),
    Case.BAD_TOKEN: ("tk000003", "tk000003"),
    Case.INVALID_DATA: ("ma000002", "co000002"),
    Case.NOT_JSON: ("ma000023", "co000006"),
    Case.RETURN_ADDRESSES: ("fm000014", "fm000014"),
    Case.FORM_EXPIRED: ("fm000023", "fm000023"),
    # the sandbox's own
    Case.ORDER_NOT_FOUND: ("fm000004", "fm000004"),
    Case.ENCODING: ("fm000005", "fm000005"),
    Case.TOO_LARGE: ("fm000006", "fm000006"),
    Case.BOTH_CURSORS: ("fm000012", "fm000012"),
    Case.FOREIGN_ORDER: ("fm000013", "fm000013"),
    Case.NOT_IN_THIS_STATUS: ("fm000020", "fm000020"),
    Case.NOTHING_TO_RESEND: ("fm000021", "fm000021"),
    Case.NOT_ACTIVATED: ("co000007", "co000007"),
    Case.SUSPENDED: ("co000008", "co000008"),
    Case.NO_REFUND: ("fm000025", "fm000025"),
}
FORGOTTEN: Final = "a sandbox without --state forgets its orders when it ends"
"""Why an order that a shop knows may be unknown here."""
WITHOUT_DETAILS: Final = {
    Case.UNKNOWN_PROJECT,
    Case.SIGNATURE_MISSING,
    Case.WRONG_SECRET,
    Case.BAD_TOKEN,
}
"""Cases for which deployed services send no `details` (ERR-03)."""


def code_of(case: str, path: str) -> str:
    """Return the code of a case in a response of that path; anything else is a code already."""
    if case not in CODES:
        return case
    service_api, checkout_api = CODES[Case(case)]
    return checkout_api if path == ORDER_PATH else service_api


class RefusedError(Exception):
    """A refused request.

    Attributes:
        status: HTTP status of the response.
        code: a case of the table of error codes, or a code: two letters and six digits; "" leaves code and details out.
        message: short description.
        details: what exactly was wrong, "" when there is nothing to add.
    """

    def __init__(self, status: int, code: str, message: str, details: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details

    def text(self) -> str:
        """Return its text for a page."""
        return f"{self.message} ({self.details})" if self.details else self.message

    def document(self, path: str = "", *, always_details: bool = True) -> dict[str, Any]:
        """Return the error object in the response of `path` (ERR-01 to ERR-03).

        Framework errors of deployed services have only a message; without `always_details` some others have no details.
        """
        if not self.code:
            return {"message": self.message}
        document = {"code": code_of(self.code, path), "message": self.message}
        if always_details or (self.details and self.code not in WITHOUT_DETAILS):
            document["details"] = self.details
        return document
