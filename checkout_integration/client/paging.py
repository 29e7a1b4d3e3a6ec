"""Reading a list by offset while it changes, without losing rows.

When rows vanish from a list between two requests, the rest moves up, and a pager that simply continues at
the next offset misses the rows that moved across the border. Here consecutive pages overlap: a page without a
row of the pages before it has left a gap, so the pager steps back until the pages overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from checkout_integration.client.errors import ListingUnstable

PAGE_SIZE_MIN: Final = 2  # pages of one row cannot overlap and advance
LARGEST_OVERLAP: Final = 10
_REMEMBERED_ROWS: Final = 5000
_PAGES_WITHOUT_NEWS: Final = 100
_GAPS_OF_ONE_ROW: Final = 10
_DOUBTS: Final = 2
_NO_END: Final = "the list has no end: the service repeats its rows at every offset"
_ONE_ROW_PAGES: Final = (
    "The service gives one row per page, whatever the limit: pages cannot overlap, and rows would be lost. "
    f"Have it give at least {PAGE_SIZE_MIN} rows per page."
)


class Page(Protocol):
    """A page as the pager sees it."""

    @property
    def count(self) -> int | None:
        """How many rows the service says there are in all; None when it does not say."""

    @property
    def ids(self) -> Sequence[str]:
        """Identifiers of the rows, in their order."""


P = TypeVar("P", bound=Page)


def chained_pages(fetch: Callable[[int], P], *, start: int = 0) -> Iterator[P]:
    """Yield the pages from ``start`` to the end, each overlapping the one before; rows may repeat.

    An empty last page is yielded too when it promises rows: its ``count`` includes the withheld ones.

    ``fetch`` reads the page at an offset. Pages may be shorter than requested and ``count`` may be wrong, so
    neither a short page nor an empty one is the end by itself: see `_End`.

    Raises:
        ListingUnstable: the list has no end, or the service gives one row per page.

    """
    recent, end = RecentIds(), _End(start)
    offset, back = start, 1
    while True:
        page = fetch(offset)
        if offset > start and not recent.shares(page.ids):
            end.meet_gap(page, offset)
            offset, back = max(start, offset - back), back * 2
            continue
        if recent.add(page.ids):
            yield page
            end.meet_news(page)
        elif end.is_reached_by(page, offset):
            if not page.ids and page.count:
                yield page
            return
        overlap = end.overlap_after(page, offset)
        offset, back = offset + len(page.ids) - overlap, max(1, overlap)


class _End:
    """Decides whether a page without new rows is the last: no row that moved meanwhile can hide behind it.

    The last page is one of a single row that was read before: where more follows, a page has two rows at least. Its ``count``
    must confirm that, or an edge: a position at which the list was empty a moment ago. By that, a service that gives one row
    per page is noticed. Where none of its pages had two rows, only the first position of a list of one row is the last.
    """

    def __init__(self, start: int) -> None:
        self._start = start
        self._edge: int | None = None
        self._edges_met = self._pages_without_news = self._gaps_of_one_row = 0
        self._latest = self._largest = 0

    def meet_gap(self, page: Page, offset: int) -> None:
        """Note a page that does not overlap. Raises ListingUnstable where no page can."""
        if not page.ids:
            self._edge = offset
        elif len(page.ids) == 1 == self._latest:
            self._gaps_of_one_row += 1
        if self._gaps_of_one_row == _GAPS_OF_ONE_ROW:
            raise ListingUnstable(_ONE_ROW_PAGES)

    def meet_news(self, page: Page) -> None:
        """Note a page with new rows: what looked like the end before it was none."""
        self._edge, self._edges_met, self._pages_without_news = None, 0, 0
        self._note(len(page.ids))

    def is_reached_by(self, page: Page, offset: int) -> bool:
        """Return whether a page without new rows is the last. Raises ListingUnstable where none seems to be."""
        self._pages_without_news += 1
        if self._pages_without_news > _PAGES_WITHOUT_NEWS:
            raise ListingUnstable(_ONE_ROW_PAGES if self._largest == 1 else _NO_END)
        if not page.ids:
            # An empty first page that promises rows is read again: accepted as the end, it would hide all rows.
            return not page.count or self._pages_without_news > _DOUBTS
        self._note(len(page.ids))
        alone = len(page.ids) == 1 and (self._largest > 1 or offset == self._start)
        return alone and self._is_confirmed(page.count, offset + 1)

    def _is_confirmed(self, count: int | None, end: int) -> bool:
        if self._edge is not None and end >= self._edge:
            # The next one must be another sight of it.
            self._edge, self._edges_met = None, self._edges_met + 1
        if count == end and self._largest > 1:
            return True
        return self._edges_met >= (1 if count is None or count <= end else _DOUBTS)

    def overlap_after(self, page: Page, offset: int) -> int:
        """Return how many rows of a page the next one should repeat."""
        rows = len(page.ids)
        if page.count == offset + rows and rows > 1:
            return 1  # the last row alone, if it is the end
        return 0 if self._pages_without_news else min(LARGEST_OVERLAP, rows // 2)

    def _note(self, rows: int) -> None:
        self._latest, self._largest = rows, max(self._largest, rows)
        if rows > 1:
            self._gaps_of_one_row = 0


class RecentIds:
    """The latest identifiers, bounded, so that a list of a million rows is read in constant memory."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def shares(self, ids: Sequence[str]) -> bool:
        """Return whether one of the identifiers is among them."""
        return any(key in self._ids for key in ids)

    def knows_all(self, ids: Sequence[str]) -> bool:
        """Return whether all identifiers are among them."""
        return all(key in self._ids for key in ids)

    def add(self, ids: Sequence[str]) -> bool:
        """Remember the identifiers; return whether any of them is new."""
        fresh = not self.knows_all(ids)
        for key in ids:
            self._ids.pop(key, None)
            self._ids[key] = None
        while len(self._ids) > _REMEMBERED_ROWS:
            del self._ids[next(iter(self._ids))]
        return fresh
