"""Running receivers. Every step may be repeated: rows say what is due, and any number of processes may work at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.outbox.attempt import attempt
from checkout_integration.flows.outbox.claiming import BATCH, HOLD, Worker, claim, give_back
from checkout_integration.flows.outbox.loading import load
from checkout_integration.flows.outbox.messages import fan_out
from checkout_integration.models import Order


@dataclass(frozen=True)
class RunSummary:
    """What `run_due` did: runs run, how many of them failed, and whether it ended before all was run."""

    run: int = 0
    failed: int = 0
    ended_early: bool = False

    def __add__(self, other: RunSummary) -> RunSummary:
        return RunSummary(self.run + other.run, self.failed + other.failed, other.ended_early)


def run_due(
    limit: int = 200,
    seconds: float = 30.0,
    *,
    order_ids: Collection[int] | None = None,
    worker: Worker | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> RunSummary:
    """Run what is due, oldest first, until nothing is, ``limit`` runs have run, or ``seconds`` have passed.

    Args:
        limit: how many runs at most.
        seconds: after how many of them no further run is begun.
        order_ids: primary keys of orders: only what is due of their lines, their checkouts' or their own.
        worker: whose slots this is one of; a receiver has at most half of them while others wait.
        stopping: called after each run; True ends the work.

    """
    ends_at = time.monotonic() + seconds
    lines = None if order_ids is None else with_retries(lambda: _lines_of(order_ids))
    fan_out(ends_at, lines=lines)
    summary = RunSummary()
    while not summary.ended_early:
        # One that has no time left may still begin one.
        claimed = claim(min(BATCH, limit - summary.run), worker, lines)
        if not claimed:
            break
        held_until = time.monotonic() + HOLD.total_seconds()
        prepared = with_retries(lambda runs=claimed: load(runs))  # type: ignore[misc]
        while prepared:
            outcome = attempt(prepared.pop(0))
            over = summary.run + 1 >= limit or time.monotonic() >= ends_at or stopping()
            summary += RunSummary(
                run=int(outcome is not None), failed=int(outcome is False), ended_early=over
            )
            if over or time.monotonic() >= held_until:
                break
        give_back([left.run for left in prepared])
    return summary


def _lines_of(order_ids: Collection[int]) -> set[int]:
    """Return the lines of orders: of each its own, which it has without a checkout, and its checkout's."""
    orders = Order.objects.using(state_database()).filter(pk__in=order_ids, checkout__isnull=False)
    return {-key for key in order_ids} | set(orders.values_list("checkout_id", flat=True))
