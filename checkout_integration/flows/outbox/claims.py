"""Claiming runs: which may run now, and whose they are.

Claims are made by conditional updates with a fence, so that any number of processes may work at the same time.

*Slots.* A worker has as many slots as receivers can run in it at the same time: threads of ``checkout_work``, or the
concurrency of a Celery worker. One receiver holds at most half of them: a run that runs carries a slot of its receiver
in a unique column, there are half as many of these as the worker has slots, and who finds none leaves the run due. So a
receiver that is slow can never keep a worker from running the others. The rows count, not the threads: the rule holds in
each worker, whichever processes it is made of.
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Min, Q, QuerySet

from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.database.statement import ask
from checkout_integration.flows.ledger.fulfilment import note_receiver
from checkout_integration.flows.outbox.lease import lease_end
from checkout_integration.models import ReceiverRun
from checkout_integration.signals import checkout_paid

_Place = tuple[datetime, int]
"""Of a run in the queue: when it is due, and its key."""
UNFINISHED = (ReceiverRun.State.DUE, ReceiverRun.State.RUNNING)
BEGINNING = datetime.fromtimestamp(0, UTC)
WINDOW = 100
"""How many runs are looked up at once; each is claimed by itself."""
MOST_LOST = 10
"""How many claims in a row a process may lose to others before it leaves the rest to them."""


@dataclass(frozen=True)
class Worker:
    """Who runs receivers, ``slots`` of them at the same time; with a name of its own each time it starts."""

    slots: int
    name: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def share(self) -> int:
        """How many of its slots one receiver may hold."""
        return max(1, self.slots // 2)

    def slots_of(self, receiver: str) -> list[str]:
        """The slots that a receiver may hold, as they stand in its runs."""
        digest = hashlib.sha256(receiver.encode()).hexdigest()[:32]
        return [f"{self.name}:{digest}:{number}" for number in range(self.share)]


def ready(without: Collection[str] = ()) -> Iterator[list[ReceiverRun]]:
    """Receiver runs that may run now, oldest first, a window at a time: due, or left behind by a process that died.

    Those of one checkout, or of one order without a checkout, run one at a time; one that waits to be tried again holds back
    later ones of its own receiver.
    ``without``: receivers whose due runs are left out, looked at before each window.

    Small statements, each on an index: one statement for all of it is left to a planner that knows nothing yet of a queue
    which has just grown, and has taken minutes over it.
    """
    now = datetime.now(UTC)
    for state in (ReceiverRun.State.RUNNING, ReceiverRun.State.DUE):
        window = [(BEGINNING, 0)]
        while window := _behind(window[-1], state, now, without):
            yield _not_held_back([key for _, key in window], now)


def _behind(place: _Place, state: ReceiverRun.State, now: datetime, without: Collection[str]) -> list[_Place]:
    """The next window of the queue, behind this place in it."""
    full = sorted(without) if state == ReceiverRun.State.DUE else []
    return ask(_places, state=state.value, now=now, due_at=place[0], key=place[1], without=full)


def _places(
    *, state: str, now: datetime, due_at: datetime, key: int, without: list[str]
) -> QuerySet[ReceiverRun, _Place]:
    left = ReceiverRun.objects.using(state_database()).filter(state=state, due_at__lte=now)
    behind = left.filter(
        Q(due_at__gt=due_at) | Q(due_at=due_at, pk__gt=key), due_at__gte=due_at
    )  # for the index
    return behind.exclude(receiver__in=without).order_by("due_at", "pk").values_list("due_at", "pk")[:WINDOW]


def _not_held_back(keys: Sequence[int], now: datetime) -> list[ReceiverRun]:
    # RACE: what another process has claimed or ended since the keys were read is no longer due.
    window = ask(_rows, keys=list(keys), now=now)
    lines = sorted({run.line for run in window if run.line})
    busy = set(ask(_busy, lines=lines, now=now)) if lines else set()
    turns = set(ask(_turns, lines=lines)) if lines else set()

    def is_free(each: ReceiverRun) -> bool:
        if not each.line:
            return True
        return each.line not in busy and (each.line, each.receiver, each.message_id) in turns

    return list(filter(is_free, window))


def _unfinished() -> QuerySet[ReceiverRun]:
    return ReceiverRun.objects.using(state_database()).filter(state__in=UNFINISHED)


def _rows(*, keys: list[int], now: datetime) -> QuerySet[ReceiverRun]:
    rows = _unfinished().filter(pk__in=keys, due_at__lte=now)
    return rows.select_related("message__transition").order_by("due_at", "pk")


def _busy(*, lines: list[str], now: datetime) -> QuerySet[ReceiverRun, str | None]:
    """Those of these lines in which a receiver runs."""
    running = ReceiverRun.objects.using(state_database()).filter(exclusive__in=lines, due_at__gt=now)
    return running.values_list("exclusive", flat=True)


def _turns(*, lines: list[str]) -> QuerySet[ReceiverRun, tuple[Any, ...]]:
    """Of each line and receiver the message whose turn it is."""
    unfinished = _unfinished().filter(line__in=lines).values("line", "receiver")
    return unfinished.annotate(first=Min("message")).values_list("line", "receiver", "first")


def claims(worker: Worker | None = None) -> Iterator[ReceiverRun]:
    """Receiver runs claimed by this process, oldest first; others may be claiming at the same time.

    Without a worker a receiver may hold any number of slots. Ends when nothing is left to claim, or others are quicker.
    """
    lost, elsewhere = 0, False
    while lost < MOST_LOST:
        claimed = overtaken = False
        full = _receivers_without_a_slot(worker) if worker else set()
        for run in _sweep(full, elsewhere=elsewhere):
            outcome = with_retries(partial(claim, run, worker))
            if outcome is Claim.WON:
                lost, claimed = 0, True
                yield run
            elif outcome is Claim.NO_SLOT:
                full.add(run.receiver)
            else:
                # Another process works at this end of the queue: go on elsewhere in it, with what is left by now.
                lost, overtaken, elsewhere = lost + 1, True, True
                break
        if not claimed and not overtaken:
            return


def _sweep(full: set[str], *, elsewhere: bool) -> Iterator[ReceiverRun]:
    """All that may run now, but for receivers that are full, or become so meanwhile."""
    for window in ready(full):
        if elsewhere:
            random.shuffle(window)
        for run in window:
            # What a dead process left behind holds a slot until it is taken over, so that is never left out.
            if run.state == ReceiverRun.State.RUNNING or run.receiver not in full:
                yield run


def _receivers_without_a_slot(worker: Worker) -> set[str]:
    held = Counter(ask(_receivers_at_work, slots=f"{worker.name}:"))
    return {receiver for receiver, count in held.items() if count >= worker.share}


def _receivers_at_work(*, slots: str) -> QuerySet[ReceiverRun, str]:
    running = ReceiverRun.objects.using(state_database()).filter(state=ReceiverRun.State.RUNNING)
    return running.filter(slot__startswith=slots).values_list("receiver", flat=True)


class Claim(Enum):
    """What came of a claim. ``LOST``: to another process. ``NO_SLOT``: the receiver has its share of the worker's slots."""

    WON = auto()
    LOST = auto()
    NO_SLOT = auto()


