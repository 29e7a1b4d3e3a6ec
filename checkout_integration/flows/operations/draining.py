"""Due work: apply stored notifications, then run the receivers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from checkout_integration.flows import inbox, outbox
from checkout_integration.flows.database import (
    TRANSIENT_DATABASE_ERRORS,
    Command,
    Unavailable,
    database_now,
    note_clock,
    with_retries,
)
from checkout_integration.flows.operations.abandoned import send_abandoned
from checkout_integration.flows.operations.alerts import send_alerts
from checkout_integration.flows.outbox import DueSummary, Worker
from checkout_integration.models import Notification, Order, ReceiverRun

OWN_SECONDS = 10.0
"""For how long a web process waits for others where it can do nothing for its own notifications."""
PAUSE: Final = 0.02
"""How long it waits where another process has the notification, or runs a receiver of the same checkout."""
LEFT: Final = Command(
    """SELECT 1 FROM {notifications} own WHERE own.key IN {keys} AND own.state = 'stored' AND own.due_at IS NOT NULL
    UNION ALL
    SELECT 1 FROM {runs} run WHERE run.line IN {lines} AND run.receiver IN {known} AND (
        (run.state = 'due' AND (run.due_at <= {now} OR run.fence = '')) OR (run.state = 'waiting' AND EXISTS (
            SELECT 1 FROM {runs} busy WHERE busy.line = run.line AND busy.state = 'running'
        ))
    )
    LIMIT 1""",
    notifications=Notification,
    runs=ReceiverRun,
)
APPLIED_AT_ONCE: Final = 500
"""How many notifications are applied before receivers run: a long backlog of notifications must not stop the receivers."""


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
        applied = inbox.apply_due(APPLIED_AT_ONCE, seconds=_left(ends_at) / 2, stopping=stopping)
        ran = outbox.run_due(limit - total.run, _left(ends_at), worker=worker, stopping=stopping)
        total += applied + ran
        over = total.run >= limit or time.monotonic() >= ends_at or stopping()
        if over or not (applied.did_anything or send_abandoned() or send_alerts()):
            note_clock()
            return replace(total, ended_early=over or applied.ended_early or ran.ended_early)


class ThisProcess:
    """The notifications that this process has stored and not worked on, and the lock of the one thread that works on them."""

    stored: ClassVar[deque[Notification]] = deque()
    working: ClassVar[threading.Lock] = threading.Lock()


def run_own(notification: Notification) -> bool:
    """Apply what is stored, and run the receivers of a notification that this process has just stored.

    One thread of a process does it for all: neighbours share a batch, and they do not wait for each other's locks. Return
    False if the notification is left to another thread.

    RACE: a thread adds its notification before it tries the lock, and the thread that has the lock looks for more after it
    has given the lock back. So one of them sees it, and the last notification of a day needs no later one.
    """
    ThisProcess.stored.append(notification)
    worked, failure = False, None
    while ThisProcess.stored and ThisProcess.working.acquire(blocking=False):
        worked = True
        try:
            own = [ThisProcess.stored.popleft() for _ in range(len(ThisProcess.stored))]
            _run_own(own)
        except Exception as error:  # noqa: BLE001  # raised below: other threads may have left theirs meanwhile
            failure = error
        finally:
            ThisProcess.working.release()
    if failure:
        raise failure
    return worked


def _run_own(own: Sequence[Notification]) -> None:
    """Work until these are applied, and their runs have begun.

    Another process may have one of them, or a receiver of its checkout, and may die: this waits, and looks again. So it does
    where the database is busy, as SQLite is while another process writes. What is left when others of this process have
    left theirs is worked on together with those.

    RACE: a process may be suspended for longer than it would wait. So it gives up only after a round that did nothing.
    """
    gives_up_at = time.monotonic() + OWN_SECONDS
    while True:
        try:
            applied = inbox.apply_due(seconds=OWN_SECONDS / 2)
            if applied.ended_early:  # a long backlog of others
                inbox.apply_orders_of(own)
            lines = with_retries(partial(_lines_of, own))
            ran = outbox.run_due(seconds=OWN_SECONDS, lines=lines)
            if not with_retries(partial(_is_any_left, own, lines)):
                return
        except (Unavailable, *TRANSIENT_DATABASE_ERRORS):
            if time.monotonic() >= gives_up_at:
                raise
        else:
            if ThisProcess.stored:
                ThisProcess.stored.extend(own)
                return
            if (applied + ran).did_anything:
                gives_up_at = time.monotonic() + OWN_SECONDS
            elif time.monotonic() >= gives_up_at:
                return
        time.sleep(PAUSE)


def _lines_of(own: Sequence[Notification]) -> set[str]:
    places = {(row.project, row.object_id) for row in own if row.object_id}
    orders = Order.primary.filter(order_id__in={order_id for _, order_id in places})
    found = orders.only("project", "order_id", "checkout")
    return {
        line for each in found if (each.project, each.order_id) in places for line in outbox.lines_of(each)
    }


def _is_any_left(own: Sequence[Notification], lines: Collection[str]) -> bool:
    values = {"keys": {row.key for row in own}, "lines": lines, "known": outbox.known_names()}
    return bool(LEFT.fetch(**values, now=database_now()))


def _left(ends_at: float) -> float:
    return max(ends_at - time.monotonic(), 0.0)
