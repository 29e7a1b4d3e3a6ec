"""Which addresses are called, linked or framed: HTTPS, and plain HTTP where a setting allows it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from typing import Final
from urllib.parse import SplitResult, urlsplit

_NEVER: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
"""Browsers and parsers drop some of these and read the rest as something else."""
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
"""A name in ASCII: browsers decode percent signs in a host and turn other letters into these."""
_BRACKETS: Final = re.compile(r"[^\[\]]*|\[[^\[\]]+\](:[0-9]*)?")
"""None, or around the whole host: parsers take what stands in them for the host, wherever they are."""
_NO_HOST: Final = "its host is neither a name in ASCII nor an IP address in its usual form"
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


def is_secure(address: object, *, loopback: bool, hosts: Collection[str] = ()) -> bool:
    """Return whether the address is absolute and HTTPS (AUT-01), or HTTP to ``hosts`` or, with ``loopback``, to this machine.

    Never ``javascript:``, never with a user name or password, never with characters that are read in two ways.
    """
    return not https_problem(address, loopback=loopback, hosts=hosts)


def https_problem(address: object, *, loopback: bool, hosts: Collection[str] = ()) -> str:
    """Return why `is_secure` refuses an address, without showing any of it; "" for a secure one."""
    parts = split(address)
    if parts is None:
        return flaw(address)
    host = parts.hostname or ""
    allowed = parts.scheme == "http" and (host in hosts or (loopback and _is_loopback(host)))
    return "" if allowed or parts.scheme == "https" else "it does not begin with https://"


def split(address: object) -> SplitResult | None:
    """Return the parts of an address that all software reads in the same way, None for any other."""
    return None if flaw(address) else urlsplit(str(address))


def flaw(address: object) -> str:
    """Return why software reads an address in different ways, without showing any of it; "" for a clear one."""
    if not isinstance(address, str):
        return "it is not text"
    if not address:
        return "it is empty"
    if _NEVER.search(address):
        return "it has a blank, a backslash or a control character"
    try:
        return _flaw_of(urlsplit(address))
    except ValueError:
        return _NO_HOST


def _flaw_of(parts: SplitResult) -> str:
    if "@" in parts.netloc:
        return "it has a user name or a password"
    if not parts.netloc:
        return "it does not begin with https:// and the name of a host"
    if not _BRACKETS.fullmatch(parts.netloc) or not _is_one_host(parts.hostname or ""):
        return _NO_HOST
    return "" if _has_port_or_none(parts) else "its port is not a number from 1 to 65535"


def _has_port_or_none(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:  # the port is read late
        return False


def _is_one_host(host: str) -> bool:
    """Return whether it is a name, or an IP address in its usual form. Browsers accept other forms too, such as 0x7f.1."""
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
