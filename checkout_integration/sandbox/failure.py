"""The one exception by which a request to the sandbox is refused, and its error object (HTT-01)."""

from __future__ import annotations

from typing import Any

from checkout_integration.sandbox.error_codes import WITHOUT_DETAILS, code_of


class RefusedError(Exception):
    """A refused request.

    Attributes:
        status: HTTP status of the answer.
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
        """Return what a page says of it."""
        return f"{self.message} ({self.details})" if self.details else self.message

    def document(self, path: str = "", *, always_details: bool = True) -> dict[str, Any]:
        """Return the error object that answers a request of `path` (ERR-01 to ERR-03).

        Framework errors of the field have only a message; without `always_details` some others have no details.
        """
        if not self.code:
            return {"message": self.message}
        document = {"code": code_of(self.code, path), "message": self.message}
        if always_details or (self.details and self.code not in WITHOUT_DETAILS):
            document["details"] = self.details
        return document
