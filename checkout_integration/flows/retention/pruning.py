"""Old rows, removed kind by kind and in batches, each in a transaction of its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import with_retries, write_transaction
from checkout_integration.flows.retention.kinds import KINDS, Kind

BATCH: Final = 500


def prune_all() -> dict[str, int]:
    """Prune every kind of RETENTION; return how many rows of each. Nothing where RETENTION is empty."""
    return {name: prune(name) for name in app_settings().retention}


def prune(kind: str) -> int:
    """Prune the rows of one kind that are older than its days in RETENTION; return how many.

    Each batch is committed by itself: if this is interrupted, the next call continues. Any number of processes may prune at
    once. Raises ``KeyError`` for a kind without days.
    """
    rule, until = KINDS[kind], _oldest(kind)
    count = last = 0
    while keys := _next(rule, until, last):
        count += with_retries(partial(_prune, rule, keys, until))
        last = keys[-1]
    return count


def count_prunable(kind: str) -> int:
    """Return how many rows `prune` would remove or empty now. Raises ``KeyError`` for a kind without days."""
    return KINDS[kind].due(_oldest(kind)).count()


def _oldest(kind: str) -> datetime:
    return datetime.now(UTC) - timedelta(days=app_settings().retention[kind])


def _next(rule: Kind, until: datetime, last: int) -> list[int]:
    rows = rule.due(until).filter(pk__gt=last).order_by("pk")
    return with_retries(lambda: list(rows.values_list("pk", flat=True)[:BATCH]))


def _prune(rule: Kind, keys: list[int], until: datetime) -> int:
    with write_transaction():
        return rule.remove(keys, until)
