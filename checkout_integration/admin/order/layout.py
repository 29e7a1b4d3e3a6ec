"""The content of an order's page, as plain values; the template ``order_page.html`` lays them out.

Values are text, which the template escapes, or HTML made by ``admin.site``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.safestring import SafeString

from checkout_integration.admin.site import NOTHING, Table, Value, moment

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True)
class SummaryBox:
    """A box on top of the page: a title, a value in large type, and a few lines in small type."""

    question: StrOrPromise
    value: Value
    details: Sequence[Value] = ()


@dataclass(frozen=True)
class FieldGroup:
    """Labelled values under a title. A group without values is not shown.

    ``specified``: the labels are names of the specification, which are not translated.
    """

    title: StrOrPromise
    fields: Sequence[tuple[StrOrPromise, Value]]
    specified: bool = False


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
    """Everything that the page shows, from top to bottom."""

    badges: Sequence[SafeString] = ()
    notes: Sequence[Value] = ()
    summary: Sequence[SummaryBox] = ()
    in_this_shop: FieldGroup
    field_groups: Sequence[FieldGroup] = ()
    tables: Sequence[Table] = ()
    timeline: Sequence[Moment] | None = None
    raws: Sequence[Raw] = ()


def field_group(title: StrOrPromise, fields: Iterable[tuple[StrOrPromise, Value]]) -> FieldGroup:
    """Return a group of the fields that have a value."""
    return FieldGroup(title, [(label, value) for label, value in fields if value not in {"", NOTHING}])
