"""Plans of PostgreSQL, judged on tables that are the test's alone.

A plan follows from more than the rows that a test makes. Rows that an earlier test took back still fill pages of tables and
indexes. The number of rows that an ANALYZE found stays when its transaction is rolled back. Autovacuum counts anew whenever
it likes, and each server has costs of its own. So a test begins with `empty_tables`, fills them with as many rows as the
plan needs, calls `analyze`, and judges what `plans_of` gives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.apps import apps
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from checkout_integration.models import Notification, OutboxMessage, ReceiverRun
from tests.support.flows.notified import came

_numbers = itertools.count(1)

SETTINGS: Final = {
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "seq_page_cost": "1",
    "random_page_cost": "4",
    "cpu_tuple_cost": "0.01",
    "cpu_index_tuple_cost": "0.005",
    "cpu_operator_cost": "0.0025",
    "effective_cache_size": "'4GB'",
    "work_mem": "'4MB'",
    "default_statistics_target": "100",
}
"""PostgreSQL's own defaults, but for what depends on the machine's processors."""


@dataclass(frozen=True)
class Plan:
    """The plan of a statement."""

    statement: str
    root: dict[str, Any]

    def nodes(self) -> Iterator[dict[str, Any]]:
        """Yield its nodes."""
        found = [self.root]
        while found:
            node = found.pop()
            yield node
            found += node.get("Plans", ())

    def kinds(self) -> set[str]:
        """Return the kinds of its nodes, as `Index Scan`."""
        return {node["Node Type"] for node in self.nodes()}

    def indexes(self) -> set[str]:
        """Return the indexes that it reads."""
        return {node["Index Name"] for node in self.nodes() if "Index Name" in node}

    def tables_read(self, kind: str) -> set[str]:
        """Return the tables that nodes of a kind read."""
        return {node["Relation Name"] for node in self.nodes() if node["Node Type"] == kind}

    def rows_read(self) -> int:
        """Return how many rows its nodes took from tables and indexes, those that a filter left out included."""
        return sum(
            int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
            for node in self.nodes()
            if "Scan" in node["Node Type"]
        )


def empty_tables() -> None:
    """Give this transaction new, empty tables of the app, without pages or statistics of others, and fixed costs.

    TRUNCATE makes new files, which are gone with the transaction, and so are their statistics. Its lock keeps autovacuum
    away from them until then.
    """
    assert connection.in_atomic_block, "the tables are the test's alone in a transaction only"
    with connection.cursor() as cursor:
        for name, value in SETTINGS.items():
            cursor.execute(f"SET LOCAL {name} = {value}")
        # Fixtures may have left keys to be checked, and TRUNCATE refuses such tables.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"TRUNCATE {_tables()} CASCADE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def analyze() -> None:
    """Let the planner know the rows that there are now."""
    with connection.cursor() as cursor:
        # By their names: else the shared tables of the server are locked too, as in another process of the tests.
        cursor.execute(f"ANALYZE {_tables()}")


def multiply(row: models.Model, key: str, many: int, **columns: str) -> None:
    """Copy a row so many times: the column `key` is numbered, `columns` are SQL in which `n` is the number."""
    table = row._meta.db_table
    names = [
        str(field.column)
        for field in row._meta.concrete_fields
        if not field.primary_key and not field.generated
    ]
    changed = {key: f"'{next(_numbers)}-' || n", **columns}
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(names)})"
            f" SELECT {', '.join(changed.get(name, name) for name in names)}"
            f" FROM {table}, generate_series(1, %s) n WHERE id = %s",
            [many, row.pk],
        )


def fill_queue(done: int = 5_000, others: int = 80) -> None:
    """Make the queues of a busy shop: so many rows whose work is done, and so many in each other state."""
    now = datetime.now(UTC)
    message = OutboxMessage.objects.create(signal="payment_success", recorded_at=now, state="sent")
    run = ReceiverRun.objects.create(message=message, receiver="0", state="done", due_at=now)
    came(now)
    notification = Notification.objects.get()
    multiply(message, "idempotency_key", done)
    multiply(run, "receiver", done)
    each_second = "now() - n * interval '1 second'"
    for state in ("due", "waiting", "running", "failed"):
        multiply(run, "receiver", others, state=f"'{state}'", due_at=each_second)
    multiply(notification, "key", done)
    multiply(notification, "key", others, state="'failed'", due_at=each_second)
    analyze()


def plans_of(look: Callable[[], object], *, executed: bool = False) -> list[Plan]:
    """Return the plans of the SELECTs of a look, made right after it; ``executed`` ones say how many rows each node read."""
    with CaptureQueriesContext(connection) as seen:
        look()
    options = "ANALYZE, FORMAT JSON" if executed else "FORMAT JSON"
    plans = []
    with connection.cursor() as cursor:
        for select in [each["sql"] for each in seen if each["sql"].lstrip().startswith("SELECT")]:
            cursor.execute(f"EXPLAIN ({options}) {select}")
            ((found,),) = cursor.fetchall()
            plans.append(Plan(select, found[0]["Plan"]))
    assert plans, "it made no statement that could be judged"
    return plans


def _tables() -> str:
    ours = apps.get_app_config("checkout_integration").get_models()
    return ", ".join(connection.ops.quote_name(model._meta.db_table) for model in ours)
