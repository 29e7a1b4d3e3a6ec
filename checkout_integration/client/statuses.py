"""What the HTTP status of a response means (HTT-01 to HTT-16): success, or one of the exceptions of `errors`."""

from __future__ import annotations

from collections.abc import Container

from checkout_integration.client import errors
from checkout_integration.client.errors import ErrorResponse
from checkout_integration.protocol.endpoints import Endpoint
from checkout_integration.protocol.errors import PROJECT_CODES, ErrorObject


def is_success(status: int) -> bool:
    """Return whether a response is a success: 200, 201 and 202 alike (SVC-06, HTT-02 to HTT-04)."""
    return status // 100 == 2


# Any operation may respond with any of these; a status means the same where it is not documented (HTT-15).
_BY_STATUS: dict[int, type[ErrorResponse]] = {
    400: errors.BadRequest,
    401: errors.BadCredentials,
    402: errors.LiveModeInactive,
    403: errors.Forbidden,
    404: errors.NotFound,
    406: errors.FormatNotSupported,
    409: errors.Conflict,
    422: errors.Unprocessable,
    429: errors.TooManyRequests,
    500: errors.InternalError,
    502: errors.BadGateway,
    503: errors.ServiceUnavailable,
    504: errors.GatewayTimeout,
}
_BY_CENTURY: dict[int, type[ErrorResponse]] = {3: errors.RedirectRefused, 5: errors.ServiceFailed}


def error_of(endpoint: Endpoint, status: int, error: ErrorObject, codes: Container[str]) -> ErrorResponse:
    """Return the exception for a response that is not a success; ``codes`` are those of bad credentials."""
    kind = _BY_STATUS.get(status) or _BY_CENTURY.get(status // 100, ErrorResponse)
    if status // 100 == 4 and error.code in PROJECT_CODES:
        kind = errors.UnknownProject
    elif status == 400 and error.code in codes:
        kind = errors.BadCredentials
    elif status == 500 and endpoint.auth == "basic":
        kind = errors.ListFailed
    # A 4xx says that nothing was done. After anything else an order may exist.
    unknown = not endpoint.repeatable and status // 100 != 4
    again = status == 429 or (status // 100 == 5 and endpoint.repeatable)
    return kind(endpoint, status, error, retry_is_safe=again, outcome_unknown=unknown)
