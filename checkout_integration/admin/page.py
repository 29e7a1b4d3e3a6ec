"""What the page of one row shows, as plain values; ``page.html`` lays them out.

Values are text, which the template escapes, or HTML made by `display`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from django.utils.safestring import SafeString

from checkout_integration.admin.display import moment

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Value: TypeAlias = "StrOrPromise | SafeString"


@dataclass(frozen=True)
class Answer:
    """One of the answers on top of a page: a question, the answer in large, and a few lines of small print."""

    question: StrOrPromise
    answer: Value
    details: Sequence[Value] = ()


@dataclass(frozen=True)
class Chapter:
    """Labelled values. Rows whose value is empty are left out, and a chapter without rows too."""

    title: StrOrPromise
    rows: Sequence[tuple[StrOrPromise, Value]]


@dataclass(frozen=True)
class Table:
    """A short table of child rows."""

    title: StrOrPromise
    columns: Sequence[StrOrPromise]
    rows: Sequence[Sequence[Value]]
    empty: StrOrPromise = ""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of a timeline. ``rank`` orders what happened at the same instant: causes before effects."""

    at: datetime
    rank: int
    source: StrOrPromise
    actor: Value = ""
    text: Value
    badge: SafeString | str = ""
    details: Sequence[Value] = ()
    raw: str = ""

    @property
    def when(self) -> Value:
        """The time, in the zone of the page."""
        return moment(self.at)


@dataclass(frozen=True)
class Raw:
    """A document as text, folded away."""

    title: StrOrPromise
    text: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """Everything that one page shows, from top to bottom."""

    badges: Sequence[SafeString] = ()
    note: Value = ""
    answers: Sequence[Answer] = ()
    chapters: Sequence[Chapter] = ()
    tables: Sequence[Table] = ()
    timeline: Sequence[Moment] | None = None
    raws: Sequence[Raw] = ()


def chapter(title: StrOrPromise, rows: Iterable[tuple[StrOrPromise, Value]]) -> Chapter:
    """A chapter of the rows that say something."""
    return Chapter(title, [(label, value) for label, value in rows if value not in {"", "–"}])
