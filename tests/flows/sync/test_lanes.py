"""When a lane is due, and which orders lane ``open`` reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration import flows
from checkout_integration.flows.sync.lanes import LANES, LOOKED_AT, open_periods
from checkout_integration.models import Installation, SyncCursor, SyncRun
from tests.support.documents import block

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ALL = ["recent", "open", "reversals", "all"]


def passes() -> st.SearchStrategy[list[datetime]]:
    """Draw the times of passes: minutes or weeks apart."""
    gaps = st.lists(st.integers(1, 60 * 24 * 20), min_size=1, max_size=30)
    return gaps.map(lambda minutes: [NOW + sum(minutes[:number]) * MINUTE for number in range(len(minutes))])


def reads(last: datetime | None, now: datetime, created_at: datetime) -> bool:
    """Return whether a pass reads an order that was created then."""
    periods = open_periods(last, now)
    return any(begin <= created_at <= end for begin, end in periods if begin and end)


@given(passes(), st.integers(-60 * 24 * 31, 60 * 24 * 31))
def test_each_open_order_is_read_at_each_age(times: Sequence[datetime], minutes: int) -> None:
    """By the first pass after it has come to that age, however rare passes are."""
    created_at = NOW + minutes * MINUTE
    for last, now in pairwise(times):
        came = [age for age in LOOKED_AT if last < created_at + age <= now]
        assert reads(last, now, created_at) or not came


@given(passes())
def test_periods_do_not_overlap(times: Sequence[datetime]) -> None:
    """So no order is read twice in a pass."""
    for last, now in zip([None, *times], times, strict=False):
        limits = [moment for period in open_periods(last, now) for moment in period]
        assert None not in limits
        assert limits == sorted(limits, key=lambda moment: moment or NOW)
        assert len({*limits}) == len(limits)


def test_the_first_pass_reads_a_month() -> None:
    """What was left open before the installation of this version is found too."""
    assert open_periods(None, NOW) == [(NOW - 30 * DAY, NOW - 2 * HOUR)]


def ran(lane: str, ago: timedelta, **more: object) -> None:
    """Store a pass that began so long ago."""
    SyncRun.objects.create(
        project="default", lane=lane, started_at=datetime.now(UTC) - ago, **{"state": "complete", **more}
    )


@pytest.mark.django_db
def test_at_first_every_lane_is_due() -> None:
    """The most urgent one first."""
    assert flows.sync.lanes_due() == ALL == list(LANES)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("lane", "interval"), [("recent", 5 * MINUTE), ("open", HOUR), ("reversals", DAY), ("all", 7 * DAY)]
)
def test_a_lane_is_due_after_its_interval(lane: str, interval: timedelta) -> None:
    """Counted from the beginning of its last complete pass."""
    assert LANES[lane].every == interval
    ran(lane, interval * 0.8)
    assert lane not in flows.sync.lanes_due()
    SyncRun.objects.all().delete()
    ran(lane, interval)
    assert lane in flows.sync.lanes_due()


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["failed", "unreachable", "abandoned", "running"])
def test_a_pass_that_did_not_end_is_tried_again(state: str) -> None:
    """After a quarter of an hour, not after a week."""
    ran("all", 8 * DAY)
    ran("all", 10 * MINUTE, state=state)
    assert "all" not in flows.sync.lanes_due()
    ran("all", 8 * DAY, state=state)
    SyncRun.objects.filter(started_at__gt=datetime.now(UTC) - DAY).update(
        started_at=datetime.now(UTC) - 15 * MINUTE
    )
    assert "all" in flows.sync.lanes_due()


@pytest.mark.django_db
def test_a_pass_over_a_period_does_not_count() -> None:
    """It has not read the rest."""
    ran("all", HOUR, window_from=NOW)
    ran("reversals", HOUR, window_to=NOW)
    assert {"all", "reversals"} <= set(flows.sync.lanes_due())
    ran("recent", MINUTE, window_from=NOW)  # where a pass of this lane begins by itself
    assert "recent" not in flows.sync.lanes_due()


@pytest.mark.django_db
def test_a_lane_that_is_being_read_is_not_due() -> None:
    """A long pass, which began an hour ago, renews its lease with each page."""
    SyncCursor.objects.create(project="default", lane="recent", busy_until=datetime.now(UTC) + MINUTE)
    assert "recent" not in flows.sync.lanes_due()
    SyncCursor.objects.update(busy_until=datetime.now(UTC) - MINUTE)
    assert "recent" in flows.sync.lanes_due()


@pytest.mark.django_db
def test_how_long_nobody_has_synced() -> None:
    """Since the last complete pass of recent orders, or since the installation."""
    assert flows.sync.unsynced_for() == timedelta(0)
    Installation.objects.create(project="default", installed_at=datetime.now(UTC) - 3 * HOUR)
    assert 3 * HOUR <= flows.sync.unsynced_for() < 3 * HOUR + MINUTE
    ran("recent", 2 * HOUR)
    ran("recent", MINUTE, state="failed")
    ran("all", MINUTE)
    assert 2 * HOUR <= flows.sync.unsynced_for("default") < 2 * HOUR + MINUTE
    assert flows.sync.unsynced_for("other") == timedelta(0)


@pytest.mark.django_db
def test_the_example_of_the_page_says_what_is_due(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/sync.md."""
    page: dict[str, object] = {}
    exec(block("docs/sync.md", "# synced.py"), page)
    somebody_syncs = page["somebody_syncs"]
    assert callable(somebody_syncs)
    assert somebody_syncs()
    Installation.objects.create(project="default", installed_at=datetime.now(UTC) - 3 * HOUR)
    assert not somebody_syncs()
    assert capsys.readouterr().out == f"due: {ALL}\n"
