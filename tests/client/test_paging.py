"""Reading a list by offset while rows vanish and appear."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.client.errors import ListingUnstable
from checkout_integration.client.paging import chained_pages


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a simulated list."""

    ids: list[str]
    count: int | None


@dataclass(slots=True)
class MovingList:
    """A list that loses and gains rows after each request, in a fixed order of rows."""

    rows: list[str]
    page_size: int
    moves: random.Random
    removals: int
    inserts: int
    newest_first: bool
    lie: Callable[[int], int | None]
    removed: set[str] = field(default_factory=set)
    requests: int = 0

    def fetch(self, offset: int) -> Page:
        """Answer one request; the list moves afterwards."""
        self.requests += 1
        page = Page(self.rows[offset : offset + self.page_size], self.lie(len(self.rows)))
        for _ in range(self.moves.randint(0, self.removals)):
            if self.rows:
                self.removed.add(self.rows.pop(self.moves.randrange(len(self.rows))))
        if self.requests < 50:
            for number in range(self.moves.randint(0, self.inserts)):
                self.rows.insert(0 if self.newest_first else len(self.rows), f"new-{self.requests}-{number}")
        return page


LIES: list[Callable[[int], int | None]] = [
    lambda count: count,
    lambda count: count,
    lambda count: None,
    lambda count: 0,
    lambda count: count // 2,
    lambda count: count * 2 + 7,
]


def history(seed: int) -> MovingList:
    """One list and its future, from a seed."""
    moves = random.Random(seed)
    return MovingList(
        rows=[f"row-{number}" for number in range(moves.randint(0, 300))],
        page_size=moves.randint(2, 60),
        moves=moves,
        removals=moves.choice([0, 1, 5, 20]),
        inserts=moves.choice([0, 1, 5]),
        newest_first=moves.random() < 0.5,
        lie=moves.choice(LIES),
    )


def lost(world: MovingList, pager: Callable[[Callable[[int], Page]], Iterator[Page]]) -> set[str]:
    """Rows that were there from the beginning to the end, and that the pager never saw."""
    at_first = set(world.rows)
    seen = {row for page in pager(world.fetch) for row in page.ids}
    return at_first - world.removed - seen


def naive_pages(fetch: Callable[[int], Page]) -> Iterator[Page]:
    """What everyone writes first: continue where the previous page ended."""
    offset = 0
    while (page := fetch(offset)).ids:
        yield page
        offset += len(page.ids)


def test_no_row_is_lost_while_the_list_moves() -> None:
    """In 2,000 histories with removals, inserts, both orders and wrong counts."""
    assert [seed for seed in range(2000) if lost(history(seed), chained_pages)] == []


def test_the_naive_pager_loses_rows_in_the_same_histories() -> None:
    """The control: the simulation does contain what the chained pager guards against."""
    assert sum(bool(lost(history(seed), naive_pages)) for seed in range(300)) > 100


@given(st.integers(min_value=0))
def test_no_row_is_lost_in_any_history(seed: int) -> None:
    """The same, wherever the search leads."""
    assert lost(history(seed), chained_pages) == set()


@pytest.mark.parametrize("size", [2, 3, 10, 100])
@pytest.mark.parametrize("rows", [0, 1, 2, 9, 10, 11, 100, 250])
def test_a_quiet_list_is_read_completely(rows: int, size: int) -> None:
    """Whatever the lengths, each row is seen."""
    names = [str(number) for number in range(rows)]
    pages = chained_pages(lambda offset: Page(names[offset : offset + size], rows))
    assert {row for page in pages for row in page.ids} == set(names)


def test_the_overlap_costs_about_a_tenth() -> None:
    """Pages of 100 overlap by 10 rows."""
    world = MovingList(
        rows=[str(number) for number in range(10_000)],
        page_size=100,
        moves=random.Random(1),
        removals=0,
        inserts=0,
        newest_first=False,
        lie=lambda count: count,
    )
    assert lost(world, chained_pages) == set()
    assert world.requests <= 114


def test_a_short_page_is_read_in_two_requests() -> None:
    """The usual cycle of a quiet shop: one page, and one to confirm its end."""
    names = [str(number) for number in range(10)]
    offsets: list[int] = []

    def fetch(offset: int) -> Page:
        offsets.append(offset)
        return Page(names[offset : offset + 100], 10)

    assert len(list(chained_pages(fetch))) == 1
    assert offsets == [0, 5]


def test_it_begins_where_it_is_told() -> None:
    """A resumed run does not go back behind its start."""
    names = [str(number) for number in range(30)]
    offsets: list[int] = []

    def fetch(offset: int) -> Page:
        offsets.append(offset)
        return Page(names[offset : offset + 10], 30)

    seen = {row for page in chained_pages(fetch, start=12) for row in page.ids}
    assert seen == set(names[12:])
    assert min(offsets) == 12


@pytest.mark.parametrize("count", [None, 0, 1000])
def test_a_service_that_ignores_the_offset_is_an_error(count: int | None) -> None:
    """The same page for ever is no list, and is not taken for its end."""
    with pytest.raises(ListingUnstable):
        list(chained_pages(lambda offset: Page([str(number) for number in range(10)], count)))
