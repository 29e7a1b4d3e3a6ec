"""Where the pages of the list begin, remembered between two changes, so that reading a long list through stays cheap.

Without it each page would count and skip everything before it: quadratic over a million orders.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

_KEPT: Final = 8192

Filter = tuple[str, tuple[object, ...]]
Place = tuple[int, int]


class PageMarks:
    """Counts and places per filter; whoever changes the orders calls `forget`. Guarded by the store's lock."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._counts: dict[Filter, int] = {}
        self._places: OrderedDict[tuple[Filter, int], Place] = OrderedDict()

    def forget(self) -> None:
        """Drop everything: the orders have changed."""
        self._counts.clear()
        self._places.clear()

    def count(self, asked: Filter) -> int | None:
        """Return how many orders match, when that is known."""
        return self._counts.get(asked)

    def keep_count(self, asked: Filter, count: int) -> None:
        """Remember how many orders match."""
        self._counts[asked] = count

    def place(self, asked: Filter, offset: int) -> Place | None:
        """Return `created_at` and `seq` of the order at that offset, when they are known."""
        return self._places.get((asked, offset))

    def keep_places(self, asked: Filter, offset: int, places: Sequence[Place]) -> None:
        """Remember the orders of a page that began at `offset`."""
        for index, place in enumerate(places):
            self._places[asked, offset + index] = place
        while len(self._places) > _KEPT:
            self._places.popitem(last=False)
