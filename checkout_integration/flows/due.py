"""What is due, whoever does it: apply what is stored, then run the receivers of what it came to."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from checkout_integration.flows import inbox, outbox
from checkout_integration.flows.inbox import ApplySummary
from checkout_integration.flows.outbox import RunSummary, Worker

APPLIED_AT_ONCE: Final = 500
"""So many notifications are applied before receivers have their turn: a long backlog of the one keeps none of the other."""


@dataclass(frozen=True, kw_only=True)
class DueSummary:
    """What `run_due` did.

    Attributes:
        applied: notifications that were applied.
        waiting: notifications that failed or are quarantined.
        run: receivers that were run.
        failed: receivers of those that failed.
        ended_early: whether it ended before all was done.

    """

    applied: int = 0
    waiting: int = 0
    run: int = 0
    failed: int = 0
    ended_early: bool = False

    @property
    def did_anything(self) -> bool:
        """Whether there was anything due."""
        return bool(self.applied or self.waiting or self.run)

    def __add__(self, other: DueSummary) -> DueSummary:
        return DueSummary(
            applied=self.applied + other.applied,
            waiting=self.waiting + other.waiting,
            run=self.run + other.run,
            failed=self.failed + other.failed,
            ended_early=other.ended_early,
        )


def run_due(
    limit: int = 200,
    seconds: float = 30.0,
    *,
    order_ids: Collection[int] | None = None,
    worker: Worker | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> DueSummary:
    """Apply what is stored and run the receivers that are due, until nothing is.

    Args:
        limit: how many receivers at most.
        seconds: after so many nothing further is begun.
        order_ids: primary keys of orders: only receivers of these and their checkouts, and nothing is applied.
        worker: whose slots this is one of; a receiver has at most half of them while others wait.
        stopping: called after each batch and each receiver; True ends the work.

    RACE: what was stored while a batch was applied is seen by the next look, which comes after the batch's commit. So whoever
    finds that what it asked for is not applied yet need not ask again (`tasks.publish`).
    """
    if order_ids is not None:
        own = outbox.run_due(limit, seconds, order_ids=order_ids, worker=worker, stopping=stopping)
        return _summary(ApplySummary(), own)
    ends_at, total = time.monotonic() + seconds, DueSummary()
    while True:
        applied = inbox.apply_due(APPLIED_AT_ONCE, fan_out=True, seconds=_left(ends_at), stopping=stopping)
        ran = outbox.run_due(limit - total.run, _left(ends_at), worker=worker, stopping=stopping)
        total += _summary(applied, ran)
        if total.run >= limit or time.monotonic() >= ends_at or stopping():
            return replace(total, ended_early=True)
        if not applied.looked_at:
            return total


def oldest_due_seconds() -> float:
    """Return for how many seconds the oldest has been left of what could be applied or run; 0 where there is nothing."""
    oldest = inbox.oldest_due()
    stored = (datetime.now(UTC) - oldest).total_seconds() if oldest else 0.0
    return max(stored, outbox.queue_state().oldest_seconds, 0.0)


def _left(ends_at: float) -> float:
    return max(ends_at - time.monotonic(), 0.0)


def _summary(applied: ApplySummary, ran: RunSummary) -> DueSummary:
    return DueSummary(
        applied=applied.applied,
        waiting=applied.waiting,
        run=ran.run,
        failed=ran.failed,
        ended_early=ran.ended_early,
    )
