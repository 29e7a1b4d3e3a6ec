"""Lists that change while they are read: thousands of simulated histories."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.client.errors import ListingUnstable
from checkout_integration.client.paging import chained_pages
from tests.support.client.simulated_list import (
    HONEST,
    WRONG_COUNTS,
    Count,
    Page,
    SimulatedList,
    history,
    lost_rows,
    quiet_list,
)
from tests.support.scale import times

HISTORIES = times(1000, 10_000)
ONE_ROW_PER_PAGE = r"^The service gives one row per page, whatever the limit: .* at least 2 rows per page\.$"


def naive_pages(fetch: Callable[[int], Page]) -> Iterator[Page]:
    """What everyone writes first: continue where the previous page ended."""
    offset = 0
    while (page := fetch(offset)).ids:
        yield page
        offset += len(page.ids)


def test_no_row_is_lost_while_the_list_moves() -> None:
    """In any history, with rows that come and go, changes of status, both directions, caps down to 2 and wrong counts."""
    assert [seed for seed in range(HISTORIES) if lost_rows(history(seed), chained_pages)] == []


def test_the_naive_pager_loses_rows_in_the_same_histories() -> None:
    """The control: the simulation does contain what the chained pager guards against, in about a fifth of its histories."""
    losses = sum(bool(lost_rows(history(seed), naive_pages)) for seed in range(HISTORIES))
    assert losses > HISTORIES // 10


@given(st.integers(min_value=0))
def test_no_row_is_lost_in_any_history(seed: int) -> None:
    """The same, wherever the search leads."""
    assert lost_rows(history(seed), chained_pages) == set()


def outcome(simulated: SimulatedList) -> str:
    """Return how reading ended: the sentence of its error, or the lost rows, or "complete"."""
    try:
        return ", ".join(sorted(lost_rows(simulated, chained_pages))) or "complete"
    except ListingUnstable as error:
        return str(error)


def test_one_row_per_page_loses_no_row_in_silence() -> None:
    """However the list moves: all rows were read, or the error says what is wrong."""
    outcomes = [outcome(history(seed, cap=lambda _: 1)) for seed in range(HISTORIES)]
    others = [
        each for each in outcomes if each != "complete" and not each.startswith("The service gives one row")
    ]
    assert others == []
    assert outcomes.count("complete") < HISTORIES


@pytest.mark.parametrize("count", [HONEST, *WRONG_COUNTS])
@pytest.mark.parametrize("rows", [2, 3, 50])
def test_one_row_per_page_is_an_error(rows: int, count: Count) -> None:
    """Whatever the service counts, after a few requests."""
    quiet = quiet_list(rows, 1, count)
    with pytest.raises(ListingUnstable, match=ONE_ROW_PER_PAGE):
        list(chained_pages(quiet.fetch))
    assert quiet.requests <= 20


@pytest.mark.parametrize("count", [HONEST, *WRONG_COUNTS])
def test_pages_that_shrink_to_one_row_are_an_error(count: Count) -> None:
    """A proxy was changed in the middle of a pass."""
    quiet = quiet_list(100, 10, count)
    quiet.cap = lambda request: 10 if request < 5 else 1
    with pytest.raises(ListingUnstable, match=ONE_ROW_PER_PAGE):
        list(chained_pages(quiet.fetch))


@pytest.mark.parametrize("count", [HONEST, *WRONG_COUNTS])
@pytest.mark.parametrize("cap", [1, 2, 100])
def test_a_list_of_one_row_is_read(cap: int, count: Count) -> None:
    """It cannot be distinguished from others by its page, but by what follows."""
    assert outcome(quiet_list(1, cap, count)) == "complete"
