"""The WHATWG's URL cases, as they stand and as HTTPS, with what a browser makes of each."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from tests.support.corpora import url_cases


@dataclass(frozen=True, kw_only=True)
class Case:
    """An odd address, and the host that a browser opens for it: "" for none."""

    address: str
    scheme: str = ""
    host: str = ""
    credentials: bool = False

    def leads_to(self, host: str, *schemes: str) -> bool:
        """Whether a browser goes to this host by one of these schemes and with no name and password, or nowhere.

        Nowhere is where a name that only seems to be an international one leads.
        """
        if not self.scheme:
            return "xn--" in host.lower()
        return self.scheme in schemes and self.host == _as_browsers_write(host) and not self.credentials


def _as_browsers_write(host: str) -> str:
    return f"[{ipaddress.IPv6Address(host).compressed}]" if ":" in host else host


def cases() -> list[Case]:
    """Each of the 869 cases, and those of plain HTTP once more as HTTPS, which browsers read in the same way."""
    found = []
    for each in url_cases():
        case = Case(
            address=each["input"],
            scheme=each.get("protocol", "").rstrip(":"),
            host=each.get("hostname", ""),
            credentials=bool(each.get("username") or each.get("password")),
        )
        found.append(case)
        secured = re.sub(r"^http:(?=//)", "https:", case.address, flags=re.IGNORECASE)
        if secured != case.address:
            scheme = "https" if case.scheme else ""
            found.append(Case(address=secured, scheme=scheme, host=case.host, credentials=case.credentials))
    return found


LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts of the cases that are this machine."""
