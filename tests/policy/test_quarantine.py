"""Which notifications are too far in the future."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from checkout_integration.policy.quarantine import MOST_AHEAD, is_too_far_ahead

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.mark.spec("WHK-05")
@pytest.mark.parametrize(
    ("created_at", "expected"),
    [
        (NOW + MOST_AHEAD, False),
        (NOW + MOST_AHEAD + timedelta(microseconds=1), True),
        (NOW, False),
        (datetime(2001, 1, 1, tzinfo=UTC), False),
        (None, False),
    ],
)
def test_two_days_ahead_is_the_limit(created_at: datetime | None, expected: bool) -> None:
    """Years old is late, not wrong, and no time at all wins no comparison."""
    assert is_too_far_ahead(created_at, NOW) is expected


@pytest.mark.spec("WHK-05")
def test_the_present_clock_judges() -> None:
    """A notification quarantined because the clock was behind is released when the clock is right."""
    created_at = NOW + timedelta(days=30)
    assert [is_too_far_ahead(created_at, now) for now in (NOW, created_at)] == [True, False]
