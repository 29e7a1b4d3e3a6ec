"""A finding: one thing that was looked at, how bad it is, what to do, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from django.utils.formats import number_format
from django.utils.translation import gettext as _

Figure: TypeAlias = str | int | float | None


class Severity(StrEnum):
    """``ok``: nothing to do; ``warning``: somebody should look at it; ``failing``: money or goods wait for somebody."""

    OK = "ok"
    WARNING = "warning"
    FAILING = "failing"

    @property
    def rank(self) -> int:
        """Its place in the sequence: a greater one is worse."""
        return list(Severity).index(self)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: a stable word, for programs.
        project: the alias of its project; "" for what all projects share.
        severity: how bad it is.
        text: what is the case and, unless all is well, what to do. For people, in the language of the request.
        figures: numbers and times (ISO 8601) by stable names; never personal data.

    """

    name: str
    project: str = ""
    severity: Severity = Severity.OK
    text: str
    figures: Mapping[str, Figure] = field(default_factory=dict)


def span(seconds: float) -> str:
    """Return a length of time in the largest unit of which there are two or more: "90 min", "3 h"."""
    if seconds >= 2 * 86_400:
        return _("%(n)s days") % {"n": shown_number(int(seconds // 86_400))}
    for size, text in ((3_600, _("%(n)s h")), (60, _("%(n)s min"))):
        if seconds >= 2 * size:
            return text % {"n": int(seconds // size)}
    return _("%(n)s s") % {"n": round(seconds)}


def shown_number(number: int) -> str:
    """Return a number as people write it in the active language."""
    return number_format(number, force_grouping=True)


def seconds_of(length: timedelta) -> float:
    """Return a length of time in seconds, to the millisecond."""
    return round(length.total_seconds(), 3)
