"""The content of an order's page, as plain values; the template ``order_page.html`` lays them out.

Values are text, which the template escapes, or HTML made by ``admin.site``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from checkout_integration.admin.site.labels import Text
from checkout_integration.admin.site.values import FieldGroup, Table, Value, moment


@dataclass(frozen=True)
class SummaryBox:
    """A box on top of the page: a title, a value in large type, and a few lines in small type."""

    question: Text
    value: Value
    details: Sequence[Value] = ()


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of a timeline. ``rank`` orders what happened at the same instant: causes before effects.

    ``engine``: how the app learned or did it, which is folded.
    """

    at: datetime
    rank: int
    source: Text
    actor: Value = ""
    text: Value
    badge: SafeString | str = ""
    details: Sequence[Value] = ()
    raw: str = ""
    engine: bool = False

    @property
    def when(self) -> Value:
        """The time, in the zone of the page."""
        return moment(self.at)


@dataclass(frozen=True, kw_only=True)
class Page:
    """Everything that the page shows, from top to bottom."""

    headline: Sequence[Value] = ()
    suggested: Sequence[str] = ()
    """The buttons for its state, by name: the first one that is offered stands out."""
    at_service: Value = ""
    """A link to the service's own page of the order."""
    giving_back: Value = ""
    """Where the money can be given back; "" where none is with the shop."""
    badges: Sequence[SafeString] = ()
    notes: Sequence[Value] = ()
    summary: Sequence[SummaryBox] = ()
    in_this_shop: FieldGroup
    field_groups: Sequence[FieldGroup] = ()
    tables: Sequence[Table] = ()
    timeline: Sequence[Moment] = ()
    document_title: Text
    document: str

    @property
    def story(self) -> list[Moment]:
        """What happened, in the shop's words."""
        return [each for each in self.timeline if not each.engine]

    @property
    def engine_room(self) -> list[Moment]:
        """How the app learned or did it."""
        return [each for each in self.timeline if each.engine]
