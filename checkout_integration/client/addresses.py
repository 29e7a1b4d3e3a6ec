"""Which addresses may be called: HTTPS, and plain HTTP to this very machine where a setting allows it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from checkout_integration.client.errors import InsecureAddress


def require_secure(address: str, name: str, *, allow_http_loopback: bool) -> str:
    """The address without a slash at its end. Raises InsecureAddress, naming ``name``, for all others (AUT-01).

    Refused are also user names and passwords, queries and fragments: a path is appended to the address.
    """
    try:
        parts = urlsplit(address)
        port_is_readable = parts.port is None or parts.port > 0
    except ValueError:
        port_is_readable = False
    if not port_is_readable or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        raise InsecureAddress(f"{name} is not an address such as https://service.example")
    if not is_secure(address, allow_http_loopback=allow_http_loopback):
        raise InsecureAddress(f"{name} must start with https://, since plain HTTP would show the secret key")
    return address.rstrip("/")


def is_secure(address: str, *, allow_http_loopback: bool) -> bool:
    """Whether the address is HTTPS, or plain HTTP to a loopback host where that is allowed."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    return parts.scheme == "http" and allow_http_loopback and _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    # RFC 6761: localhost and every name below it lead to this machine.
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
