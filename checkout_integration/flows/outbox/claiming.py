"""One look at the queue, without a lock; and claims of what is due: a batch of one receiver's runs, each of another line.

A claim is committed before the first attempt. It counts the attempt, sets the fence, and takes the turns of the lines; a
unique column prevents that a turn is taken twice. While an attempt runs, its transaction has the lock of the run's row. So a
running run that can be locked is not being attempted: either it waits in its process, which gives it back after `HOLD` unless
that process is stuck in a receiver, or the process has died. After `GRACE` another process takes it over; the fence then
keeps the first process from it.

*Slots.* A worker has as many slots as receivers can run in it at the same time: threads of ``checkout_work``, or the
concurrency of a Celery worker. Each slot claims runs of one receiver under one fence, which begins with the worker's name. So
the running rows show how many slots of the worker a receiver has, even if the worker has several processes.
"""

from __future__ import annotations

import random
import secrets
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Final, NamedTuple

from django.db import IntegrityError
from django.db.models import F, Q

from checkout_integration.flows.database import (
    Command,
    Query,
    database_now,
    in_transaction,
    locked,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.outbox.exclusivity import hold_back
from checkout_integration.flows.outbox.receivers import known_names
from checkout_integration.models import Order, ReceiverRun
from checkout_integration.signals import SIGNALS

BATCH = 20
"""How many runs are claimed at once."""
WINDOW = 200
"""How many due runs are read to choose a batch."""
MOST_TRIES = 10
"""How often a claim is tried again after other processes were faster, before the rest is left to them."""
State = ReceiverRun.State
HOLD = timedelta(seconds=1)
"""How long a process has runs that it has claimed and not begun, before it gives them back."""
GRACE = timedelta(seconds=5)
"""How long a claimed run that is not attempted is left to the process that claimed it."""

MOST_RUNNING = 100_000
"""More runs than are ever running: the limit makes the database read an index in its order."""


class Running(NamedTuple):
    """A run that is running.

    ``is_slow``: for longer than a claimed batch may wait. ``is_late``: it is taken over if it can be locked, since it was
    claimed long ago, or by a clock that was ahead.
    """

    key: int
    line: str | None
    receiver: str
    fence: str
    is_slow: bool
    is_late: bool


class Due(NamedTuple):
    """A run that is due, whether or not it is the turn of it in its line."""

    key: int
    line: str | None
    receiver: str


class Look(NamedTuple):
    """The result of a look. ``due``: the oldest first. ``all_due``: there are no more than these."""

    running: Sequence[Running]
    due: Sequence[Due]
    all_due: bool

    @property
    def busy(self) -> set[str]:
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
    lines: Collection[str] | None = None,
    *,
    busy: Collection[str] = (),
    full: Collection[str] = (),
) -> Look:
    """Look at the queue: at up to ``size`` due runs, but none of the lines ``busy`` and of the receivers ``full``.

    Runs whose receiver this process does not know are left to others.

    With ``lines`` only due runs of these lines are read.
    """
    now = database_now()
    values: dict[str, object] = {
        "now": now,
        "slow": now - 2 * HOLD,
        "late": left_behind_before(),
        "ahead": now + GRACE,
        "most": MOST_RUNNING,
    }
    places = {"lines": lines, "busy": busy or None, "full": full or None}
    given = {name: value for name, value in places.items() if value is not None}
    values |= {"size": size, "known": known_names(), **given}
    found = defaultdict(list)
    for kind, *row in _looking(*given).fetch(**values):
        found[kind].append(row)
    due = sorted(found["due"], key=lambda row: row[4])
    return Look(
        running=[Running(*row) for row in found["running"]],
        due=[Due(*row[:3]) for row in due],
        all_due=len(due) < size,
    )


def left_behind_before() -> datetime:
    """Return the time before which a running run must have been claimed, so that it is taken over if it can be locked."""
    return database_now() - GRACE


@cache
def _looking(*given: str) -> Command:
    conditions = "".join(condition for name, condition in _CONDITIONS.items() if name in given)
    sql = f"{_RUNNING} UNION ALL {_DUE.replace('[conditions]', conditions)}"
    return Command(sql, in_order=True, runs=ReceiverRun)


