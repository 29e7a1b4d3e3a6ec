"""Speaks the protocol to the service over HTTPS: no Django, no database, no rules about checkouts.

The client itself is imported when it is first used: with its HTTP library it takes a tenth of a second and some megabytes,
which a process that calls nobody does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from checkout_integration.client.config import ClientConfig
from checkout_integration.protocol.listing import CursorPage

if TYPE_CHECKING:
    from checkout_integration.client.client import Client

__all__ = ["Client", "ClientConfig", "CursorPage"]


def __getattr__(name: str) -> Any:
    """Import the client."""
    if name != "Client":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("checkout_integration.client.client").Client
