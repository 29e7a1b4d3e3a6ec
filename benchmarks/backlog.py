"""A backlog of hours: how evenly workers drain it, what the status costs meanwhile, what a web process does for others."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.test import override_settings

from benchmarks import left_behind, payments, product
from benchmarks.figures import Effort
from benchmarks.messages import handle
from benchmarks.processes import worker
from benchmarks.vacuum import vacuumed
from checkout_integration import flows
from checkout_integration.models import Notification

NOTIFICATIONS, DUE, WAITING = 10, 7, 3
"""So many times what an effort keeps in the tables."""
WORKERS = 2
REQUESTS = 10
INTERVAL = 0.25
PATIENCE = 3600.0
SLOW = 50
"""Milliseconds in which the status should be there."""


class Sample(NamedTuple):
    """How far the workers were at a moment, in seconds; milliseconds of the status, of its own work, and of a bare statement.

    The bare statement shows how long the machine lets anybody wait while workers and database use all of its processors.
    """

    at: float
    applied: int
    run: int
    status: float
    working: float
    bare: float


def drained(effort: Effort) -> dict[str, float]:
    """Make a backlog, measure a web request against it, then let workers drain it; return the figures."""
    product.empty()
    left_behind.waiting_runs(effort.stored * WAITING)
    left_behind.due_runs(effort.stored * DUE)
    left_behind.notifications(effort.stored * NOTIFICATIONS)
    # Without a budget first: what a fresh process does for its own payment is no work for others.
    own = _request(budget=0)
    for_others = _request(budget=200) - own
    with vacuumed():
        samples = _drain()
    ends_at = next(number for number, sample in enumerate(samples) if sample.applied == samples[-1].applied)
    statuses = [sample.status for sample in samples]
    return {
        "seconds": samples[-1].at,
        "applied evenly": evenness([(sample.at, sample.applied) for sample in samples[: ends_at + 1]]),
        # While notifications are applied too, receivers have a part of the time only.
        "run evenly": evenness([(sample.at, sample.run) for sample in samples[ends_at:]]),
        "status": max(statuses),
        "median status": statistics.median(statuses),
        "late statuses": sum(status > SLOW for status in statuses) / len(statuses) * 1000,
        "bare statement": max(sample.bare for sample in samples),
        "status works": max(sample.working for sample in samples),
        "others": for_others,
        "idle": _milliseconds(flows.run_due),
    }


def evenness(progress: Sequence[tuple[float, int]]) -> float:
    """Return the rate of the last quarter of the work beside that of the first; 1 where there was no time to see it.

    A quarter takes more than a minute, so that each has its part of the vacuums.
    """
    (begun, first), (_, last) = progress[0], progress[-1]
    quarter = (last - first) / 4
    fast = _reached(progress, first + quarter) - begun
    slow = progress[-1][0] - _reached(progress, last - quarter)
    return fast / slow if quarter and slow > 0 else 1.0


def _reached(progress: Sequence[tuple[float, int]], goal: float) -> float:
    """Return when this much was done, interpolated between two samples."""
    before = progress[0]
    for after in progress:
        if after[1] >= goal:
            part = (goal - before[1]) / (after[1] - before[1]) if after[1] > before[1] else 0.0
            return before[0] + part * (after[0] - before[0])
        before = after
    return before[0]


def _drain() -> list[Sample]:
    """Let the workers drain it all; return samples of their progress."""
    notifications, run = _stored(), product.completed()
    goal = product.due() + notifications
    with ExitStack() as stack:
        for _ in range(WORKERS):
            stack.enter_context(worker(product.WORKER))
        begun, samples = time.monotonic(), list[Sample]()
        while not samples or samples[-1].run < goal:
            time.sleep(INTERVAL)
            working = time.process_time()
            status = _milliseconds(flows.operations.queue_state)
            working = (time.process_time() - working) * 1000
            bare = _milliseconds(_bare_statement)
            at = time.monotonic() - begun
            done = notifications - _stored(), product.completed() - run
            samples.append(Sample(at, *done, status, working, bare))
            if at > PATIENCE:
                raise RuntimeError(f"the workers have done {samples[-1]} of {goal}")
    return samples


def _bare_statement() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _stored() -> int:
    return Notification.objects.filter(due_at__isnull=False).count()


def _request(budget: int) -> float:
    """Return the milliseconds of a request with such a budget until all is done, after its response too."""
    application = get_wsgi_application()
    chosen = {**settings.CHECKOUT_INTEGRATION, product.RUNNER: "request", "REQUEST_BUDGET": budget / 1000}
    with override_settings(CHECKOUT_INTEGRATION=chosen):
        messages = payments.of_new_checkouts(REQUESTS)
        spent = [_milliseconds(lambda message=message: handle(application, message)) for message in messages]  # type: ignore[misc]
    return max(spent) if budget else statistics.median(spent)


def _milliseconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000
