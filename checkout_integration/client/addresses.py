"""Which addresses may be called."""

from __future__ import annotations

from checkout_integration.client.errors import InsecureAddress
from checkout_integration.protocol.address import is_secure, split


def require_secure(address: str, name: str, *, allow_http_loopback: bool) -> str:
    """Return the address without a slash at its end. Raises InsecureAddress, naming ``name``, for all others (AUT-01).

    Refused are also queries and fragments: a path is appended to the address.
    """
    parts = split(address)
    if parts is None or parts.query or parts.fragment:
        raise InsecureAddress(f"{name} is not an address such as https://service.example")
    if not is_secure(address, loopback=allow_http_loopback):
        raise InsecureAddress(f"{name} must start with https://, since plain HTTP would show the secret key")
    return address.rstrip("/")
