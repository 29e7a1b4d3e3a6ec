"""The admin of a large shop beside that of a small one: two databases, read by turns by the same process."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from django.contrib.auth.models import User
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks import many_rows, product
from benchmarks.admin_pages import PERIODS, money, pages
from benchmarks.figures import Effort
from benchmarks.product import NotMeasured
from benchmarks.vacuum import vacuum
from checkout_integration.flows import monitoring
from checkout_integration.models import Notification
from tests.support.admin import rows

TURNS: Final = 3
VISITS: Final = 1
"""So many visits of a page in each turn are counted, after one that warms up."""
BIG: Final = 20_000
"""Rows of a table that no page may read through."""
INDEX_SCANS: Final = {"Index Scan", "Index Only Scan"}
READ_FIRST: Final = {"Sort", "Aggregate", "Hash"}
"""Steps that read all of what is below them before the first row, whatever the limit above them."""
SLOWER: Final = 1.3
"""Pages that are so much slower in the large shop are named."""


def measured(effort: Effort) -> dict[str, float]:
    """Return the worst ratio of each kind of page, how many pages read a table through, and what money and health take."""
    if connection.vendor != "postgresql":
        raise NotMeasured("the goals are stated for PostgreSQL, and rows are copied in its SQL")
    product.empty()
    viewer = User.objects.create_superuser("benchmarks")
    client = Client()
    client.force_login(viewer)
    common, rare, waiting = map(many_rows.made, many_rows.KINDS)
    few, many = (orders // 10 for orders in (effort.few, effort.shop))
    _fill(common, rare, range(1, few))
    many_rows.copy(waiting, range(1, few, many_rows.RARE))
    vacuum()
    addresses = pages(viewer)
    with _copied_database() as small:
        _fill(common, rare, range(few, many))
        vacuum()
        print(f"The large shop has {effort.shop:,} orders.", file=sys.stderr, flush=True)
        figures = _compared(client, addresses, small)
    figures |= {name: _seconds(partial(client.get, money(days))) for name, days in PERIODS.items()}
    _make_due(10 * effort.stored)
    figures["health"] = min(_seconds(monitoring.health) for _ in range(TURNS)) * 1000
    return figures


def _fill(common: many_rows.Keys, rare: many_rows.Keys, numbers: range) -> None:
    many_rows.copy(common, numbers)
    many_rows.copy(rare, range(numbers.start, numbers.stop, many_rows.RARE))


def _make_due(count: int) -> None:
    """Store so many notifications that can be applied, and as many receiver runs that can be run."""

    def one_of_each() -> None:
        rows.make_waiting_notification("stored")
        rows.make_run(rows.make_order(checkout=rows.make_checkout()), state="due", finished_at=None)

    keys = many_rows.made(one_of_each)
    Notification.objects.filter(state="stored").update(due_at=rows.NOON)
    many_rows.copy(keys, range(1, count))
    vacuum()


@contextmanager
def _copied_database() -> Iterator[BaseDatabaseWrapper]:
    """Yield a connection to a copy of the database, which goes with the block."""
    name = connection.settings_dict["NAME"]
    small = connections.create_connection("default")
    small.settings_dict = {**small.settings_dict, "NAME": f"{name}_small"}
    connection.close()
    _execute_outside(f'CREATE DATABASE "{name}_small" TEMPLATE "{name}"')
    try:
        yield small
    finally:
        small.close()
        _execute_outside(f'DROP DATABASE "{name}_small"')


def _execute_outside(sql: str) -> None:
    with connection._nodb_cursor() as cursor:  # noqa: SLF001  # as Django makes databases for tests
        cursor.execute(sql)


def _compared(
    client: Client, addresses: Mapping[str, list[str]], small: BaseDatabaseWrapper
) -> dict[str, float]:
    """Return the worst ratio of each kind of page. Pages that are slower, or that read a table through, are named.

    A week of a large shop has more rows than one of a small shop, and each row that is shown takes time: such a page is
    compared with the whole list of the small shop, which shows as many.
    """
    worst, read_through = dict.fromkeys(addresses, 0.0), 0
    whole_lists: dict[str, float] = {}
    for kind, of_kind in addresses.items():
        for address in of_kind:
            few, many = _visits(client, address, small)
            whole_list = whole_lists.setdefault(address.partition("?")[0], few.seconds)
            beside = max(few.seconds, whole_list) if many.shown > few.shown else few.seconds
            ratio = many.seconds / beside
            worst[kind] = max(worst[kind], ratio)
            found = _read_through(client, address)
            read_through += bool(found)
            if ratio > SLOWER or found:
                shown = f"{beside * 1000:.0f} ms {many.seconds * 1000:.0f} ms"
                print(f"{ratio:.2f}  {shown}  {address}  {', '.join(found)}", file=sys.stderr, flush=True)
    return {**worst, "read through": read_through}


class Visits(NamedTuple):
    """Visits of a page of one shop: their median, and how many rows of a list it shows."""

    seconds: float
    shown: int


def _visits(client: Client, address: str, small: BaseDatabaseWrapper) -> list[Visits]:
    """Return the visits of a page in the small shop and in the large one, by turns."""
    large = connections["default"]
    spent: dict[BaseDatabaseWrapper, list[float]] = {small: [], large: []}
    shown: dict[BaseDatabaseWrapper, int] = {}
    try:
        for _ in range(TURNS):
            for database in spent:
                connections["default"] = database
                shown[database] = _visit(client, address)
                spent[database] += [_seconds(partial(_visit, client, address)) for _ in range(VISITS)]
    finally:
        connections["default"] = large
    return [Visits(statistics.median(seconds), shown[database]) for database, seconds in spent.items()]


def _visit(client: Client, address: str) -> int:
    """Open a page, and return how many rows of a list it shows."""
    response = client.get(address)
    if response.status_code != 200:
        raise RuntimeError(f"{address} has the status {response.status_code}")
    context = getattr(response, "context_data", None) or {}
    return len(context["cl"].result_list) if "cl" in context else 0


def _read_through(client: Client, address: str) -> list[str]:
    """Return the big tables, or their indexes, that a page reads from end to end."""
    with CaptureQueriesContext(connection) as captured:
        client.get(address)
    selects = {
        query["sql"] for query in captured.captured_queries if query["sql"].startswith(("SELECT", "("))
    }
    return sorted({scan for sql in selects for scan, read in whole_scans(_plan(sql)) if _rows_of(read) > BIG})


def _plan(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql.replace('%', '%%')}", [])
        (plan,) = cursor.fetchone()
    (root,) = json.loads(plan) if isinstance(plan, str) else plan
    return root["Plan"]


def whole_scans(node: Mapping[str, Any], *, limited: bool = False) -> Iterator[tuple[str, str]]:
    """Yield what a plan reads to its end, each with the table or index that it reads."""
    kind = node["Node Type"]
    limited = (limited or kind == "Limit") and kind not in READ_FIRST
    if kind == "Seq Scan" or (kind in INDEX_SCANS and "Index Cond" not in node and not limited):
        yield f"{kind} of {node['Relation Name']}", node.get("Index Name", node["Relation Name"])
    for child in node.get("Plans", ()):
        yield from whole_scans(child, limited=limited)


def _rows_of(table_or_index: str) -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = %s", [table_or_index])
        return float(cursor.fetchone()[0])


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
