"""Speaks the protocol to the service over HTTPS: no Django, no database, no rules about checkouts."""

from __future__ import annotations

from checkout_integration.client.client import Client
from checkout_integration.client.config import ClientConfig
from checkout_integration.protocol.listing import CursorPage

__all__ = ["Client", "ClientConfig", "CursorPage"]
