"""One look at the queue, without a lock: whether a message is new, which runs are running, and the oldest due runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NamedTuple

from checkout_integration.flows.database import Command
from checkout_integration.models import OutboxMessage, ReceiverRun

HOLD = timedelta(seconds=1)
"""How long a process has runs that it has claimed and not begun, before it gives them back."""
GRACE = timedelta(seconds=5)
"""How long a claimed run that is not attempted is left to the process that claimed it. Clocks must not differ by more."""

MOST_RUNNING = 100_000
"""More runs than are ever running: the limit makes the database read an index in its order."""


class Running(NamedTuple):
    """A run that is running.

    ``is_slow``: for longer than a claimed batch may wait. ``is_late``: for so long that it is taken over if it can be locked.
    """

    key: int
    line: int | None
    receiver: str
    fence: str
    is_slow: bool
    is_late: bool


class Due(NamedTuple):
    """A run that is due, whether or not it is the turn of it in its line."""

    key: int
    line: int | None
    receiver: str


class Look(NamedTuple):
    """The result of a look. ``due``: the oldest first. ``all_due``: there are no more than these."""

    any_new: bool
    running: Sequence[Running]
    due: Sequence[Due]
    all_due: bool

    @property
    def busy(self) -> set[int]:
        """Lines in which a run is running."""
        return {run.line for run in self.running if run.line is not None}

    @property
    def slow(self) -> set[str]:
        """Receivers that have been running for longer than a claimed batch may wait: their runs are claimed one by one."""
        return {run.receiver for run in self.running if run.is_slow}

    def with_slots(self, worker: str, least: int) -> set[str]:
        """Return the receivers that have at least so many of the worker's slots."""
        slots = defaultdict(set)
        for run in self.running:
            if run.fence.startswith(worker):
                slots[run.receiver].add(run.fence)
        return {receiver for receiver, fences in slots.items() if len(fences) >= least}


def look_at_queue(
    size: int,
    lines: Collection[int] | None = None,
    *,
    busy: Collection[int] = (),
    full: Collection[str] = (),
) -> Look:
    """Look at the queue: at up to ``size`` due runs, but none of the lines ``busy`` and of the receivers ``full``.

    With ``lines`` only due runs of these lines are read, and new messages are not looked for.
    """
    now = datetime.now(UTC)
    values: dict[str, object] = {
        "now": now,
        "slow": now - 2 * HOLD,
        "late": left_behind_before(),
        "most": MOST_RUNNING,
    }
    places = {"lines": lines, "busy": busy or None, "full": full or None}
    given = {name: value for name, value in places.items() if value is not None}
    values |= {"size": size, **given}
    found = defaultdict(list)
    for kind, *row in _looking(*given).fetch(**values):
        found[kind].append(row)
    due = sorted(found["due"], key=lambda row: row[4])
    return Look(
        any_new=bool(found["new"]),
        running=[Running(*row) for row in found["running"]],
        due=[Due(*row[:3]) for row in due],
        all_due=len(due) < size,
    )


def left_behind_before() -> datetime:
    """Return the time before which a running run must have been claimed, so that it is taken over if it can be locked."""
    return datetime.now(UTC) - GRACE


@cache
def _looking(*given: str) -> Command:
    conditions = "".join(condition for name, condition in _CONDITIONS.items() if name in given)
    parts = [_RUNNING, *([] if "lines" in given else [_NEW]), _DUE.replace("[conditions]", conditions)]
    return Command(" UNION ALL ".join(parts), in_order=True, messages=OutboxMessage, runs=ReceiverRun)


_CONDITIONS: Final = {
    "lines": " AND due.line IN {lines}",
    "busy": " AND (due.line IS NULL OR due.line NOT IN {busy})",
    "full": " AND due.receiver NOT IN {full}",
}
_RUNNING: Final = """
    SELECT running.state, running.id, running.line, running.receiver, running.fence,
    CASE WHEN running.due_at <= {slow} THEN 1 ELSE 0 END, CASE WHEN running.due_at <= {late} THEN 1 ELSE 0 END FROM (
        SELECT run.state, run.id, run.line, run.receiver, run.fence, run.due_at FROM {runs} run
        WHERE run.state = 'running' ORDER BY run.due_at, run.id LIMIT {most}
    ) running"""
_NEW: Final = """
    SELECT 'new', first_new.id, NULL, NULL, NULL, NULL, NULL FROM (
        SELECT message.id FROM {messages} message WHERE message.state = 'new' LIMIT 1
    ) first_new"""
_DUE: Final = """
    SELECT oldest.state, oldest.id, oldest.line, oldest.receiver, NULL,
    ROW_NUMBER() OVER (ORDER BY oldest.due_at, oldest.id), NULL FROM (
        SELECT due.state, due.id, due.line, due.receiver, due.due_at FROM {runs} due
        WHERE due.state = 'due' AND due.due_at <= {now}[conditions]
        ORDER BY due.due_at, due.id LIMIT {size}
    ) oldest"""
