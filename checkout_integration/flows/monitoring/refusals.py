"""Refused requests to the webhook, counted in Django's default cache: nobody can make the database work by forgeries.

Each project has a counter for every ten minutes; those of the last hour are summed. Where the cache belongs to one process,
as Django's default does, each process sees its own count. A cache in the database is not used.
"""

from __future__ import annotations

import time
from typing import Final

from django.core.cache import cache, caches
from django.core.cache.backends.db import BaseDatabaseCache
from django.core.cache.backends.dummy import DummyCache
from django.utils.translation import gettext as _

PERIOD: Final = 600
PERIODS: Final = 7
"""The period that is running and the six before it: an hour at least."""
LIFETIME: Final = 2 * 3600
REST: Final = 30.0
"""Seconds in which nothing is counted after the cache failed: a refusal must not wait for it."""
NO_PROJECT: Final = ""
"""Stands for all addresses of projects that the settings do not have: a stranger must not choose keys."""


class ThisProcess:
    """The back-off of the cache in this process."""

    resting_until = 0.0


def count_refused(project: str) -> None:
    """Count one refused request to a project's webhook. Never raises, and takes no SQL statement."""
    if not _is_usable() or time.monotonic() < ThisProcess.resting_until:
        return
    (key,) = _keys(project, 1)
    try:
        cache.add(key, 0, LIFETIME)
        cache.incr(key)
    except Exception:  # noqa: BLE001  # each cache has its own errors
        ThisProcess.resting_until = time.monotonic() + REST


def refused_lately(project: str) -> int | None:
    """Return how many requests were refused in the last hour, up to ten minutes more; None if nobody counts them."""
    if not _is_usable():
        return None
    try:
        return sum(map(int, cache.get_many(_keys(project, PERIODS)).values()))
    except Exception:  # noqa: BLE001  # as above
        return None


def _keys(project: str, count: int) -> list[str]:
    period = int(time.time() // PERIOD)
    return [f"checkout_integration.refused.{project}.{period - back}" for back in range(count)]


def _is_usable() -> bool:
    return not isinstance(caches["default"], BaseDatabaseCache | DummyCache)


def not_counted() -> str:
    """Return the sentence that says why nothing is counted."""
    return _(
        "Refused requests are not counted: Django's default cache is in the database, keeps nothing, or does not respond."
    )
