"""Where a customer came from: the campaign that an address names, and the host of the page before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from urllib.parse import SplitResult, parse_qsl, urlsplit

LONGEST = 255
"""Characters of each part that are stored; the rest is cut off."""


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Where a customer came from, as the service's ``issuer`` names it (ORD-21); parts that are not known are "".

    Attributes:
        utm_source: who sent the customer, such as ``newsletter``.
        utm_medium: by what, such as ``email``.
        utm_campaign: for which campaign.
        referrer_host: host of the page before the shop's own.

    """

    utm_source: str = ""
    utm_medium: str = ""
    utm_campaign: str = ""
    referrer_host: str = ""

    @classmethod
    def of_visit(cls, address: str, referrer: str = "") -> Attribution:
        """Return what the address of a page of the shop says, and the host of ``referrer`` if that is another one.

        Both are what a browser sent, so that anybody can write anything there: parts that cannot be read are left out.
        """
        page, before = _split(address), _split(referrer)
        host = before.hostname or ""
        own = {name: text for name, text in _query(page).items() if name in CAMPAIGN}
        return cls(**own, referrer_host="" if host == page.hostname else _clean(host))

    @property
    def columns(self) -> Mapping[str, str]:
        """The parts by the names of their columns."""
        return {name: _clean(getattr(self, name)) for name in ATTRIBUTION}


ATTRIBUTION = tuple(each.name for each in fields(Attribution))
CAMPAIGN = frozenset(ATTRIBUTION) - {"referrer_host"}


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        parts.hostname  # noqa: B018  # reading it may raise, too
    except ValueError:
        return urlsplit("")
    return parts


def _query(page: SplitResult) -> dict[str, str]:
    try:
        return {name: _clean(text) for name, text in parse_qsl(page.query, max_num_fields=100)}
    except ValueError:  # more fields than a person's link has
        return {}


def _clean(text: str) -> str:
    return "".join(each for each in text if each.isprintable())[:LONGEST]
