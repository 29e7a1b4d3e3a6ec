"""Claiming runs: a batch of one receiver's runs, each of another line.

A claim is committed before the first attempt: it counts the attempt, sets the fence, and takes the turns of the lines, which
a unique column keeps from being taken twice. While an attempt runs, its transaction holds the lock of the run's row: so a
running run that can be locked is not being attempted. Either it waits in its process, which gives it back after `HOLD`
unless it is stuck in a receiver, or that process has died. After `GRACE` another process takes it; the fence then keeps the
first one from it.

*Slots.* A worker has as many slots as receivers can run in it at the same time: threads of ``checkout_work``, or the
concurrency of a Celery worker. Each slot claims runs of one receiver under one fence, which begins with the worker's name, so
the running rows say how many of its slots a receiver has, whichever processes the worker is made of.
"""

from __future__ import annotations

import random
import secrets
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from checkout_integration.flows.database.connection import acquire_write_lock, locked, state_database
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.outbox.grants import note_begun
from checkout_integration.flows.outbox.lines import HEADS, hold_back
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import SIGNALS, checkout_paid

BATCH = 20
"""How many runs are claimed at once."""
WINDOW = 200
"""How many due runs are looked at to choose a batch."""
HOLD = timedelta(seconds=1)
"""How long a process keeps runs that it has claimed and not begun; then it gives them back."""
GRACE = timedelta(seconds=5)
"""How long a claimed run that nobody attempts is left to the process that claimed it. Clocks must agree to within this."""
MOST_TRIES = 10
"""How often a claim is tried that others were quicker at, before the rest is left to them."""
State = ReceiverRun.State


