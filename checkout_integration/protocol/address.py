"""Which addresses are called, linked or framed: HTTPS, and plain HTTP to this very machine where a setting allows it."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

_NEVER: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
"""Browsers and parsers drop some of these and read the rest as something else."""
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
"""A name in ASCII: browsers decode percent signs in a host and turn other letters into these."""
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


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
        plain = parts.port != 0 and "@" not in parts.netloc  # the port is read late
    except ValueError:
        return None
    return parts if plain and _is_one_host(parts.hostname or "") else None


def _is_one_host(host: str) -> bool:
    """Whether it is a name, or an IP address in its usual form: browsers read 0x7f.1 as one too."""
    numeric = bool(_NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]))
    if _NAME.fullmatch(host) and not numeric:
        return True
    try:
        return ipaddress.ip_address(host) is not None and "%" not in host
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    # RFC 6761: localhost and every name below it lead to this machine.
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