def claim(run: ReceiverRun, worker: Worker | None = None) -> Claim:
    """Take the run by a conditional update: of two claimants one wins, and of two of one line too."""
    for _ in range(worker.share if worker else 1):
        slot = None
        if worker is not None and (slot := _free_slot(run, worker)) is None:
            return Claim.NO_SLOT
        # RACE: another claimant may take the same slot, or another run of the same line. Both columns are unique: for
        # the first there may be another slot, for the second the next try finds the same.
        with suppress(IntegrityError), transaction.atomic(using=state_database()):
            # Committed before the attempt: a process that dies has counted it.
            return Claim.WON if _claim(run, slot) else Claim.LOST
    return Claim.LOST


def _free_slot(run: ReceiverRun, worker: Worker) -> str | None:
    """A slot that no other run of this receiver holds; any of them, so that claimants seldom meet."""
    slots = worker.slots_of(run.receiver)
    taken = set(ask(_held_slots, slots=slots, key=run.pk))
    free = [slot for slot in slots if slot not in taken]
    return random.choice(free) if free else None  # noqa: S311  # to spread them, not to hide them


def _held_slots(*, slots: list[str], key: int) -> QuerySet[ReceiverRun, str | None]:
    """Those that other runs hold."""
    others = ReceiverRun.objects.using(state_database()).filter(slot__in=slots).exclude(pk=key)
    return others.values_list("slot", flat=True)


def _claim(run: ReceiverRun, slot: str | None) -> bool:
    alias, now, fence = state_database(), datetime.now(UTC), secrets.token_hex(16)
    mine = ReceiverRun.objects.using(alias).filter(
        pk=run.pk, state=run.state, attempts=run.attempts, due_at__lte=now
    )
    taken = mine.update(
        state=ReceiverRun.State.RUNNING,
        attempts=F("attempts") + 1,
        fence=fence,
        slot=slot,
        exclusive=run.line or None,
        due_at=lease_end(),
    )
    if not taken:
        return False
    if run.message.signal == checkout_paid.name and run.message.grant_id:
        # A run of a closed grant is not begun: it ends as superseded, and leaves nothing to undo.
        note_receiver(run.message.grant_id, "begun", run.receiver, if_open=True)
    run.state, run.attempts, run.fence = ReceiverRun.State.RUNNING, run.attempts + 1, fence
    return True
