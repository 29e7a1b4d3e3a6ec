"""Every exception that a call of this app may raise on purpose.

::

    CheckoutError                    a call of the service did not succeed
     ├─ InsecureAddress              not HTTPS, nothing was sent
     ├─ ServiceUnreachable           no connection, or it broke
     ├─ DeadlineExceeded             TIMEOUT passed
     ├─ ResponseUnreadable           a response, but not one of the specification's
     ├─ ListingUnstable              a list without an end, or of one row per page
     ├─ NotCreated                   the same request came before, and its checkout has no form
     ├─ CustomerBlocked              staff have blocked the customer, nothing was sent
     ├─ NotRecorded                  the service created the order, the database did not record it
     └─ ErrorResponse                a status other than success: ``status``, ``error``
         ├─ RedirectRefused          3xx
         ├─ BadRequest               400
         ├─ BadCredentials           401
         │   └─ UnknownProject       the service does not know the project
         ├─ LiveModeInactive         402
         ├─ Forbidden                403
         ├─ NotFound                 404
         ├─ FormatNotSupported       406
         ├─ Conflict                 409
         ├─ Unprocessable            422
         ├─ TooManyRequests          429
         └─ ServiceFailed            5xx
             ├─ InternalError        500
             │   └─ ListFailed       500 of a list: perhaps an unknown project
             ├─ BadGateway           502
             ├─ ServiceUnavailable   503
             └─ GatewayTimeout       504
    ValueError
     ├─ CreationError                the checkout breaks a rule: ``problems``
     ├─ NotApplicable                a notification that cannot be applied
     └─ TooManyRows                  a period has too many different sums
    RuntimeError
     ├─ LaneTaken                    another pass reads this lane of the list
     └─ TransactionOpen              create_checkout was called inside a transaction
    LookupError
     ├─ KeyError
     │   ├─ UnknownAlias             the settings have no such project
     │   └─ UnknownLane              the sync has no such lane
     └─ UnknownReceiver              no receiver of this name is connected

Each CheckoutError says ``retry_is_safe``, and ``outcome_unknown`` where an order may exist without a response that says so.
"""

from __future__ import annotations

from checkout_integration.client.errors import (
    BadCredentials,
    BadGateway,
    BadRequest,
    CheckoutError,
    Conflict,
    DeadlineExceeded,
    ErrorResponse,
    Forbidden,
    FormatNotSupported,
    GatewayTimeout,
    InsecureAddress,
    InternalError,
    ListFailed,
    ListingUnstable,
    LiveModeInactive,
    NotFound,
    RedirectRefused,
    ResponseUnreadable,
    ServiceFailed,
    ServiceUnavailable,
    ServiceUnreachable,
    TooManyRequests,
    UnknownProject,
    Unprocessable,
)
from checkout_integration.conf import UnknownAlias
from checkout_integration.flows import CustomerBlocked, NotCreated, NotRecorded, TransactionOpen
from checkout_integration.flows.accounting import TooManyRows
from checkout_integration.flows.operations import NotApplicable
from checkout_integration.flows.outbox import UnknownReceiver
from checkout_integration.flows.sync import LaneTaken, UnknownLane
from checkout_integration.protocol.creation_values import CreationError

__all__ = [
    "BadCredentials",
    "BadGateway",
    "BadRequest",
    "CheckoutError",
    "Conflict",
    "CreationError",
    "CustomerBlocked",
    "DeadlineExceeded",
    "ErrorResponse",
    "Forbidden",
    "FormatNotSupported",
    "GatewayTimeout",
    "InsecureAddress",
    "InternalError",
    "LaneTaken",
    "ListFailed",
    "ListingUnstable",
    "LiveModeInactive",
    "NotApplicable",
    "NotCreated",
    "NotFound",
    "NotRecorded",
    "RedirectRefused",
    "ResponseUnreadable",
    "ServiceFailed",
    "ServiceUnavailable",
    "ServiceUnreachable",
    "TooManyRequests",
    "TooManyRows",
    "TransactionOpen",
    "UnknownAlias",
    "UnknownLane",
    "UnknownProject",
    "UnknownReceiver",
    "Unprocessable",
]
