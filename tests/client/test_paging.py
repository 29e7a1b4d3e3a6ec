"""Reading a list by offset while rows vanish and appear."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.client.errors import ListingUnstable
from checkout_integration.client.paging import _Recent, chained_pages


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
    patience: int = 5000
    removed: set[str] = field(default_factory=set)
    requests: int = 0

    def fetch(self, offset: int) -> Page:
        """Answer one request; the list moves afterwards. A pager that goes on for ever fails instead of hanging."""
        self.requests += 1
        assert self.requests <= self.patience
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


def quiet(rows: int, page_size: int) -> MovingList:
    """A list on which nothing moves."""
    return MovingList(
        rows=[f"row-{number}" for number in range(rows)],
        page_size=page_size,
        moves=random.Random(1),
        removals=0,
        inserts=0,
        newest_first=False,
        lie=lambda count: count,
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
    world = quiet(rows, size)
    assert lost(world, chained_pages) == set()


def test_the_overlap_costs_about_a_tenth() -> None:
    """Pages of 100 overlap by 10 rows."""
    world = quiet(10_000, 100)
    assert lost(world, chained_pages) == set()
    assert world.requests <= 114


@dataclass(slots=True)
class Recorder:
    """A list that shows what it is asked: its rows may be others from one request to the next."""

    rows: Callable[[int], Sequence[str]]
    page_size: int
    count: Callable[[int], int | None]
    offsets: list[int] = field(default_factory=list)

    def fetch(self, offset: int) -> Page:
        """Answer one request and note it."""
        self.offsets.append(offset)
        assert len(self.offsets) <= 1000
        rows = self.rows(len(self.offsets))
        return Page(list(rows[offset : offset + self.page_size]), self.count(len(rows)))


def truly(rows: int) -> int:
    """A count that does not lie."""
    return rows


def names(number: int) -> list[str]:
    """So many rows."""
    return [str(each) for each in range(number)]


@pytest.mark.parametrize(
    ("rows", "size", "count", "walk"),
    [
        (0, 10, 0, [0]),
        (0, 10, None, [0]),
        # An empty beginning that promises rows is doubted twice.
        (0, 10, 7, [0, 0, 0]),
        (1, 10, 1, [0, 1, 0]),
        (2, 2, 2, [0, 1]),
        (3, 2, 3, [0, 1, 2]),
        # The usual cycle of a quiet shop: one page, and one to confirm its end.
        (10, 100, 10, [0, 5]),
        (10, 100, 0, [0, 5]),
        (100, 100, 100, [0, 90]),
        (30, 10, 30, [0, 5, 10, 15, 20, 25]),
        (45, 20, 45, [0, 10, 20, 30, 38]),
        (60, 30, 60, [0, 20, 40, 50]),
        # A count that says nothing, or too much: the edge is looked for, and then looked at again.
        (30, 10, None, [0, 5, 10, 15, 20, 25, 30, 28]),
        (60, 30, None, [0, 20, 40, 50, 60, 55]),
        (45, 20, 52, [0, 10, 20, 30, 38, 45, 42, 45, 44]),
        (100, 100, 107, [0, 90, 100, 95, 100, 98]),
    ],
)
def test_the_walk_over_a_quiet_list(rows: int, size: int, count: int | None, walk: list[int]) -> None:
    """Each page begins half a page, at most ten rows, before the end of the last; and no request is spent in vain."""
    recorder = Recorder(lambda _: names(rows), size, lambda _: count)
    assert {row for page in chained_pages(recorder.fetch) for row in page.ids} == set(names(rows))
    assert recorder.offsets == walk


@pytest.mark.parametrize(
    ("vanished", "walk"),
    [
        (9, [0, 10, 20, 30, 40, 50, 60, 70, 80, 86]),
        (11, [0, 10, 20, 30, 40, 30, 40, 50, 60, 70, 80]),
        (25, [0, 10, 20, 30, 40, 30, 10, 20, 30, 40, 50, 60, 68]),
        (50, [0, 10, 20, 30, 40, 30, 10, 0, 10, 20, 30, 40]),
        (95, [0, 10, 20, 30, 40, 30, 10, 0, 3]),
    ],
)
def test_the_walk_back_over_a_gap(vanished: int, walk: list[int]) -> None:
    """Where the rows read before are gone from a page, it steps back, further each time, until it meets them."""
    recorder = Recorder(lambda request: names(100)[vanished if request > 4 else 0 :], 20, truly)
    seen = {row for page in chained_pages(recorder.fetch) for row in page.ids}
    assert recorder.offsets == walk
    assert seen >= set(names(100)[vanished:])


def test_it_begins_where_it_is_told() -> None:
    """A resumed run does not go back behind its start, not even to close a gap."""
    recorder = Recorder(lambda _: names(30), 10, truly)
    seen = {row for page in chained_pages(recorder.fetch, start=12) for row in page.ids}
    assert seen == set(names(30)[12:])
    assert recorder.offsets == [12, 17, 22, 26]
    moving = Recorder(lambda request: names(100)[15 if request > 1 else 0 :], 20, truly)
    assert {row for page in chained_pages(moving.fetch, start=5) for row in page.ids} >= set(names(100)[20:])
    assert moving.offsets[:4] == [5, 15, 5, 15]


@pytest.mark.parametrize("count", [None, 0, 1000])
def test_a_service_that_ignores_the_offset_is_an_error(count: int | None) -> None:
    """The same page for ever is no list, and is not taken for its end; a hundred such pages are enough."""
    requests: list[int] = []

    def fetch(offset: int) -> Page:
        requests.append(offset)
        assert len(requests) <= 1000
        return Page(names(10), count)

    with pytest.raises(ListingUnstable, match=r"^the list has no end: .* at every offset$"):
        list(chained_pages(fetch))
    assert len(requests) == 102


def test_news_ends_the_count_of_pages_without_any() -> None:
    """A list that stands still for a while, and then goes on, is no error."""
    requests: list[int] = []

    def fetch(_: int) -> Page:
        requests.append(1)
        assert len(requests) <= 1000
        return Page(names(10 + len(requests) // 90), None)

    walk = chained_pages(fetch)
    assert [len(next(walk).ids) for _ in range(5)] == [10, 11, 12, 13, 14]


@pytest.mark.parametrize(("count", "lengths"), [(7, [0]), (0, []), (None, [])])
def test_an_empty_page_that_promises_rows_is_handed_out(count: int | None, lengths: list[int]) -> None:
    """Its count says what the service withheld; without a promise there is nothing to hand out."""
    recorder = Recorder(lambda _: [], 10, lambda _: count)
    assert [len(page.ids) for page in chained_pages(recorder.fetch)] == lengths


def test_only_the_latest_rows_are_remembered() -> None:
    """Memory is bounded: the oldest identifier goes first, and one that is seen again is the youngest."""
    recent = _Recent()
    assert recent.add(names(5000))
    assert not recent.add(["0"])
    assert recent.knows_all(names(5000))
    assert recent.add(["new"])
    assert not recent.shares(["1"])
    assert recent.knows_all(["0", "2", "4999", "new"])
    assert not recent.knows_all(["0", "1"])
    assert recent.shares(["unheard of", "0"])
