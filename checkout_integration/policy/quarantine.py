"""Which notifications are too far in the future to be applied."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

MOST_AHEAD: Final = timedelta(days=2)
"""A notification from further in the future would win every later comparison of times (WHK-05)."""


def is_quarantined(created_at: datetime | None, now: datetime) -> bool:
    """Return whether a notification that was created then has to wait for a person, judged by the clock as it is now."""
    return created_at is not None and created_at > now + MOST_AHEAD