_CONDITIONS: Final = {
    "lines": " AND due.line IN {lines}",
    "busy": " AND (due.line IS NULL OR due.line NOT IN {busy})",
    "full": " AND due.receiver NOT IN {full}",
}
_RUNNING: Final = """
    SELECT running.state, running.id, running.line, running.receiver, running.fence,
    CASE WHEN running.due_at <= {slow} THEN 1 ELSE 0 END,
    CASE WHEN running.due_at <= {late} OR running.due_at > {ahead} THEN 1 ELSE 0 END FROM (
        SELECT run.state, run.id, run.line, run.receiver, run.fence, run.due_at FROM {runs} run
        WHERE run.state = 'running' ORDER BY run.due_at, run.id LIMIT {most}
    ) running"""
# A run that was never claimed is due, whatever clock has stamped it.
_DUE: Final = """
    SELECT oldest.state, oldest.id, oldest.line, oldest.receiver, NULL,
    ROW_NUMBER() OVER (ORDER BY oldest.due_at, oldest.id), NULL FROM (
        SELECT due.state, due.id, due.line, due.receiver, due.due_at FROM {runs} due
        WHERE due.state = 'due' AND (due.due_at <= {now} OR due.fence = '') AND due.receiver IN {known}[conditions]
        ORDER BY due.due_at, due.id LIMIT {size}
    ) oldest"""


