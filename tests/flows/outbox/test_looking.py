"""Looks at the queue of a busy shop: how the database reads the runs that are running."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkout_integration.flows import operations
from checkout_integration.flows.outbox.claiming import look_at_queue
from checkout_integration.models import ReceiverRun
from tests.support.plans import empty_tables, fill_queue, plans_of


@pytest.mark.django_db
@pytest.mark.postgres
@pytest.mark.parametrize("look", [lambda: look_at_queue(200), operations.queue_state])
def test_running_runs_are_read_in_the_order_of_their_index(look: Callable[[], object]) -> None:
    """PostgreSQL removes the entries of runs that have ended when it reads in order; a bitmap passes them each time."""
    empty_tables()
    fill_queue()
    read = [plan for plan in plans_of(look) if "FOR " not in plan.statement]
    assert read
    table = ReceiverRun._meta.db_table
    assert [plan for plan in read if table in plan.tables_read("Bitmap Heap Scan")] == []