@dataclass(frozen=True)
class Worker:
    """Who runs receivers, ``slots`` of them at the same time; with a name of its own each time it starts."""

    slots: int
    name: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def share(self) -> int:
        """How many slots one receiver may have while others wait."""
        return max(1, self.slots // 2)

    @property
    def most(self) -> int:
        """How many slots one receiver may have while no other waits: all but one, and all if there is no other."""
        connected = {name for signal in SIGNALS.values() for name in signal.connected(Order)}
        return self.slots if len(connected) <= 1 else max(self.share, self.slots - 1)


@dataclass(frozen=True)
class _Running:
    """The runs that are running, read without a lock: few, at most a batch for each slot there is."""

    runs: Sequence[ReceiverRun]

    @property
    def busy(self) -> set[int]:
        """Lines whose turn is taken."""
        return {run.line for run in self.runs if run.line is not None}

    @property
    def slow(self) -> set[str]:
        """Receivers that are running for longer than a batch is held: of these no run waits behind another."""
        before = datetime.now(UTC) - 2 * HOLD
        return {run.receiver for run in self.runs if run.due_at <= before}

    def without_a_slot(self, worker: Worker | None, most: int) -> set[str]:
        """Return the receivers that have so many of the worker's slots, or more."""
        slots = defaultdict(set)
        for run in self.runs:
            if worker is not None and run.fence.startswith(worker.name):
                slots[run.receiver].add(run.fence)
        return {receiver for receiver, fences in slots.items() if len(fences) >= most}


def claim(
    limit: int = BATCH, worker: Worker | None = None, lines: Collection[int] | None = None
) -> list[ReceiverRun]:
    """Return runs that are this process's to attempt, all of one receiver; none when nothing is left to claim.

    ``lines``: only runs of these.
    """
    for number in range(MOST_TRIES):
        running = with_retries(_running)
        if left := _left_behind(running.runs, lines):
            if taken := with_retries(partial(_take_over, left, worker)):
                return taken
            running = with_retries(_running)
        most, window = _window(running, worker, lines)
        if not window:
            return []
        # The oldest run's receiver; after a lost race any other, since somebody else works at that end of the queue.
        receiver = random.choice(window).receiver if number else window[0].receiver  # noqa: S311  # no secret
        candidates = [run for run in window if run.receiver == receiver]
        # No run waits in one slot while another slot has nothing to do.
        size = min(limit, max(1, len(candidates) // (worker.slots if worker else 1)))
        size = 1 if receiver in running.slow else size
        claimed = with_retries(partial(_claim, candidates, size, worker, window))
        if claimed and worker is not None and _has_too_many(receiver, worker, most):
            give_back(claimed)
            continue
        if claimed:
            return claimed
    return []


def _has_too_many(receiver: str, worker: Worker, most: int) -> bool:
    """Return whether the receiver got more slots of the worker than it may have.

    RACE: two slots may have counted at the same moment. Both look here after their commit: the later one sees both.
    """
    return worker.slots > 1 and receiver in with_retries(_running).without_a_slot(worker, most + 1)


def give_back(runs: Sequence[ReceiverRun]) -> None:
    """Make claimed runs that were not begun due again, as if they had not been claimed. Where a fence is still ours."""
    if runs:
        ours = ReceiverRun.objects.using(state_database()).filter(state=State.RUNNING, fence=runs[0].fence)
        since = min(run.due_at for run in runs)
        given = {"state": State.DUE, "exclusive": None, "attempts": F("attempts") - 1, "due_at": since}
        with_retries(lambda: ours.filter(pk__in=[run.pk for run in runs]).update(**given))


def left_behind_before() -> datetime:
    """Return the moment before which a running run must have been claimed to be taken over, if it can be locked."""
    return datetime.now(UTC) - GRACE


def _runs() -> QuerySet[ReceiverRun]:
    return ReceiverRun.objects.using(state_database())


def _running() -> _Running:
    return _Running(list(_runs().filter(state=State.RUNNING).only("line", "receiver", "fence", "due_at")))


def _left_behind(runs: Sequence[ReceiverRun], lines: Collection[int] | None) -> list[int]:
    before = left_behind_before()
    return [run.pk for run in runs if run.due_at <= before and (lines is None or run.line in lines)]


def _take_over(keys: Sequence[int], worker: Worker | None) -> list[ReceiverRun]:
    """Claim anew what a dead process left, one run alone: it may be what has killed it. Others are given back.

    A process that has died holds no lock at all; one that is stuck in a receiver holds that run's. So what has the fence of a
    run that is locked was not begun: it becomes due, and its attempt is not counted.
    """
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        left = _runs().filter(pk__in=keys, state=State.RUNNING, due_at__lte=left_behind_before())
        free = list(locked(left, wait=False).order_by("due_at", "pk"))
        others = _runs().filter(fence__in={run.fence for run in free}, state=State.RUNNING)
        living = set(others.exclude(pk__in=[run.pk for run in free]).values_list("fence", flat=True))
        unbegun = [run.pk for run in free if run.fence in living]
        if unbegun:
            _runs().filter(pk__in=unbegun).update(state=State.DUE, exclusive=None, attempts=F("attempts") - 1)
        return _mark([run for run in free if run.fence not in living][:1], worker)


def _window(
    running: _Running, worker: Worker | None, lines: Collection[int] | None
) -> tuple[int, list[ReceiverRun]]:
    """Return the oldest due runs whose line is free, and how many slots their receivers may have."""
    due = _runs().filter(state=State.DUE, due_at__lte=datetime.now(UTC))
    if lines is not None:
        due = due.filter(line__in=lines)
    if running.busy:
        due = due.exclude(line__in=running.busy)
    due = due.only("line", "receiver", "message", "due_at").order_by("due_at", "pk")
    if worker is None:
        return 0, list(due[:WINDOW])
    full = running.without_a_slot(worker, worker.share)
    window = list((due.exclude(receiver__in=full) if full else due)[:WINDOW])
    if window or not full:
        return worker.share, window
    # Nobody else waits.
    full = running.without_a_slot(worker, worker.most)
    return worker.most, list((due.exclude(receiver__in=full) if full else due)[:WINDOW])


def _claim(
    candidates: Sequence[ReceiverRun], limit: int, worker: Worker | None, window: Sequence[ReceiverRun]
) -> list[ReceiverRun]:
    try:
        with transaction.atomic(using=state_database()):
            acquire_write_lock()
            return _claim_free(candidates, limit, worker, {run.receiver for run in window})
    except IntegrityError:
        # RACE: another process, which chose among other receivers, has taken the turn of one of these lines.
        return []


def _claim_free(
    candidates: Sequence[ReceiverRun], limit: int, worker: Worker | None, receivers: Collection[str]
) -> list[ReceiverRun]:
    """Claim what nobody has locked, and whose turn it is: in each line the oldest of what is due, of these receivers."""
    due = _runs().filter(pk__in=[run.pk for run in candidates], state=State.DUE)
    free = list(locked(due, wait=False).order_by("due_at", "pk")[:limit])
    # RACE: read after the rows were locked, so what another process claims is seen as running, or is older and due.
    others: dict[int | None, list[ReceiverRun]] = defaultdict(list)
    for other in _runs().filter(line__in=[run.line for run in free if run.line is not None], state__in=HEADS):
        others[other.line].append(other)
    behind = [run for run in free if any(_is_head_of(other, run) for other in others[run.line])]
    if behind:
        hold_back(behind)
    now = datetime.now(UTC)
    turn = [
        run
        for run in free
        if run not in behind
        and not any(_goes_first(other, run, now, receivers) for other in others[run.line])
    ]
    return _mark(_begin(turn), worker)


def _is_head_of(other: ReceiverRun, run: ReceiverRun) -> bool:
    return other.receiver == run.receiver and other.message_id < run.message_id


def _goes_first(other: ReceiverRun, run: ReceiverRun, now: datetime, receivers: Collection[str]) -> bool:
    if other.state == State.RUNNING:
        return True
    older = (other.due_at, other.pk) < (run.due_at, run.pk)
    return older and other.due_at <= now and other.receiver in receivers


def _begin(runs: Sequence[ReceiverRun]) -> list[ReceiverRun]:
    """Read the messages of these runs of one receiver, and note on their grants that it begins."""
    messages = OutboxMessage.objects.using(state_database()).select_related("grant", "transition")
    by_key = messages.in_bulk([run.message_id for run in runs]) if runs else {}
    for run in runs:
        run.message = by_key[run.message_id]
    granting = [run for run in runs if run.message.signal == checkout_paid.name and run.message.grant_id]
    if not granting:
        return list(runs)
    noted = note_begun({run.message.grant_id for run in granting if run.message.grant_id}, runs[0].receiver)
    return [run for run in runs if run not in granting or run.message.grant_id in noted]


def _mark(runs: Sequence[ReceiverRun], worker: Worker | None) -> list[ReceiverRun]:
    """Write the claim, and make the rows in memory say so; but for ``due_at``, which `give_back` restores."""
    name = worker.name if worker else secrets.token_hex(8)
    fence = name + secrets.token_hex(8)
    if runs:
        claimed = _runs().filter(pk__in=[run.pk for run in runs])
        claimed.update(
            state=State.RUNNING,
            attempts=F("attempts") + 1,
            fence=fence,
            exclusive=F("line"),
            due_at=datetime.now(UTC),
        )
    for run in runs:
        run.state, run.attempts, run.fence = State.RUNNING, run.attempts + 1, fence
    return list(runs)
