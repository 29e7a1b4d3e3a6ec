"""Counts of staff's queues and of the health on big tables: no table is read whole, whatever the statistics say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from django.apps import apps
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from checkout_integration.flows import operations
from checkout_integration.models import Incident
from tests.support.admin import rows
from tests.support.flows.notified import came, installed

pytestmark = [pytest.mark.django_db, pytest.mark.postgres, pytest.mark.slow]
MANY: Final = 100_000


def multiply(row: models.Model, key: str, **columns: str) -> None:
    """Copy a row MANY times: the column `key` is numbered, `columns` are SQL in which `n` is the number."""
    table = row._meta.db_table
    names = [str(field.column) for field in row._meta.concrete_fields if not field.primary_key]
    changed = {key: f"'{row.pk}-' || n", **columns}
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(names)})"
            f" SELECT {', '.join(changed.get(name, name) for name in names)}"
            f" FROM {table}, generate_series(1, %s) n WHERE id = %s",
            [MANY, row.pk],
        )


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
    tables = [model._meta.db_table for model in apps.get_app_config("checkout_integration").get_models()]
    with connection.cursor() as cursor:
        # Without these names it would lock PostgreSQL's shared tables, which another process of the tests may do as well.
        cursor.execute(f"ANALYZE {', '.join(tables)}")
    each_minute = "now() - n * interval '1 minute'"
    settled = rows.make_order(status="refunded", verdict="review", refunded_at=long_ago, changed_at=long_ago)
    multiply(settled, "order_id", created_at=each_minute)
    settled = rows.make_order(
        status="chargeback", verdict="verified", refunded_at=long_ago, changed_at=long_ago
    )
    multiply(settled, "order_id", created_at=each_minute)
    multiply(rows.make_notification("applied", state="applied"), "key", received_at=each_minute)
    incident = rows.make_incident(None)
    Incident.objects.filter(pk=incident.pk).update(resolved_at=now)
    multiply(incident, "key")


def read_rows(plan: dict[str, Any]) -> int:
    """How many rows the nodes of a plan took from tables and indexes, those that a filter left out included."""
    own = 0
    if "Scan" in plan["Node Type"]:
        own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return int(own) + sum(read_rows(each) for each in plan.get("Plans", ()))


@pytest.mark.parametrize("look", [operations.health, operations.staff_queues])
def test_no_count_reads_a_big_table(look: Callable[[], object]) -> None:
    """Rows that are settled cost nothing, in a hundred thousand of them."""
    fill()
    with CaptureQueriesContext(connection) as seen:
        look()
    with connection.cursor() as cursor:
        for select in [each["sql"] for each in seen if each["sql"].startswith("SELECT")]:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {select}")
            ((found,),) = cursor.fetchall()
            assert read_rows(found[0]["Plan"]) < 5_000, f"{select}\n{found}"
