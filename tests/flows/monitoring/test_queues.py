"""Counts of staff's queues and of the health on big tables: no table is read whole, whatever the statistics say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from checkout_integration.flows import operations
from checkout_integration.models import Incident
from tests.support.admin import rows
from tests.support.flows.notified import came, installed
from tests.support.plans import analyze, empty_tables, multiply, plans_of

pytestmark = [pytest.mark.django_db, pytest.mark.postgres, pytest.mark.slow]
MANY: Final = 20_000


def fill() -> None:
    """Make the tables big, after their statistics were made: PostgreSQL believes that most rows are what is counted."""
    now = datetime.now(UTC)
    installed(now - timedelta(days=300))
    for days in range(50):
        before = now - timedelta(days=days)
        rows.make_order(verdict="review", created_at=before)
        rows.make_order(status="chargeback", refunded_at=before, created_at=before)
        came(now, state="failed")
        came(now, state="quarantined")
        rows.make_incident(None)
    long_ago = now - timedelta(days=60)
    analyze()
    each_minute = "now() - n * interval '1 minute'"
    settled = rows.make_order(status="refunded", verdict="review", refunded_at=long_ago, changed_at=long_ago)
    multiply(settled, "order_id", MANY, created_at=each_minute)
    settled = rows.make_order(
        status="chargeback", verdict="verified", refunded_at=long_ago, changed_at=long_ago
    )
    multiply(settled, "order_id", MANY, created_at=each_minute)
    multiply(rows.make_notification("applied", state="applied"), "key", MANY, received_at=each_minute)
    incident = rows.make_incident(None)
    Incident.objects.filter(pk=incident.pk).update(resolved_at=now)
    multiply(incident, "key", MANY)


@pytest.mark.parametrize("look", [operations.health, operations.staff_queues])
def test_no_count_reads_a_big_table(look: Callable[[], object]) -> None:
    """Rows that are settled cost nothing, in twenty thousand of them."""
    empty_tables()
    fill()
    for plan in plans_of(look, executed=True):
        assert plan.rows_read() < 5_000, plan
