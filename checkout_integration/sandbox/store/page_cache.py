"""A cache of where the pages of the list begin, so that reading a whole long list stays cheap.

Without it each page would count and skip all rows before it, which is quadratic.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

_MOST_POSITIONS: Final = 8192

Filter = tuple[str, tuple[object, ...]]
Position = tuple[int, int]


class PageCache:
    """Counts and positions per filter; every change of orders calls `clear`. Guarded by the store's lock."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._counts: dict[Filter, int] = {}
        self._positions: OrderedDict[tuple[Filter, int], Position] = OrderedDict()

    def clear(self) -> None:
        """Drop everything: the orders have changed."""
        self._counts.clear()
        self._positions.clear()

    def count(self, filters: Filter) -> int | None:
        """Return how many orders match, when that is known."""
        return self._counts.get(filters)

    def store_count(self, filters: Filter, count: int) -> None:
        """Remember how many orders match."""
        self._counts[filters] = count

    def position(self, filters: Filter, offset: int) -> Position | None:
        """Return `created_at` and `seq` of the order at that offset, when they are known."""
        return self._positions.get((filters, offset))

    def store_positions(self, filters: Filter, offset: int, positions: Sequence[Position]) -> None:
        """Remember the orders of a page that began at `offset`."""
        for index, position in enumerate(positions):
            self._positions[filters, offset + index] = position
        while len(self._positions) > _MOST_POSITIONS:
            self._positions.popitem(last=False)
