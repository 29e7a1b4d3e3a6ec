"""Everything that the benchmarks use of this app: its settings, its webhook, what applies and runs, and what it has done."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection
from django.db.backends.utils import CursorWrapper

WEBHOOK: Final = "/checkout/webhook/"
SECRET: Final = "benchmarks_secret_of_a_shop"
RUNNER: Final = "RUNNER"
LONGEST_WAIT: Final = 120.0
WORKER: Final = ["django", "checkout_work", "--no-sync"]
AT_A_TIME: Final = 1_000


class NotMeasured(Exception):
    """Something cannot be measured here; the text says why."""


def settings(runner: str, list_url: str) -> dict[str, Any]:
    """Return the setting `CHECKOUT_INTEGRATION` of a shop whose work is done by this runner, and that reads this list."""
    return {
        "PROJECTS": {"default": {"PROJECT_ID": "benchmarks", "SECRET_KEY": SECRET}},
        "BASE_URL": "https://service.invalid",
        "CHECKOUT_URL": "https://service.invalid",
        "ORDER_FORM_URL": "https://service.invalid/form",
        "LIST_URL": list_url,
        "ALLOW_HTTP_LOOPBACK": True,
        RUNNER: runner,
    }


def apply_due(batch: int) -> int:
    """Apply what is stored, so many notifications at a time; return how many were applied."""
    from checkout_integration.flows import inbox

    return inbox.apply_due(batch=batch).applied


def run_due(limit: int) -> int:
    """Run receivers that are due, at most so many of them; return how many were run."""
    from checkout_integration import flows

    return flows.run_due(limit=limit).run


def stored() -> int:
    """Return how many notifications are stored."""
    from checkout_integration.models import Notification

    return Notification.objects.count()


def verified() -> int:
    """Return how many orders are paid and verified."""
    from checkout_integration.models import Order

    return Order.objects.filter(verdict="verified").count()


def historic() -> int:
    """Return how many orders are from before the installation."""
    from checkout_integration.models import Order

    return Order.objects.filter(verdict="historic").count()


def refunded() -> int:
    """Return how many orders are refunded."""
    from checkout_integration.models import Order

    return Order.objects.refunded().count()


def changed_by_the_last_pass() -> int:
    """Return how many orders the last pass through the transaction list has changed."""
    from checkout_integration.models import SyncRun

    return SyncRun.objects.latest("pk").changed


def completed() -> int:
    """Return how many receiver runs are done."""
    from checkout_integration.models import ReceiverRun

    return ReceiverRun.objects.filter(state=ReceiverRun.State.DONE).count()


def due() -> int:
    """Return how many receiver runs could be run now."""
    from checkout_integration.models import ReceiverRun

    return ReceiverRun.objects.filter(state=ReceiverRun.State.DUE, due_at__lte=datetime.now(UTC)).count()


def install_now() -> None:
    """Let the app be installed at this moment, so that older orders are historic."""
    from checkout_integration.models import Installation

    Installation.objects.update_or_create(project="default", defaults={"installed_at": datetime.now(UTC)})


def make_checkouts(references: Iterable[str], products: Sequence[str]) -> None:
    """Store an open checkout of these products for each reference."""
    from checkout_integration.models import Checkout
    from checkout_integration.protocol.vocabulary import OrderType

    made = (
        Checkout(
            reference=reference,
            project="default",
            type=OrderType.PRODUCT,
            products=list(products),
            status=Checkout.Status.OPEN,
        )
        for reference in references
    )
    while some := list(islice(made, AT_A_TIME)):
        Checkout.objects.bulk_create(some)


def empty() -> None:
    """Empty our tables, so that each measurement meets the same; when the app was installed stays known."""
    from checkout_integration.models import Installation

    tables = [table for table in _tables() if table != Installation._meta.db_table]
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))


def room() -> int:
    """Return how many bytes our tables take with their indexes, after a VACUUM FULL of each."""
    if connection.vendor != "postgresql":
        raise NotMeasured("the goal is stated for tables of PostgreSQL")
    size = 0
    with connection.cursor() as cursor:
        _wait_for_older_transactions(cursor)
        for table in _tables():
            cursor.execute(f"VACUUM FULL {connection.ops.quote_name(table)}")
            cursor.execute("SELECT pg_total_relation_size(%s::regclass)", [table])
            size += cursor.fetchone()[0]
    return size


def _wait_for_older_transactions(cursor: CursorWrapper) -> None:
    """Wait until all have ended that began before now, in whatever database: what they may see is not removed."""
    cursor.execute("SELECT txid_current()")
    (now,) = cursor.fetchone()
    ends_at = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < ends_at:
        cursor.execute("SELECT txid_snapshot_xmin(txid_current_snapshot())")
        if cursor.fetchone()[0] >= now:
            return
        time.sleep(0.1)
    raise NotMeasured("somebody's transaction on this server does not end, and keeps rows that were replaced")


def _tables() -> list[str]:
    models = apps.get_app_config("checkout_integration").get_models(include_auto_created=True)
    return [model._meta.db_table for model in models]
