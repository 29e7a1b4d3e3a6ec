"""Which addresses are called, linked or framed: HTTPS, and plain HTTP to this very machine where a setting allows it."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

_NEVER: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
"""Browsers and parsers drop some of these and read the rest as something else."""


def is_secure(address: object, *, loopback: bool) -> bool:
    """Whether the address is absolute and HTTPS (AUT-01), or plain HTTP to a loopback host where ``loopback`` allows it.

    Never ``javascript:``, never with a user name or password, never with characters that are read in two ways.
    """
    parts = split(address)
    if parts is None:
        return False
    return parts.scheme == "https" or (
        loopback and parts.scheme == "http" and _is_loopback(parts.hostname or "")
    )


def split(address: object) -> SplitResult | None:
    """The parts of an address that everyone reads in the same way, None for any other."""
    if not isinstance(address, str) or _NEVER.search(address):
        return None
    try:
        parts = urlsplit(address)
        readable = (
            bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
        )  # the port is read late
    except ValueError:
        return None
    return parts if readable else None


def _is_loopback(host: str) -> bool:
    # RFC 6761: localhost and every name below it lead to this machine.
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
