"""Addresses: web addresses, the loopback, and the host names of the sandbox."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

_HOST: Final = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s/\\@:?#\[\]]+))(?::[0-9]*)?")
_EVERY_ADDRESS: Final = {"", "0.0.0.0", "::"}  # noqa: S104 -- compared with, not listened on
_LABEL: Final = r"[0-9a-z_]([0-9a-z_-]*[0-9a-z_])?"
_WEB_ADDRESS: Final = re.compile(
    rf"https?://(?P<host>{_LABEL}(\.{_LABEL})*\.?|\[[0-9a-f.]*:[0-9a-f:.]+\])(:(?P<port>[0-9]{{0,5}}))?"
    r"([/?#][^\x00-\x20\x7f-\xa0\\\u2028\u2029]*)?",
    re.ASCII | re.IGNORECASE,
)
_ENDS_IN_A_NUMBER: Final = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)\.?", re.ASCII | re.IGNORECASE)
_LAST_PORT: Final = 65_535


def is_web_address(text: str) -> bool:
    """Return whether the text is an http(s) address; the form links to it, so `javascript:` and others must never pass."""
    parts = _WEB_ADDRESS.fullmatch(text)
    if parts is None or (parts["port"] and not 0 < int(parts["port"]) <= _LAST_PORT):
        return False
    host = parts["host"].strip("[]")
    return not (":" in host or _ENDS_IN_A_NUMBER.fullmatch(host)) or is_ip_address(host)


def is_ip_address(text: str) -> bool:
    """Return whether the text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(url: str) -> bool:
    """Return whether the URL is http(s) and its host is this machine itself."""
    parts = urlsplit(url)
    return (
        parts.scheme in {"http", "https"}
        and _has_port_or_none(url)
        and _is_this_machine(parts.hostname or "")
    )


def _has_port_or_none(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:  # beyond 65535
        return False


class OwnHosts:
    """The allowed Host headers: a foreign name that points at the sandbox is refused (DNS rebinding)."""

    def __init__(self) -> None:
        """Start with the loopback names alone."""
        self._names: set[str] = set()
        self._any_number = False

    def add(self, host: str) -> None:
        """Allow this host name too; for the address of all interfaces, such as 0.0.0.0, allow every IP address."""
        if host in _EVERY_ADDRESS:
            # Safe: a page at an IP address has that address as its origin; only names can be pointed elsewhere.
            self._any_number = True
        else:
            self._names.add(_normal(host.strip("[]")))

    def answers_to(self, header: str) -> bool:
        """Return whether a Host header, with or without a port, names this sandbox."""
        name = host_name(header)
        return name in self._names or _is_this_machine(name) or (self._any_number and is_ip_address(name))


def host_name(header: str) -> str:
    """Return the name in a Host header without its port, "" if it is no host."""
    match = _HOST.fullmatch(header)
    return _normal(match[1] or match[2]) if match else ""


def _normal(host: str) -> str:
    name = host.lower().removesuffix(".")
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def _is_this_machine(name: str) -> bool:
    # RFC 6761: localhost and every name below it lead to this machine.
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return is_ip_address(name) and ipaddress.ip_address(name).is_loopback
