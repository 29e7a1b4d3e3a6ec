"""A finding: one thing that was looked at, how bad it is, what to do, where its rows are, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from checkout_integration.policy.severity import Severity

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Figure: TypeAlias = str | int | float | None


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of one model, as a list of the admin shows them.

    Attributes:
        model: the model, in lower case, as in the addresses of the admin.
        filters: the parameters with which the model's list in the admin shows these rows.

    """

    model: str
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The path of the list or page in the admin; "" if the host has no admin at ``admin:``."""
        try:
            path = reverse(f"admin:checkout_integration_{self.model}_changelist")
        except NoReverseMatch:
            return ""
        return f"{path}?{urlencode(self.filters)}" if self.filters else path

    @property
    def view_permission(self) -> str:
        """The permission to see them; failures are runs of the shop's code."""
        return f"checkout_integration.view_{'receiverrun' if self.model == 'failures' else self.model}"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: a stable word, for programs.
        title: its name for people.
        project: the alias of its project; "" for what all projects share.
        severity: how bad it is.
        text: what is the case, whom it concerns and since when. For people, in the language of the request.
        action: what to do; "" if nothing is to be done.
        rows: the rows that it is about; None if it is not about rows.
        figures: numbers and times (ISO 8601) by stable names; never personal data.

    """

    name: str
    title: StrOrPromise = ""
    project: str = ""
    severity: Severity = Severity.OK
    text: str
    action: str = ""
    rows: Rows | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What is the case, and what to do."""
        return f"{self.text} {self.action}".rstrip()

    @property
    def link(self) -> str:
        """The path of its rows in the admin; "" if there is none."""
        return self.rows.address if self.rows else ""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of finding: its stable name, its title, and the list of its rows."""

    name: str
    title: StrOrPromise
    rows: Rows | None = None

    def found(
        self,
        text: str,
        severity: Severity = Severity.OK,
        action: str = "",
        *,
        project: str = "",
        filters: Mapping[str, str] | None = None,
        figures: Mapping[str, Figure] | None = None,
    ) -> Finding:
        """Return a finding of this kind; ``filters`` replace those of its rows."""
        rows = (
            Rows(model=self.rows.model, filters=filters) if self.rows and filters is not None else self.rows
        )
        return Finding(
            name=self.name,
            title=self.title,
            project=project,
            severity=severity,
            text=text,
            action=action,
            rows=rows,
            figures=figures or {},
        )


def listed(texts: Sequence[str], most: int = 3) -> str:
    """Return a few of these texts as one, and how many more there are."""
    text, more = "; ".join(texts[:most]), len(texts) - most
    return _("%(text)s; and %(n)s more") % {"text": text, "n": more} if more > 0 else text


def span(seconds: float) -> str:
    """Return a length of time in the largest unit of which there are two or more, minutes from one on: "90 min", "3 h"."""
    if seconds >= 2 * 86_400:
        return _("%(n)s days") % {"n": shown_number(int(seconds // 86_400))}
    for size, text in ((3_600, _("%(n)s h")), (60, _("%(n)s min"))):
        if seconds >= (2 * size if size > 60 else size):
            return text % {"n": int(seconds // size)}
    return _("%(n)s s") % {"n": round(seconds)}


def shown_number(number: int) -> str:
    """Return a number as people write it in the active language."""
    return number_format(number, force_grouping=True)


def seconds_of(length: timedelta) -> float:
    """Return a length of time in seconds, to the millisecond."""
    return round(length.total_seconds(), 3)
