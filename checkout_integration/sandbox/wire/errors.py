"""The error by which a request to the sandbox is refused, and the codes of each case (HTT-01, ERR-01).

The specification lists no codes (HTT-16). The first part of the cases is what deployed services send; the second part is the
sandbox's own. Codes of the control API begin with `sb` and stand where they are raised.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from checkout_integration.protocol.vocabulary import ORDER_PATH


class Case(Enum):
    """A reason to refuse; the same case can have another code at the checkout API than at the service API.

    Attributes:
        words: the reason.
        codes: that of the service API, and that of the checkout API.
    """

    # HTT-16: deployed services
    UNKNOWN_PROJECT = "unknown project", "fm000002"
    SIGNATURE_MISSING = "signature missing", "ma000022", "co000005"
    WRONG_SECRET = "wrong secret", "fm000048"
    BAD_TOKEN = "bad token", "tk000003"
    INVALID_DATA = "invalid data", "ma000002", "co000002"
    NOT_JSON = "not JSON", "ma000023", "co000006"
    RETURN_ADDRESSES = "return addresses not allowed", "fm000014"
    FORM_EXPIRED = "form expired", "fm000023"
    # the sandbox's own
    ORDER_NOT_FOUND = "order not found", "fm000004"
    ENCODING = "unknown encoding", "fm000005"
    TOO_LARGE = "too large", "fm000006"
    BOTH_CURSORS = "both cursors", "fm000012"
    FOREIGN_ORDER = "another merchant's order", "fm000013"
    NOT_IN_THIS_STATUS = "not in this status", "fm000020"
    NOTHING_TO_RESEND = "nothing to send again", "fm000021"
    NOT_ACTIVATED = "not activated", "co000007"
    SUSPENDED = "suspended", "co000008"
    NO_REFUND = "method allows no refund", "fm000025"

    def __init__(self, words: str, service_api: str, checkout_api: str = "") -> None:
        self.words = words
        self.codes = (service_api, checkout_api or service_api)


FORGOTTEN: Final = "a sandbox without --state forgets its orders when it ends"
"""Why an order that a shop knows may be unknown here."""
WITHOUT_DETAILS: Final = {
    Case.UNKNOWN_PROJECT,
    Case.SIGNATURE_MISSING,
    Case.WRONG_SECRET,
    Case.BAD_TOKEN,
}
"""Cases for which deployed services send no `details` (ERR-03)."""


def code_of(case: Case | str, path: str) -> str:
    """Return the code of a case in a response of that path; anything else is a code already."""
    return case.codes[path == ORDER_PATH] if isinstance(case, Case) else case


class RefusedError(Exception):
    """A refused request.

    Attributes:
        status: HTTP status of the response.
        code: a case, or a code: two letters and six digits; "" leaves code and details out.
        message: short description.
        details: what exactly was wrong, "" when there is nothing to add.
    """

    def __init__(self, status: int, code: Case | str, message: str, details: str = "") -> None:
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


def invalid(details: str, status: int = 400) -> RefusedError:
    """Return the refusal of a request whose data breaks a rule (HTT-05)."""
    return RefusedError(status, Case.INVALID_DATA, "invalid request data", details)
