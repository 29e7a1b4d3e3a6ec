"""Reading a list by offset while rows vanish and appear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from checkout_integration.client.errors import ListingUnstable
from checkout_integration.client.paging import RecentIds, chained_pages
from tests.support.client.simulated_list import Page, lost_rows, quiet_list


@pytest.mark.spec("EP3-11")
@pytest.mark.parametrize("size", [2, 3, 10, 100])
@pytest.mark.parametrize("rows", [0, 1, 2, 9, 10, 11, 100, 250])
def test_a_quiet_list_is_read_completely(rows: int, size: int) -> None:
    """Whatever the lengths, each row is seen."""
    assert lost_rows(quiet_list(rows, size), chained_pages) == set()


def test_the_overlap_costs_about_a_tenth() -> None:
    """Pages of 100 overlap by 10 rows."""
    quiet = quiet_list(10_000, 100)
    assert lost_rows(quiet, chained_pages) == set()
    assert quiet.requests <= 114


@dataclass(slots=True)
class Recorder:
    """A list that records the requested offsets; its rows may change between requests."""

    rows: Callable[[int], Sequence[str]]
    page_size: int
    count: Callable[[int], int | None]
    offsets: list[int] = field(default_factory=list)

    def fetch(self, offset: int) -> Page:
        """Return one page and record its offset."""
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
        # The usual cycle of a quiet shop: one page, and its last row once more to confirm that none follows.
        (10, 100, 10, [0, 9]),
        (100, 100, 100, [0, 99]),
        (30, 10, 30, [0, 5, 10, 15, 20, 29]),
        (45, 20, 45, [0, 10, 20, 30, 44]),
        (60, 30, 60, [0, 20, 40, 59]),
        # A count that says nothing, too little or too much: the edge is looked for, and then looked at again.
        (10, 100, 0, [0, 5, 10, 9]),
        (30, 10, None, [0, 5, 10, 15, 20, 25, 30, 29]),
        (60, 30, None, [0, 20, 40, 50, 60, 59]),
        (45, 20, 52, [0, 10, 20, 30, 38, 45, 44, 45, 44]),
        (100, 100, 107, [0, 90, 100, 99, 100, 99]),
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
        (9, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]),
        (11, [0, 10, 20, 30, 40, 30, 40, 50, 60, 70, 88]),
        (25, [0, 10, 20, 30, 40, 30, 10, 20, 30, 40, 50, 60, 74]),
        (50, [0, 10, 20, 30, 40, 30, 10, 0, 10, 20, 30, 49]),
        (95, [0, 10, 20, 30, 40, 30, 10, 0, 4]),
    ],
)
def test_the_walk_back_over_a_gap(vanished: int, walk: list[int]) -> None:
    """Where the rows read before are gone from a page, it steps back, further each time, until it meets them."""
    recorder = Recorder(lambda request: names(100)[vanished if request > 4 else 0 :], 20, truly)
    seen = {row for page in chained_pages(recorder.fetch) for row in page.ids}
    assert recorder.offsets == walk
    assert seen >= set(names(100)[vanished:])


def test_it_begins_at_the_given_start() -> None:
    """A resumed run does not go back behind its start, not even to close a gap."""
    recorder = Recorder(lambda _: names(30), 10, truly)
    seen = {row for page in chained_pages(recorder.fetch, start=12) for row in page.ids}
    assert seen == set(names(30)[12:])
    assert recorder.offsets == [12, 17, 22, 29]
    moving = Recorder(lambda request: names(100)[15 if request > 1 else 0 :], 20, truly)
    assert {row for page in chained_pages(moving.fetch, start=5) for row in page.ids} >= set(names(100)[20:])
    assert moving.offsets[:4] == [5, 15, 5, 15]


@pytest.mark.spec("EP3-11")
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
    recent = RecentIds()
    assert recent.add(names(5000))
    assert not recent.add(["0"])
    assert recent.knows_all(names(5000))
    assert recent.add(["new"])
    assert not recent.shares(["1"])
    assert recent.knows_all(["0", "2", "4999", "new"])
    assert not recent.knows_all(["0", "1"])
    assert recent.shares(["unheard of", "0"])
