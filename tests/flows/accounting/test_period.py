"""Days of the books, in zones whose clocks change, as Python and as the database see them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from checkout_integration.flows.accounting import MOST_DAYS, Period
from checkout_integration.models import Order
from tests.support.admin import rows

HOUR = timedelta(hours=1)


def around_changes() -> Iterator[datetime]:
    """Instants around all changes of clocks of 2026, and of midnights."""
    for day in (
        date(2026, 3, 8),
        date(2026, 3, 29),
        date(2026, 4, 5),
        date(2026, 9, 6),
        date(2026, 10, 25),
        date(2026, 11, 1),
    ):
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        yield from (
            midnight + hours * HOUR - timedelta(seconds=odd) for hours in range(-30, 55, 3) for odd in (0, 1)
        )


@pytest.mark.django_db
@pytest.mark.parametrize("use_tz", [True, False])
@pytest.mark.parametrize(
    "zone",
    ["UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kathmandu"],
)
def test_the_database_finds_the_day_of_an_instant(settings: Any, zone: str, use_tz: bool) -> None:
    """The same one as the time zone's own rules, before, on and after each change of the clock."""
    settings.TIME_ZONE, settings.USE_TZ = zone, use_tz
    instants = list(around_changes())
    made = Order.objects.bulk_create(
        Order(order_id=str(number), project="default", created_at=at) for number, at in enumerate(instants)
    )
    period = Period(first=date(2026, 1, 1), last=date(2026, 12, 31))
    found = Order.objects.annotate(day=period.day_of("created_at")).values_list("order_id", "day")
    expected = [(str(number), at.astimezone(ZoneInfo(zone)).date()) for number, at in enumerate(instants)]
    assert sorted(found) == sorted(expected)
    assert len(made) > 300


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Santiago", "Asia/Kathmandu"])
def test_days_follow_each_other_without_a_gap(settings: Any, zone: str) -> None:
    """Each ends where the next begins, also where a day has no midnight."""
    settings.TIME_ZONE = zone
    days = [Period(first=day, last=day) for day in Period(first=date(2026, 1, 1), last=date(2026, 12, 31))]
    assert all(before.end == after.begin for before, after in pairwise(days))
    local = [day.begin.astimezone(ZoneInfo(zone)).date() for day in days]
    assert local == [day.first for day in days]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (date(2026, 3, 2), date(2026, 3, 1)),
        (date(2025, 1, 1), date(2025, 1, 1) + timedelta(days=MOST_DAYS)),
        (date(1, 1, 1), date(1, 1, 2)),
        (date.max, date.max),
    ],
)
def test_there_are_no_books_of_such_days(first: date, last: date) -> None:
    """None, too many, and those that no clock reaches."""
    with pytest.raises(ValueError, match=r"period has between|no books"):
        Period(first=first, last=last)


def test_the_last_days_end_today(settings: Any) -> None:
    """Of the project's zone, where it may be tomorrow already."""
    settings.TIME_ZONE = "Pacific/Kiritimati"
    week = Period.last_days(7)
    assert (week.days, week.last) == (7, datetime.now(ZoneInfo("Pacific/Kiritimati")).date())
    assert week.begin <= datetime.now(UTC) < week.end


@pytest.mark.django_db
def test_an_order_of_no_known_time_has_no_day() -> None:
    """`money_rows` takes the time at which it was first seen."""
    rows.make_order(created_at=None)
    day = Period.last_days(1).day_of("created_at")
    assert list(Order.objects.annotate(day=day).values_list("day", flat=True)) == [None]
