"""Looks at due notifications and their claims: which rows they read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkout_integration.flows.inbox.claiming import head_of, heads
from checkout_integration.models import Notification
from tests.support.admin import rows

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def look_at_all() -> None:
    """Look at every order; the oldest row is behind another, so that the look goes on to all rows."""
    first, _ = (rows.make_notification("1", state="received", due_at=NOW) for _ in range(2))
    assert heads(1) == [first.pk]
    assert heads(1, [first.pk]) == []


def look_at_one() -> None:
    """Look at one order."""
    received: dict[str, Any] = {
        "secret_position": 0,
        "body": None,
        "received_at": NOW,
        "last_received_at": NOW,
    }
    notification = Notification(key="", body_hash="", project="default", object_id="1", **received)
    head_of(notification)(1, ())


@pytest.mark.skipif(
    connection.vendor != "sqlite", reason="others choose their indexes by the rows that there are"
)
@pytest.mark.parametrize("look", [look_at_all, look_at_one])
def test_no_look_reads_all_rows_of_a_project(look: Callable[[], None]) -> None:
    """SQLite chooses among indexes without knowing their rows: it must find those of an order by the order."""
    with CaptureQueriesContext(connection) as captured:
        look()
    plans = []
    for query in captured.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plans += [step for *_, step in cursor.fetchall() if "USING INDEX" in step]
    allowed = ("ci_notification_due (due_at>?)", "ci_notification_object (object_id=?)")
    assert plans
    assert [step for step in plans if not step.endswith(allowed)] == []
