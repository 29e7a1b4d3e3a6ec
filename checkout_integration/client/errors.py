"""All failures of calls of the service, as one family of exceptions.

Messages say what happened and what to do. They never contain a secret, a query string or a body. The exceptions
are raised without the HTTP library's own errors as a cause, since those contain the whole request.
"""

from __future__ import annotations

from checkout_integration.protocol.endpoints import Endpoint
from checkout_integration.protocol.errors import ErrorObject


class CheckoutError(Exception):
    """A call of the service did not succeed.

    Attributes:
        retry_is_safe: whether sending the same request again can help and cannot do anything twice.
        outcome_unknown: whether an order may have been created without a response that says so. Such a request
            must not be sent again: the service has no idempotency key.

    """

    def __init__(self, message: str, *, retry_is_safe: bool = False, outcome_unknown: bool = False) -> None:
        super().__init__(message)
        self.retry_is_safe = retry_is_safe
        self.outcome_unknown = outcome_unknown


class InsecureAddress(CheckoutError):
    """An address is not HTTPS, or not a plain address: nothing was sent (AUT-01)."""


class ServiceUnreachable(CheckoutError):
    """No connection, or it broke before the response was complete."""


class DeadlineExceeded(CheckoutError):
    """The total deadline passed before the response was complete."""


class ResponseUnreadable(CheckoutError):
    """The response is not one of the specification's: too large, cut short, not JSON, incomplete."""


class ListingUnstable(CheckoutError):
    """A list that cannot be read: it has the same rows at every position, or pages of one row whatever the limit."""


class ErrorResponse(CheckoutError):
    """The service responded with a status other than success, ``status``, and the error object ``error``.

    The service's ``message`` and ``details`` are in ``error`` only: they may repeat what the customer has entered. ``advice``
    is a phrase that says what to do, without any of it.
    """

    advice = "see the status and the error of the service"

    def __init__(
        self,
        endpoint: Endpoint,
        status: int,
        error: ErrorObject,
        *,
        retry_is_safe: bool = False,
        outcome_unknown: bool = False,
    ) -> None:
        super().__init__(
            f"{endpoint.method} {endpoint.path} answered {status} ({error.code or 'no code'}); {self.advice}",
            retry_is_safe=retry_is_safe,
            outcome_unknown=outcome_unknown,
        )
        self.status = status
        self.error = error


class RedirectRefused(ErrorResponse):
    """3xx: following it could hand the secret to another host."""

    advice = "redirects are not followed; correct the configured address"


class BadRequest(ErrorResponse):
    """400: invalid request data (HTT-05)."""

    advice = "correct the request"


class BadCredentials(ErrorResponse):
    """401: no valid credentials (HTT-06, AUT-05), or 400 with one of the codes that mean the same."""

    advice = "check the project identifier and its secret key"


class UnknownProject(BadCredentials):
    """A 4xx with one of the codes that mean that the service does not know the project."""

    advice = "correct the project identifier"


class LiveModeInactive(ErrorResponse):
    """402: live mode, but the account is not yet activated for it (HTT-07)."""

    advice = "have the account activated for live payments, or use the test mode"


class Forbidden(ErrorResponse):
    """403: not authorized to access the item (HTT-08)."""

    advice = "use the project that owns the item"


class NotFound(ErrorResponse):
    """404: the item does not exist (HTT-09)."""

    advice = "check the identifiers and the configured address"


class FormatNotSupported(ErrorResponse):
    """406: the request format is not supported (HTT-10)."""

    advice = "the service wants JSON; check what stands between it and this client"


class Conflict(ErrorResponse):
    """409: the data conflicts with existing data (HTT-11)."""

    advice = "look up what exists before trying again"


class Unprocessable(ErrorResponse):
    """422: often a required parameter is missing (HTT-12)."""

    advice = "add what is missing"


class TooManyRequests(ErrorResponse):
    """429: too many requests in a row (HTT-13); how many are too many is not shown (LIM-03)."""

    advice = "call again later and less often"


class ServiceFailed(ErrorResponse):
    """5xx: a failure on the service's side (HTT-14)."""

    advice = "wait for the service to recover"


class InternalError(ServiceFailed):
    """500."""


class ListFailed(InternalError):
    """500 of a list: deployed services also send it for an unknown project, instead of a 401 (AUT-05)."""

    advice = "correct the project identifier if it is wrong, else wait for the service to recover"


class BadGateway(ServiceFailed):
    """502."""


class ServiceUnavailable(ServiceFailed):
    """503."""


class GatewayTimeout(ServiceFailed):
    """504."""