@dataclass(frozen=True)
class Worker:
    """A worker that runs up to ``slots`` receivers at the same time; it gets a new name each time it starts."""

    slots: int
    name: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def share(self) -> int:
        """The number of slots that one receiver may have while others wait."""
        return max(1, self.slots // 2)

    @property
    def most(self) -> int:
        """The number of slots that one receiver may have while no other waits: all but one; all if it is the only one."""
        connected = {name for signal in SIGNALS.values() for name in signal.connected(Order)}
        return self.slots if len(connected) <= 1 else max(self.share, self.slots - 1)


def look_for(limit: int, lines: Collection[str] | None = None) -> Look:
    """Look for runs to claim; more than ``limit`` are read, so that there is a choice."""
    return with_retries(partial(look_at_queue, min(WINDOW, 10 * limit), lines))


def claim(
    limit: int = BATCH,
    worker: Worker | None = None,
    lines: Collection[str] | None = None,
) -> list[ReceiverRun]:
    """Claim runs of one receiver for this process, and return them; none when nothing is left to claim.

    ``lines``: only runs of these lines.
    """
    for number in range(MOST_TRIES):
        look = look_for(limit, lines)
        if left := [run.key for run in look.running if run.is_late and (lines is None or run.line in lines)]:
            if taken := _take_over(left, worker):
                return taken
            look = look_for(limit, lines)
        most, window = _window(look, worker, lines)
        if not window:
            return []
        # The receiver of the oldest run; after a lost race a random one, since another process works at that end.
        receiver = random.choice(window).receiver if number else window[0].receiver  # noqa: S311  # no secret
        candidates = [run.key for run in window if run.receiver == receiver]
        # Leave runs for the other slots: none should wait in one slot while another slot has nothing to do.
        size = min(limit, max(1, len(candidates) // (worker.slots if worker else 1)))
        size = 1 if receiver in look.slow else size
        claimed = with_retries(partial(_claim, candidates, size, worker))
        if claimed and worker is not None and _has_too_many(receiver, worker, most):
            give_back(claimed)
        elif claimed:
            return claimed
    return []


def _has_too_many(receiver: str, worker: Worker, most: int) -> bool:
    """Return whether the receiver got more slots of the worker than it may have.

    RACE: two slots may have counted at the same moment. Both look again here, after their commit: the later one sees both.
    """
    return worker.slots > 1 and receiver in look_for(0).with_slots(worker.name, most + 1)


def give_back(runs: Sequence[ReceiverRun]) -> None:
    """Make claimed runs that were not begun due again, as if never claimed. Only those that still have our fence."""
    if runs:
        ours = ReceiverRun.primary.filter(state=State.RUNNING, fence=runs[0].fence)
        since = min([database_now(), *(run.due_at for run in runs)])
        given = {"state": State.DUE, "exclusive": None, "attempts": F("attempts") - 1, "due_at": since}
        with_retries(lambda: ours.filter(pk__in=[run.pk for run in runs]).update(**given))


@in_transaction
def _take_over(keys: Sequence[int], worker: Worker | None) -> list[ReceiverRun]:
    """Take over one run of a dead process, alone: it may have killed the process. Runs that were not begun become due again.

    A process that has died has no lock at all; one that is stuck in a receiver has the lock of that run. So a run that has
    the same fence as a locked run was not begun: it becomes due, and its attempt is not counted.
    """
    late = Q(due_at__lte=left_behind_before()) | Q(due_at__gt=database_now() + GRACE)
    left = ReceiverRun.primary.filter(late, pk__in=keys, state=State.RUNNING)
    free = list(locked(left, wait=False).order_by("due_at", "pk"))
    others = ReceiverRun.primary.filter(fence__in={run.fence for run in free}, state=State.RUNNING)
    living = set(others.exclude(pk__in=[run.pk for run in free]).values_list("fence", flat=True))
    unbegun = [run.pk for run in free if run.fence in living]
    if unbegun:
        ReceiverRun.primary.filter(pk__in=unbegun).update(
            state=State.DUE, exclusive=None, attempts=F("attempts") - 1
        )
    begun = [run for run in free if run.fence not in living]
    # Of a receiver that this process does not know, the attempt counts too, and others do the next one.
    foreign = [run.pk for run in begun if run.receiver not in known_names()]
    if foreign:
        ReceiverRun.primary.filter(pk__in=foreign).update(state=State.DUE, exclusive=None)
    return _mark([run for run in begun if run.pk not in foreign][:1], worker)


def _window(look: Look, worker: Worker | None, lines: Collection[str] | None) -> tuple[int, list[Due]]:
    """Return how many slots a receiver may have, and the oldest due run of each line whose receiver may have one more."""
    if worker is None:
        return 0, _oldest_of_lines(look, lines, set())
    # If no other receiver waits, one may have more slots.
    for most in dict.fromkeys((worker.share, worker.most)):
        if window := _oldest_of_lines(look, lines, look.with_slots(worker.name, most)):
            break
    return most, window


def _oldest_of_lines(look: Look, lines: Collection[str] | None, full: Collection[str]) -> list[Due]:
    """Return the runs that could be claimed: of each line the one that has been due for longest, whose turn is next."""
    busy = look.busy
    due = [run for run in look.due if run.line not in busy and run.receiver not in full]
    if not due and not look.all_due:
        due = list(with_retries(partial(look_at_queue, WINDOW, lines, busy=busy, full=full)).due)
    first: dict[str | None, int] = {}
    return [run for run in due if run.line is None or first.setdefault(run.line, run.key) == run.key]


def _claim(candidates: Sequence[int], limit: int, worker: Worker | None) -> list[ReceiverRun]:
    try:
        with write_transaction():
            return _claim_free(candidates, limit, worker)
    except IntegrityError:
        # RACE: another process, which chose among other receivers, has taken the turn of one of these lines.
        return []


def _claim_free(candidates: Sequence[int], limit: int, worker: Worker | None) -> list[ReceiverRun]:
    """Claim runs that nobody has locked and whose turn it is.

    RACE: the rows are locked as they are now, but other runs of their lines may have changed since the statement began. If
    one was claimed meanwhile, it has taken the turn, and the mark fails on that. If a head was in front then, it still is, or
    it has ended just now: the run behind it is left for the next look.
    """
    free = _FREE.rows(keys=candidates, size=limit)
    if len(free) < min(limit, len(candidates)):
        hold_back(candidates)
    return _mark(free, worker)


def _mark(runs: Sequence[ReceiverRun], worker: Worker | None) -> list[ReceiverRun]:
    """Write the claim to the rows, also in memory; but ``due_at`` stays there, since `give_back` restores it.

    The fence is new, and begins with the worker's name, if there is a worker.
    """
    fence = (worker.name if worker else secrets.token_hex(8)) + secrets.token_hex(8)
    if runs:
        _MARK.execute(keys=[run.pk for run in runs], fence=fence, now=database_now())
    for run in runs:
        run.state, run.attempts, run.fence = State.RUNNING, run.attempts + 1, fence
    return list(runs)


# A subquery for one row finds a run in front: no planner turns it into a join, which would read all due runs.
_FREE: Final = Query(
    ReceiverRun,
    """own.id IN {keys} AND own.state = 'due' AND (
        SELECT other.id FROM {runs} other WHERE other.line = own.line
            AND other.state IN ('due', 'running') AND (
            other.state = 'running' OR (other.receiver = own.receiver AND other.message_id < own.message_id)
        ) LIMIT 1
    ) IS NULL ORDER BY own.due_at, own.id LIMIT {size}""",
    only=("message", "receiver", "line", "attempts", "due_at"),
    lock=("own",),
    waits=False,
    runs=ReceiverRun,
)
_MARK: Final = Command(
    """UPDATE {runs} SET state = 'running', attempts = attempts + 1, fence = {fence}, exclusive = line, due_at = {now}
    WHERE id IN {keys}""",
    runs=ReceiverRun,
)
