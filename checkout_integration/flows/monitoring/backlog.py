"""The backlog of notifications and receiver runs: for monitors, since a worker can be connected and do nothing.

It is read from indexes only, whatever the length of the queue: the oldest is the first of an index, and counts stop at
`MOST_COUNTED`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connections, transaction

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import Command, instant_of, locked, state_database
from checkout_integration.flows.outbox import MOST_RUNNING, left_behind_before
from checkout_integration.models import Notification, OutboxMessage, ReceiverRun

MOST_COUNTED = 1_000
"""The limit of a count: a count at the limit means that many or more."""
State = ReceiverRun.State


@dataclass(frozen=True, kw_only=True)
class QueueState:
    """Counts of work that waits to be applied or run, and the age of the oldest. Counts stop at 1,000."""

    stored: int
    """Notifications that could be applied now."""
    new: int
    """Outbox messages that are not fanned out yet."""
    due: int
    """Receiver runs that could run now."""
    waiting: int
    """Receiver runs that failed and wait for their next attempt, or wait for a run before them."""
    failing: int
    """Of those that wait, the ones that failed and are retried later."""
    running: int
    """Receiver runs that run now."""
    overdue: int
    """Receiver runs that have run for longer than RECEIVER_DEADLINE."""
    failed: int
    """Receiver runs that were given up after ten attempts; staff can run them again."""
    oldest_seconds: float
    """For how long the oldest work that could be applied or run has been due, in seconds; 0 if there is none."""
    oldest_stored_seconds: float
    """The same for notifications only."""
    oldest_new_seconds: float
    """The same for outbox messages that are not fanned out."""
    oldest_due_seconds: float
    """The same for receiver runs."""


def queue_state() -> QueueState:
    """Return the queue's state now. Waiting work is only counted and has no age: it is not overdue."""
    # One statement while no run was left behind: beside busy workers, each statement may wait for a processor.
    now, late = datetime.now(UTC), left_behind_before()
    deadline = now - timedelta(seconds=app_settings().receiver_deadline)
    values = {
        "now": now,
        "late": late,
        "deadline": deadline,
        "most": MOST_COUNTED,
        "most_running": MOST_RUNNING,
    }
    (found,) = _QUEUE.fetch(**values, dead=[0])
    dead = _left_behind(late) if found[_LATE] else []
    if dead:
        (found,) = _QUEUE.fetch(**values, dead=[run.pk for run in dead])
    running, overdue, _, stored, new, due, later, waiting, failed, *oldest = found
    ages = [(now - instant_of(moment)).total_seconds() if moment is not None else 0.0 for moment in oldest]
    ages[-1] = max([ages[-1], *((now - run.due_at).total_seconds() for run in dead)])
    oldest_stored, oldest_new, oldest_due = (round(max(0.0, age), 3) for age in ages)
    return QueueState(
        stored=stored,
        new=new,
        due=due + len(dead),
        waiting=waiting + later,
        failing=later,
        running=running,
        overdue=overdue,
        failed=failed,
        oldest_seconds=max(oldest_stored, oldest_new, oldest_due),
        oldest_stored_seconds=oldest_stored,
        oldest_new_seconds=oldest_new,
        oldest_due_seconds=oldest_due,
    )


def _left_behind(late: datetime) -> list[ReceiverRun]:
    """Return the running runs that no live process attempts or is about to attempt: those that can be locked.

    Not on SQLite: the one transaction that writes there may be a receiver's.
    """
    alias = state_database()
    if not connections[alias].features.has_select_for_update:
        return []
    # By their keys: locking what is found by an index would hold up new entries of it in MariaDB.
    keys = [key for (key,) in _LATE_KEYS.fetch(late=late, most=MOST_COUNTED)]
    left = ReceiverRun.objects.using(alias).filter(pk__in=keys, state=State.RUNNING, due_at__lte=late)
    with transaction.atomic(using=alias):
        return list(locked(left.only("due_at"), wait=False))


def _counted(table: str, condition: str, order: str) -> str:
    first = _first("1 AS one", table, condition, order)
    return f"(SELECT COUNT(*) FROM ({first} LIMIT {{most}}) counted)"  # noqa: S608


def _oldest(column: str, table: str, condition: str, order: str) -> str:
    return f"({_first(column, table, condition, order)} LIMIT 1)"


def _first(column: str, table: str, condition: str, order: str) -> str:
    """Return the SELECT of the first of an index. Without its order PostgreSQL would read the whole table for a count."""
    return f"SELECT {column} FROM {{{table}}} own WHERE {condition} ORDER BY {order}"  # noqa: S608


_STORED: Final = ("notifications", "own.due_at <= {now}", "own.due_at")
_NEW: Final = ("messages", "own.state = 'new'", "own.id")
_DUE: Final = ("runs", "own.state = 'due' AND own.due_at <= {now}", "own.due_at, own.id")
_LATER: Final = ("runs", "own.state = 'due' AND own.due_at > {now}", "own.due_at, own.id")
_WAITING: Final = ("runs", "own.state = 'waiting'", "own.due_at, own.id")
_FAILED: Final = ("runs", "own.state = 'failed'", "own.due_at, own.id")
_RUNNING: Final = """SELECT * FROM (
        SELECT own.id, own.line, own.due_at FROM {runs} own WHERE own.state = 'running'
        ORDER BY own.due_at, own.id LIMIT {most_running}
    ) listed WHERE listed.id NOT IN {dead}"""
_BUSY: Final = f"SELECT busy.line FROM ({_RUNNING}) busy WHERE busy.line IS NOT NULL"  # noqa: S608
_FREE: Final = ("runs", f"{_DUE[1]} AND (own.line IS NULL OR own.line NOT IN ({_BUSY}))", _DUE[2])
_LATE_KEYS: Final = Command(
    "SELECT id FROM {runs} WHERE state = 'running' AND due_at <= {late} ORDER BY due_at, id LIMIT {most}",
    in_order=True,
    runs=ReceiverRun,
)
_LATE: Final = 2
"""The place of the number of runs that may have been left behind."""
_ATTEMPTED: Final = f"""
    SELECT COUNT(*) AS running,
        COUNT(CASE WHEN attempt.due_at <= {{deadline}} THEN 1 END) AS overdue,
        COUNT(CASE WHEN attempt.due_at <= {{late}} THEN 1 END) AS late
    FROM ({_RUNNING}) attempt"""  # noqa: S608
_COLUMNS: Final = [
    *(_counted(*each) for each in (_STORED, _NEW, _DUE, _LATER, _WAITING, _FAILED)),
    _oldest("own.due_at", *_STORED),
    _oldest("own.recorded_at", *_NEW),
    _oldest("own.due_at", *_FREE),
]
_QUEUE: Final = Command(
    f"SELECT running, overdue, late, {', '.join(_COLUMNS)} FROM ({_ATTEMPTED}) attempted",  # noqa: S608
    in_order=True,
    notifications=Notification,
    messages=OutboxMessage,
    runs=ReceiverRun,
)
