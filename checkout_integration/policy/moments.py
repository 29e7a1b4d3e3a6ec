"""Moments as text that sorts by time, and what has no time: a notification or list row with a broken date.

A date that cannot be read costs that date only. The notification is stored and applied, and what it says of a field is older
than what any dated one says, so it never wins over them (docs/merge.md). Only where times decide which of several attempts
or payments was the first does one without a time come last.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

NO_TIME: Final = ""
"""Sorts before every time."""
BEHIND_ALL_TIMES: Final = "~"


def stamp(moment: datetime | None) -> str:
    """Return a moment as text that sorts by time and fits JSON; "" (sorts first) for no time.

    Aware datetimes in UTC only: ``protocol.values.parse_moment`` makes no others.
    """
    # Not strftime, whose %Y writes the year 999 with three digits on some systems: it would sort behind 2024.
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z" if moment else NO_TIME
