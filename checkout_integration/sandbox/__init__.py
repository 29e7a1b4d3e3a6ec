"""A stand-in for the hosted checkout service: a second, independent reading of the specification.

It imports nothing of ours but the vocabulary, and neither Django nor Celery. Its rooms, high to low; each imports only
what the `__init__` of a lower one names:

- `scenarios`: stories of the service, played to a shop's receiver
- `server`: the WSGI application, its guards, the command line
- `operator`, `control`, `form`: the operator's pages, the JSON control API, the hosted form
- `pages`: templates, style, script
- `sandbox`: all parts put together
- `api`, `payments`: tokens, orders and lists; what happens to an order after its creation
- `notify`: notifications with retries, user.validate, testing cases
- `faults`: what goes wrong on demand
- `store`: the SQLite database
- `orders`: an order as a value, and its documents
- `merchant`: projects, products, currencies
- `wire`: HTTP, JSON, fields, errors, signatures
- `clock`, `profile`: virtual time; by the letter of the specification, or like deployed services
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checkout_integration.sandbox.clock import VirtualClock
    from checkout_integration.sandbox.faults import Fault, FaultKind, FaultPoint
    from checkout_integration.sandbox.merchant import Product, SandboxProject
    from checkout_integration.sandbox.orders import Card, CryptoCurrency, PaymentMethod, Wallet
    from checkout_integration.sandbox.payments import Outcome, PaymentDetails
    from checkout_integration.sandbox.sandbox import Sandbox
    from checkout_integration.sandbox.server import SandboxServer
    from checkout_integration.sandbox.wire import RefusedError

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
    "Card": "orders",
    "CryptoCurrency": "orders",
    "Fault": "faults",
    "FaultKind": "faults",
    "FaultPoint": "faults",
    "Outcome": "payments",
    "PaymentDetails": "payments",
    "PaymentMethod": "orders",
    "Product": "merchant",
    "RefusedError": "wire",
    "Sandbox": "sandbox",
    "SandboxProject": "merchant",
    "SandboxServer": "server",
    "VirtualClock": "clock",
    "Wallet": "orders",
}


def __getattr__(name: str) -> Any:
    """Import a public name on its first use.

    Not sooner: `python -m` imports this package first, and must still be able to say that the extra is not installed.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
