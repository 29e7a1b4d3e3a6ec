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

    ``fetch`` reads the page at an offset. Pages may be shorter than asked, so a short page is not the end.
    The end is an empty page behind a page that brought nothing new, or such a page itself when it is short
    and reaches ``count``. Raises ListingUnstable when neither comes.
    """
    recent = _Recent()
    offset, back, idle, largest = start, 1, 0, 0
    while True:
        page = fetch(offset)
        rows = len(page.ids)
        if idle and not rows:
            return
        if offset > start and not recent.shares(page.ids):
            # A gap, or an end that is not confirmed yet.
            offset, back, idle = max(start, offset - back), back * 2, 0
            continue
        if not rows:
            return
        fresh = recent.add(page.ids)
        if fresh:
            yield page
        elif rows < largest and page.count is not None and offset + rows >= page.count:
            return
        idle = 0 if fresh else idle + 1
        if idle > _PAGES_WITHOUT_NEWS:
            raise ListingUnstable("the list has no end: the service repeats its rows at every offset")
        largest = max(largest, rows)
        overlap = min(LARGEST_OVERLAP, rows // 2)
        back = max(1, overlap)
        offset += rows - overlap if fresh else rows


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
