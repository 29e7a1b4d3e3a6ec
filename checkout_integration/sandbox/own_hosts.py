"""The host names that the sandbox answers to: this machine's own, and those that it was started for."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

_HOST: Final = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s/\\@:?#\[\]]+))(?::[0-9]*)?")
_EVERY_ADDRESS: Final = {"", "0.0.0.0", "::"}  # noqa: S104 -- compared with, not listened on


class OwnHosts:
    """Compares Host headers, so that no foreign name can be pointed at the sandbox (DNS rebinding)."""

    def __init__(self) -> None:
        """Start with the loopback names alone."""
        self._names: set[str] = set()
        self._any_number = False

    def add(self, host: str) -> None:
        """Answer to this host name too; to every IP address where it is the name of them all, such as 0.0.0.0."""
        if host in _EVERY_ADDRESS:
            # WHY safe: a page at an IP address has that very origin; only names can be pointed elsewhere.
            self._any_number = True
        else:
            self._names.add(_normal(host.strip("[]")))

    def answers_to(self, header: str) -> bool:
        """Whether a Host header, with or without a port, names this sandbox."""
        name = host_name(header)
        return name in self._names or _is_this_machine(name) or (self._any_number and _is_number(name))


def host_name(header: str) -> str:
    """Return the name in a Host header, without its port; "" where it is no host."""
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
    return _is_number(name) and ipaddress.ip_address(name).is_loopback


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
