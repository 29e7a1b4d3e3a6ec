"""The one exception by which a request to the sandbox is refused, and its error object (HTT-01)."""

from __future__ import annotations

from typing import Any


class RefusedError(Exception):
    """A refused request.

    Attributes:
        status: HTTP status of the answer.
        code: the service's code: two letters and six digits (field notes); "" leaves code and details out.
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

    def document(self) -> dict[str, Any]:
        """Return the error object; framework errors of the field have only a message."""
        if not self.code:
            return {"message": self.message}
        return {"code": self.code, "message": self.message, "details": self.details}
