"""A list that changes after every request, as it was drawn from a seed: rows come, go and change their status.

Rows are sorted by the time of their creation. The list is filtered by status in half of the histories: a row whose status
changes leaves its place in the list, or appears there. Limits are capped, at two rows or more, and the cap may fall.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Count: TypeAlias = Callable[[int], int | None]

HONEST: Final[Count] = lambda rows: rows  # noqa: E731
WRONG_COUNTS: Final[tuple[Count, ...]] = (
    lambda rows: None,
    lambda rows: 0,
    lambda rows: 1,
    lambda rows: rows // 2,
    lambda rows: max(rows - 1, 0),
    lambda rows: rows + 1,
    lambda rows: rows * 2 + 7,
)
BUSY_REQUESTS: Final = 50
"""Rows come only during so many requests: no pager ends while they come faster than it reads."""
MOST_REQUESTS: Final = 5000


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the list."""

    ids: list[str]
    count: int | None


@dataclass(slots=True)
class Row:
    """A row, and whether its status is one of those that are listed."""

    id: str
    is_listed: bool = True


@dataclass(kw_only=True, slots=True)
class SimulatedList:
    """A list and its future.

    Attributes:
        rows: its rows, in their order.
        cap: how many rows a page has at most, by the number of its request.
        count: what the service says of the number of rows.
        removals, inserts, status_changes: how many there are at most after each request.
        newest_first: where new rows come.
        moves: what the changes are drawn from.
        left: the rows that were not in the list all the time.
        requests: how many pages were read.

    """

    rows: list[Row]
    cap: Callable[[int], int]
    count: Count = HONEST
    removals: int = 0
    inserts: int = 0
    status_changes: int = 0
    newest_first: bool = False
    moves: random.Random = field(default_factory=lambda: random.Random(1))
    left: set[str] = field(default_factory=set)
    requests: int = 0

    @property
    def ids(self) -> list[str]:
        """What the list shows."""
        return [row.id for row in self.rows if row.is_listed]

    def fetch(self, offset: int) -> Page:
        """Return one page, then change the list. A pager that does not end fails instead of hanging."""
        self.requests += 1
        assert self.requests <= MOST_REQUESTS
        ids = self.ids
        page = Page(ids[offset : offset + self.cap(self.requests)], self.count(len(ids)))
        self._remove()
        self._change_statuses()
        self._insert()
        return page

    def _remove(self) -> None:
        for _ in range(min(self.moves.randint(0, self.removals), len(self.rows))):
            self.left.add(self.rows.pop(self.moves.randrange(len(self.rows))).id)

    def _change_statuses(self) -> None:
        for _ in range(self.moves.randint(0, self.status_changes) if self.rows else 0):
            row = self.moves.choice(self.rows)
            row.is_listed = not row.is_listed
            self.left.add(row.id)

    def _insert(self) -> None:
        number = self.moves.randint(0, self.inserts) if self.requests < BUSY_REQUESTS else 0
        for each in range(number):
            self.rows.insert(0 if self.newest_first else len(self.rows), Row(f"new-{self.requests}-{each}"))


def quiet_list(rows: int, cap: int, count: Count = HONEST) -> SimulatedList:
    """Return a list on which nothing moves."""
    return SimulatedList(
        rows=[Row(f"row-{number}") for number in range(rows)], cap=lambda _: cap, count=count
    )


def history(seed: int, *, cap: Callable[[int], int] | None = None) -> SimulatedList:
    """Return the list of a seed; with a cap of the caller's, if there is one."""
    moves = random.Random(seed)
    filtered = moves.random() < 0.5
    most = moves.choice([1, 3, 10, 50, 300])
    drawn_cap = _cap(moves)
    return SimulatedList(
        rows=[
            Row(f"row-{number}", is_listed=not filtered or moves.random() < 0.8)
            for number in range(moves.randint(0, most))
        ],
        cap=cap or drawn_cap,
        count=moves.choice([*[HONEST] * 5, *WRONG_COUNTS]),
        removals=moves.choice([0, 1, 5, 20]),
        inserts=moves.choice([0, 1, 5]),
        status_changes=moves.choice([0, 1, 5]) if filtered else 0,
        newest_first=moves.random() < 0.5,
        moves=moves,
    )


def _cap(moves: random.Random) -> Callable[[int], int]:
    """Draw a cap: one for all requests, one that falls after some of them, or another one for each."""
    largest = moves.choice([2, 3, moves.randint(2, 60), moves.randint(2, 60)])
    smallest = moves.randint(2, largest)
    fall = moves.randint(1, 10)
    return moves.choice(
        [
            lambda _: largest,
            lambda _: largest,
            lambda request: largest if request < fall else smallest,
            lambda _: moves.randint(smallest, largest),
        ]
    )


Pager: TypeAlias = Callable[[Callable[[int], Page]], Iterator[Page]]


def lost_rows(simulated: SimulatedList, pager: Pager) -> set[str]:
    """Return the rows that were in the list all the time, and on no page."""
    at_first = set(simulated.ids)
    seen = {row for page in pager(simulated.fetch) for row in page.ids}
    return at_first - simulated.left - seen
