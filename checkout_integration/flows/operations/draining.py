"""Due work: apply stored notifications, then run the receivers."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from asgiref.sync import sync_to_async

from checkout_integration.flows import inbox, outbox
from checkout_integration.flows.database import Command, with_retries
from checkout_integration.flows.inbox import ApplySummary, NotificationRow
from checkout_integration.flows.outbox import RunSummary, Worker
from checkout_integration.models import Notification, OutboxMessage, ReceiverRun

LEFT_AFTER: Final = timedelta(seconds=1)
"""Work that became due just now is left to the request that stored it; other processes would only disturb it."""
LOOK_EVERY: Final = 1.0
"""For how many seconds a process that found no work left by others does not look again."""
OWN_LEFT: Final = Command(
    """SELECT EXISTS (
        SELECT 1 FROM {notifications} own WHERE own.project = {project} AND own.object_id = {order_id}
            AND CASE WHEN own.due_at <= {now} THEN 1 END = 1
    ), EXISTS (
        SELECT 1 FROM {runs} run WHERE run.line IN {lines} AND run.state = 'due' AND run.due_at <= {now}
    )""",
    notifications=Notification,
    runs=ReceiverRun,
)
LEFT: Final = Command(
    """SELECT 1 FROM {notifications} stored WHERE stored.due_at <= {left} UNION ALL
    SELECT 1 FROM {messages} message WHERE message.state = 'new' AND message.recorded_at <= {left} UNION ALL
    SELECT 1 FROM {runs} run WHERE run.state = 'due' AND run.due_at <= {left}
        AND NOT EXISTS (SELECT 1 FROM {runs} busy WHERE busy.exclusive = run.line) UNION ALL
    SELECT 1 FROM {runs} run WHERE run.state = 'running' AND run.due_at <= {dead}
    LIMIT 1""",
    runs=ReceiverRun,
    messages=OutboxMessage,
    notifications=Notification,
)
APPLIED_AT_ONCE: Final = 500
"""How many notifications are applied before receivers run: a long backlog of notifications must not stop the receivers."""


@dataclass(frozen=True, kw_only=True)
class DueSummary:
    """The result of `run_due`.

    Attributes:
        applied: notifications that were applied.
        waiting: notifications that failed or are quarantined.
        run: receivers that were run.
        failed: how many of these receivers failed.
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
    worker: Worker | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> DueSummary:
    """Apply stored notifications and run due receivers, until nothing is due.

    Args:
        limit: how many receivers at most.
        seconds: after this time no further work is begun.
        worker: the worker that this slot belongs to; a receiver has at most half of its slots while others wait.
        stopping: called after each batch and each receiver; True ends the work.

    """
    ends_at, total = time.monotonic() + seconds, DueSummary()
    # RACE: rows stored while a batch was applied are seen by the next look, which comes after the batch's commit. So
    # a process whose last published notification is not applied yet need not publish again (`tasks.publish`).
    while True:
        # Half of the time is for receivers.
        applied = inbox.apply_due(
            APPLIED_AT_ONCE, fan_out=True, seconds=_left(ends_at) / 2, stopping=stopping
        )
        ran = outbox.run_due(limit - total.run, _left(ends_at), worker=worker, stopping=stopping)
        total += _summary(applied, ran)
        over = total.run >= limit or time.monotonic() >= ends_at or stopping()
        if over or not applied.looked_at:
            return replace(total, ended_early=over or applied.ended_early or ran.ended_early)


async def arun_due(limit: int = 200, seconds: float = 30.0) -> DueSummary:
    """Do what `run_due` does, from a coroutine: in a thread, as Django's own asynchronous calls do."""
    return await sync_to_async(run_due)(limit, seconds)


def run_own(applied: ApplySummary, notification: NotificationRow | None, limit: int, seconds: float) -> None:
    """Run the receivers of notifications that were just applied.

    First the claimed runs, then up to ``limit`` other due runs of their lines. After each it looks whether more are due:
    most payments have one receiver, and a claim that finds nothing costs more than a look. The look is also the one after
    the commit of ``notification`` (`inbox.apply_stored`): the events of its order that came meanwhile are applied.
    """
    ends_at, lines = time.monotonic() + seconds, applied.lines
    # If nothing was claimed, no process has left anything to this one.
    order = notification if notification and notification.object_id and applied.looked_at else None
    outbox.run_claimed(applied.claimed)
    for _ in range(limit if order or lines else 0):
        if time.monotonic() >= ends_at:
            return
        came, is_due = with_retries(partial(_own_left, order, lines))
        # What is due and cannot be claimed belongs to other processes.
        if came and order and (later := inbox.apply_stored(order)).looked_at:
            lines |= later.lines
            outbox.run_claimed(later.claimed)
        elif not is_due or not outbox.run_due(1, _left(ends_at), lines=lines).run:
            return


def _own_left(order: NotificationRow | None, lines: Collection[int]) -> tuple[bool, bool]:
    """Return whether a notification of the order is due, and whether a run of the lines is."""
    project, order_id = (order.project, order.object_id) if order else ("", "")
    ((came, is_due),) = OWN_LEFT.fetch(project=project, order_id=order_id, lines=lines, now=datetime.now(UTC))
    return bool(came), bool(is_due)


class ThisProcess:
    """The state of this process: the time until which it does not look for work that others left."""

    looks_again_at = 0.0


def is_anything_left() -> bool:
    """Return whether anything has been due for a while, or was begun by a process that is gone.

    After finding nothing, it returns False for a second without looking again.
    """
    if time.monotonic() < ThisProcess.looks_again_at:
        return False
    now = datetime.now(UTC)
    values = {"left": now - LEFT_AFTER, "dead": outbox.left_behind_before()}
    found = bool(with_retries(lambda: LEFT.fetch(**values)))
    ThisProcess.looks_again_at = 0.0 if found else time.monotonic() + LOOK_EVERY
    return found


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
