"""Reading a list by offset while it changes, without losing rows.

When rows vanish from a list between two requests, the rest moves up, and a pager that simply continues at
the next offset never sees what moved across the border. Here consecutive pages overlap: a page that shares
no row with what was read before has left a gap, so the pager steps back until it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from checkout_integration.client.errors import ListingUnstable

PAGE_SIZE_MIN: Final = 2  # pages of one row cannot overlap and advance
LARGEST_OVERLAP: Final = 10
_REMEMBERED_ROWS: Final = 5000
_PAGES_WITHOUT_NEWS: Final = 100
_DOUBTS: Final = 2


class Page(Protocol):
    """What the pager needs to know of a page."""

    @property
    def count(self) -> int | None:
        """How many rows the service says there are in all; None when it does not say."""

    @property
    def ids(self) -> Sequence[str]:
        """Identifiers of the rows, in their order."""


P = TypeVar("P", bound=Page)


def chained_pages(fetch: Callable[[int], P], *, start: int = 0) -> Iterator[P]:
    """The pages from ``start`` to the end, each overlapping what came before; rows may repeat.

    The last page comes too when it is empty and promises rows: its ``count`` says what the service withheld.

    ``fetch`` reads the page at an offset. Pages may be shorter than asked and ``count`` may be wrong, so
    neither a short page nor an empty one is the end by itself: see `_reaches_end`. Raises ListingUnstable
    when the list has no end.
    """
    recent = _Recent()
    offset, back, largest, idle = start, 1, 0, 0
    edge: int | None = None  # where the list was seen empty since the last news
    while True:
        page = fetch(offset)
        rows = len(page.ids)
        if offset > start and not recent.shares(page.ids):
            edge = offset if not rows else edge
            offset, back = max(start, offset - back), back * 2
            continue
        if recent.add(page.ids):
            yield page
            edge, idle = None, 0
        elif _reaches_end(page, offset + rows, edge=edge, is_short=rows < largest, idle=idle):
            if not rows and page.count:
                yield page
            return
        else:
            idle += 1
        if idle > _PAGES_WITHOUT_NEWS:
            raise ListingUnstable("the list has no end: the service repeats its rows at every offset")
        largest = max(largest, rows)
        overlap = min(LARGEST_OVERLAP, rows // 2)
        offset, back = offset + rows - (0 if idle else overlap), max(1, overlap)


def _reaches_end(page: Page, end: int, *, edge: int | None, is_short: bool, idle: int) -> bool:
    """Whether a page without news is the last: rows that moved up during the walk cannot hide behind it.

    It must come after the sight of the edge, or be short, and reach ``count``. A ``count`` that promises
    more than there is (or is missing) is overruled by the edge alone.
    """
    at_edge = edge is not None and end >= edge
    if page.count is not None and end >= page.count:
        return at_edge or is_short or not page.ids
    # An empty beginning of a list that promises rows is read again: taken for the end at once, it would hide them all.
    return (at_edge or not page.ids) and (page.count is None or idle >= _DOUBTS)


class _Recent:
    """The latest identifiers, bounded, so that a list of a million rows is read in constant memory."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def shares(self, ids: Sequence[str]) -> bool:
        return any(key in self._ids for key in ids)

    def knows_all(self, ids: Sequence[str]) -> bool:
        return all(key in self._ids for key in ids)

    def add(self, ids: Sequence[str]) -> bool:
        """Remember them; whether any was unknown."""
        fresh = not self.knows_all(ids)
        for key in ids:
            self._ids.pop(key, None)
            self._ids[key] = None
        while len(self._ids) > _REMEMBERED_ROWS:
            del self._ids[next(iter(self._ids))]
        return fresh
