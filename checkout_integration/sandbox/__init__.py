"""A stand-in for the hosted checkout service: a second, independent reading of the specification.

It imports nothing of ours but the vocabulary, and neither Django nor Celery. Its rooms, high to low; each imports only
modules that the `__init__` of a lower one names:

- `scenarios`: stories of the service, played to a shop's receiver
- `server`: the WSGI application, its guards, the command line
- `control`, `form`: the JSON control API, the hosted form
- `pages`: templates, style, scripts, the operator's page over the control API
- `sandbox`: all parts put together
- `api`, `payments`: tokens, orders and lists; what happens to an order after its creation
- `notify`: notifications with retries, user.validate, testing cases
- `faults`: what goes wrong on demand
- `store`: the SQLite database
- `orders`: an order as a value, and its documents
- `merchant`: projects, products, currencies
- `wire`: HTTP, JSON, fields, errors, signatures
- `clock`, `profile`: virtual time; by the letter of the specification, or as in the field
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checkout_integration.sandbox.clock import VirtualClock
    from checkout_integration.sandbox.faults.catalogue import FaultKind, FaultPoint
    from checkout_integration.sandbox.faults.switchboard import Fault
    from checkout_integration.sandbox.merchant.catalogue import Product
    from checkout_integration.sandbox.merchant.project import SandboxProject
    from checkout_integration.sandbox.orders.payment_methods import (
        Card,
        CryptoCurrency,
        PaymentMethod,
        Wallet,
    )
    from checkout_integration.sandbox.payments.payments import Outcome, PaymentDetails
    from checkout_integration.sandbox.sandbox import Sandbox
    from checkout_integration.sandbox.server.server import SandboxServer
    from checkout_integration.sandbox.wire.errors import RefusedError

__all__ = [
    "Card",
    "CryptoCurrency",
    "Fault",
    "FaultKind",
    "FaultPoint",
    "Outcome",
    "PaymentDetails",
    "PaymentMethod",
    "Product",
    "RefusedError",
    "Sandbox",
    "SandboxProject",
    "SandboxServer",
    "VirtualClock",
    "Wallet",
]
_HOMES: Final = {
    "Card": "orders.payment_methods",
    "CryptoCurrency": "orders.payment_methods",
    "Fault": "faults.switchboard",
    "FaultKind": "faults.catalogue",
    "FaultPoint": "faults.catalogue",
    "Outcome": "payments.payments",
    "PaymentDetails": "payments.payments",
    "PaymentMethod": "orders.payment_methods",
    "Product": "merchant.catalogue",
    "RefusedError": "wire.errors",
    "Sandbox": "sandbox",
    "SandboxProject": "merchant.project",
    "SandboxServer": "server.server",
    "VirtualClock": "clock",
    "Wallet": "orders.payment_methods",
}


def __getattr__(name: str) -> Any:
    """Import a public name on its first use.

    Not sooner: `python -m` imports this package first, and must still be able to say that the extra is not installed.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
