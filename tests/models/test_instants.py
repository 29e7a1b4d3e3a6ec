"""Moments on hosts that keep local time: what is stored is read back, in the hour that comes twice too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection

from checkout_integration.models import Installation, Order
from checkout_integration.testing.factories import OrderFactory

pytestmark = pytest.mark.django_db

NEW_YORK = ZoneInfo("America/New_York")
HALF_PAST_ONE = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
"""In New York; an hour later it is half past one again."""
MOMENTS = [HALF_PAST_ONE, HALF_PAST_ONE + timedelta(hours=1)]


@pytest.fixture(autouse=True, params=[True, False], ids=["USE_TZ", "no USE_TZ"])
def host(request: pytest.FixtureRequest, settings: Any) -> None:
    """A project that lives in New York, with time zones and without."""
    settings.USE_TZ = request.param
    settings.TIME_ZONE = "America/New_York"


def stored() -> list[datetime]:
    """Return the stored moments, in the order of time."""
    return list(Installation.objects.order_by("installed_at").values_list("installed_at", flat=True))


def test_moments_come_back_as_they_went_in() -> None:
    """In UTC, and in their order, although the clock on the wall showed the same."""
    for number, moment in enumerate(reversed(MOMENTS)):
        Installation.objects.create(project=str(number), installed_at=moment.astimezone(NEW_YORK))
    assert stored() == MOMENTS
    assert {moment.utcoffset() for moment in stored()} == {timedelta(0)}


def test_moments_are_compared_as_moments() -> None:
    """A wait that ends in the second half past one has not ended in the first."""
    Installation.objects.create(project="late", installed_at=MOMENTS[1])
    due = Installation.objects.filter(installed_at__lte=MOMENTS[0])
    assert (due.exists(), due.update(installed_at=MOMENTS[0])) == (False, 0)


def test_a_database_that_keeps_no_zones_keeps_utc() -> None:
    """A project may turn USE_TZ on later: its rows stay right."""
    if connection.features.supports_timezones:
        pytest.skip("its columns are moments by themselves")
    Installation.objects.create(project="one", installed_at=MOMENTS[0])
    with connection.cursor() as cursor:
        cursor.execute("SELECT installed_at FROM checkout_integration_installation")
        assert "05:30:00" in str(cursor.fetchone()[0])


@pytest.mark.filterwarnings("ignore:DateTimeField:RuntimeWarning")
def test_naive_time_is_the_local_one() -> None:
    """So a shop without USE_TZ may ask with its own times."""
    Installation.objects.create(project="one", installed_at=datetime(2026, 7, 1, 12))  # noqa: DTZ001
    assert stored() == [datetime(2026, 7, 1, 16, tzinfo=UTC)]


def test_rows_know_when_they_were_written() -> None:
    """Both times are aware, on the instance and in the table."""
    begun = datetime.now(UTC)
    order = OrderFactory()
    for instance in (order, Order.objects.get()):
        assert begun <= instance.recorded_at <= instance.changed_at <= datetime.now(UTC)
