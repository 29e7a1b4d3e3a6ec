"""Which stored notifications are due, and taking them: by state, never by "id greater than the last seen"."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connections
from django.db.models import Q, QuerySet

from checkout_integration.flows.database.connection import locked, state_database
from checkout_integration.models import Notification


def due(among: Q | None = None) -> QuerySet[Notification]:
    """Return the notifications that are to be applied now, in the order in which they became due."""
    rows = Notification.objects.using(state_database()).filter(due_at__lte=datetime.now(UTC))
    return (rows.filter(among) if among else rows).order_by("due_at")


def claim(rows: QuerySet[Notification], most: int) -> list[Notification]:
    """Return up to ``most`` of these, locked until the transaction ends, in the order in which they were received.

    RACE: what another process has in hand is left to it. Where the database cannot skip locked rows, it is waited for, and
    its rows are not due any more.
    """
    waits = not connections[rows.db].features.has_select_for_update_skip_locked
    claimed = list(locked(rows, wait=waits)[:most])
    return sorted(claimed, key=lambda row: (row.received_at, row.pk))
