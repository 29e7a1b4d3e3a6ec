"""Notifications by the time at which they came: a shop's history."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Any

from checkout_integration.models import Installation, Notification

WEEK = timedelta(days=7)
_numbers = itertools.count(1)


def installed(at: datetime, project: str = "default") -> None:
    """Install the app at a time."""
    Installation.objects.update_or_create(project=project, defaults={"installed_at": at})


def came(at: datetime, count: int = 1, project: str = "default", **columns: Any) -> None:
    """Store so many notifications that came in the minutes after a time."""
    given = {"state": "applied", "event": "payment.success", "project": project}
    times = [at + timedelta(seconds=number) for number in range(count)]
    Notification.objects.bulk_create(
        Notification(
            key=f"{next(_numbers):032}",
            body_hash="h",
            received_at=time,
            last_received_at=time,
            **{**given, **columns},
        )
        for time in times
    )


def came_each_week(at: datetime, *counts: int, project: str = "default") -> None:
    """Store so many notifications a minute after this time one week before, two weeks before, and so on."""
    for weeks, count in enumerate(counts, 1):
        came(at - weeks * WEEK + timedelta(minutes=1), count, project)
