"""Looks at the queue of a busy shop: how the database reads the runs that are running."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkout_integration.flows import operations
from checkout_integration.flows.outbox.looking import look_at_queue
from checkout_integration.models import OutboxMessage, ReceiverRun

DONE, RUNNING = 5_000, 80


@pytest.mark.django_db
@pytest.mark.postgres
@pytest.mark.parametrize("look", [lambda: look_at_queue(200), operations.queue_state])
def test_running_runs_are_read_in_the_order_of_their_index(look: Callable[[], object]) -> None:
    """PostgreSQL removes the entries of runs that have ended when it reads in order; a bitmap passes them each time."""
    now = datetime.now(UTC)
    message = OutboxMessage.objects.create(project="default", signal="payment_success", recorded_at=now)
    states = [ReceiverRun.State.DONE] * DONE + [ReceiverRun.State.RUNNING] * RUNNING
    ReceiverRun.objects.bulk_create(
        ReceiverRun(message=message, receiver=f"receiver {number}", state=state, due_at=now)
        for number, state in enumerate(states)
    )
    table = ReceiverRun._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {table}")
    with CaptureQueriesContext(connection) as seen:
        look()
    plans = []
    for select in [each["sql"] for each in seen if table in each["sql"] and "FOR " not in each["sql"]]:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {select}")
            plans.append("\n".join(line for (line,) in cursor.fetchall()))
    assert plans
    assert [plan for plan in plans if f"Bitmap Heap Scan on {table}" in plan] == []
