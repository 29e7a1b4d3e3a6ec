"""The receivers that any process of the shop has connected, as the database remembers them.

During a roll-out, processes of two releases work side by side, and a worker may have other apps than the web processes. So no
process decides by itself who the receivers are. Each one records its own before its first commit that needs them, and once a
minute while it works. Runs are made for those that are connected here and for the remembered ones; a run is left to the
processes that know its receiver.

*Names.* A receiver that was renamed stays one row with all of its names (``formerly``), and its runs are stored under the
first of them. So processes of both releases make the same run for a message, and each can run it.

*Changes.* The rows of the table are read once a minute. In between, one number in a statement that is executed anyway
(`remembered_at`) shows that another process has added, renamed or retired a receiver: a message that was recorded after that
gets a run for it.

*Absent receivers.* A run that no process knows would be looked at by every look at the queue. After five minutes in which
others ran receivers, it is taken out of the queue (``unknown``); a process that knows its receiver puts it back. After a day
in which others worked, the receiver is retired, and gets no new runs.

*Paused receivers.* Staff let the runs of a receiver wait: they are taken out of the queue too (``paused``), and put back when
it is resumed. Processes learn it within a minute, as any change.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from checkout_integration.flows.database import (
    database_now,
    in_transaction,
    insert_missing,
    keys_by_index,
    locked,
    record_staff_act,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.outbox.exclusivity import finish
from checkout_integration.models import Order, Receiver, ReceiverRun, StaffAct
from checkout_integration.models.actor import Actor
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.signals import (
    SIGNALS,
    DurableSignal,
    RetryPlan,
    checkout_paid,
    checkout_reversed,
    payment_success,
)
from checkout_integration.signals.durable import Receiver as Function

logger = logging.getLogger("checkout_integration.support")

RECORD_EVERY: Final = 60.0
"""Seconds after which a process that works records its receivers again."""
SEEN_ENOUGH: Final = timedelta(seconds=30)
"""A receiver that another process has just recorded is not written again."""
ABSENT_AFTER: Final = timedelta(minutes=5)
RETIRED_AFTER: Final = timedelta(days=1)
GOODS_SIGNALS: Final = (checkout_paid.name, checkout_reversed.name, payment_success.name)
"""Signals with which shops grant and revoke: an unfinished run of theirs is never ended by the app itself."""
MOST_AT_ONCE: Final = 1_000
State = ReceiverRun.State
WAITING: Final = (State.DUE, State.UNKNOWN, State.PAUSED, State.WAITING)


@dataclass(frozen=True, kw_only=True)
class Connected:
    """A receiver that is connected in this process, with what it declares."""

    signal: str
    name: str
    formerly: tuple[str, ...]
    undoes: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        """Its name and its former ones."""
        return {self.name, *self.formerly}

    @property
    def first_name(self) -> str:
        """The name of its runs, if no process has recorded it yet."""
        return self.formerly[-1] if self.formerly else self.name


@dataclass(frozen=True, eq=False)
class Remembered:
    """The table as it was read."""

    rows: Sequence[Receiver] = ()

    @property
    def number(self) -> int:
        """The number of `CHANGES`, as it was then."""
        return len(self.rows) + last_change(self.rows)

    @property
    def paused(self) -> set[str]:
        """The names of the receivers that staff have paused."""
        return {name for row in self.rows if row.paused_at for name in (row.name, *row.names)}

    def row(self, signal: str, *names: str) -> Receiver | None:
        """Return the receiver that has or had one of these names; the oldest, if there are several."""
        return next(iter(rows_of(self.rows, signal, names)), None)


def last_change(rows: Iterable[Receiver]) -> int:
    """Return the greatest number of a change among rows."""
    return max((row.changes for row in rows), default=0)


def rows_of(rows: Iterable[Receiver], signal: str, names: Collection[str]) -> list[Receiver]:
    """Return the rows of a signal that have one of these names."""
    return [row for row in rows if row.signal == signal and not {row.name, *row.names}.isdisjoint(names)]


@dataclass
class ThisProcess:
    """What this process has recorded and read.

    ``runs_receivers``: whether it is one of the processes that run receivers. ``recorded``: at how many changes of its own
    connections it has recorded them.
    """

    remembered: Remembered = field(default_factory=Remembered)
    runs_receivers: bool = False
    recorded: int | None = None
    records_at: float = -math.inf


this_process = ThisProcess()


def record_own(*, runs: bool = False) -> None:
    """Record the receivers of this process, if it has not just done so. Call it outside of transactions, before work.

    ``runs``: this process runs receivers. Mostly it does nothing; once a minute it takes a few statements.
    """
    first = runs and not this_process.runs_receivers
    changes = DurableSignal.changes
    if not first and this_process.recorded == changes and time.monotonic() < this_process.records_at:
        return
    this_process.runs_receivers |= runs
    with_retries(record_now)
    this_process.recorded, this_process.records_at = changes, time.monotonic() + RECORD_EVERY


def remembered_at(number: int) -> Remembered:
    """Return the table, read again if its number of changes (`CHANGES`) is another than this process knows.

    RACE: another thread may be about to end `record_now`, with a table that it has read earlier. So the caller uses what is
    returned here, and not what this process remembers a moment later.
    """
    remembered = this_process.remembered
    if number != remembered.number:
        this_process.remembered = remembered = read_receivers()
    return remembered


CHANGES: Final = "COUNT(*) + COALESCE(MAX(receiver.changes), 0) FROM {receivers} receiver"
"""A number that grows with every change but those of times: a part of the statement that precedes each message.

RACE: changes are numbered by processes that have locked all rows. Two that insert the first rows of all see no rows to lock,
but the number of rows grows with each.
"""


def read_receivers() -> Remembered:
    """Return the table as it is now."""
    return Remembered(list(Receiver.primary.order_by("pk")))


def connected_here() -> list[Connected]:
    """Return the receivers that are connected in this process."""
    paid = checkout_paid.connected(sender=Order)
    return [
        Connected(
            signal=signal.name,
            name=name,
            formerly=signal.formerly(name),
            undoes=tuple(sorted(checkout_reversed.undoing(name, paid).names))
            if signal is checkout_reversed
            else (),
        )
        for signal in SIGNALS.values()
        for name in sorted(signal.connected(sender=Order))
    ]


def receivers_of(signal: str, remembered: Remembered | None = None) -> list[str]:
    """Return the names of the receivers for which a message gets runs: those connected here, and the remembered ones."""
    remembered = remembered or this_process.remembered
    own = SIGNALS[signal].connected(sender=Order) if signal in SIGNALS else {}
    names = {row.name for row in remembered.rows if row.signal == signal and row.retired_at is None}
    return sorted(names.union(stored_name(signal, name, remembered) for name in own))


def stored_name(signal: str, name: str, remembered: Remembered | None = None) -> str:
    """Return the name under which the runs of a receiver are stored, by any of its names."""
    formerly = SIGNALS[signal].formerly(name)
    row = (remembered or this_process.remembered).row(signal, name, *formerly)
    return row.name if row else formerly[-1] if formerly else name


def callables(signal: str) -> dict[str, Function]:
    """Return the receivers of a signal that this process can run, by each name under which their runs may be stored."""
    own = SIGNALS[signal].connected(sender=Order) if signal in SIGNALS else {}
    found = {each: receiver for name, receiver in own.items() for each in _names_of(signal, name)}
    return found | own


def _names_of(signal: str, name: str) -> set[str]:
    """Return all names of a receiver that is connected here."""
    names = {name, *SIGNALS[signal].formerly(name)}
    row = this_process.remembered.row(signal, *names)
    return names.union((row.name, *row.names) if row else ())


def plan_of(signal: str, name: str) -> RetryPlan:
    """Return when the receiver with these runs is called again; the usual plan where it is not connected here."""
    return SIGNALS[signal].plan(name_here(SIGNALS[signal], name))


def name_here(signal: DurableSignal[Any], name: str) -> str:
    """Return the name under which the receiver with these runs is connected here."""
    here = signal.connected(sender=Order)
    return next((each for each in here if name in _names_of(signal.name, each)), name)


def other_names(signal: str, name: str) -> set[str]:
    """Return the other names that a receiver has had."""
    row = this_process.remembered.row(signal, name)
    return {row.name, *row.names} - {name} if row else set()


def known_names() -> frozenset[str]:
    """Return the names of all receivers that this process can run, and that are not paused."""
    names = frozenset(name for signal in SIGNALS for name in callables(signal))
    return names - this_process.remembered.paused


def record_now() -> None:
    """Record the receivers of this process, and what their absence in others means. Each step is a transaction of its own."""
    now, own, remembered = database_now(), connected_here(), read_receivers()
    if any(_is_new(each, remembered) for each in own):
        with write_transaction():
            _write(own, list(locked(Receiver.primary.all()).order_by("pk")), now)
        remembered = read_receivers()
    rows = [row for each in own for row in rows_of(remembered.rows, each.signal, each.names)]
    _touch(rows, now)
    if _note_missing(remembered, now):
        remembered = read_receivers()
    this_process.remembered = remembered
    if this_process.runs_receivers:
        _put_back()
    _take_out(remembered, now)
    take_out_paused(remembered)


def _is_new(own: Connected, remembered: Remembered) -> bool:
    """Return whether the table does not say yet what this process knows of a receiver."""
    rows = rows_of(remembered.rows, own.signal, own.names)
    return len(rows) != 1 or _says_otherwise(rows[0], own)


def _says_otherwise(row: Receiver, own: Connected) -> bool:
    seen = row.missing_since is None and row.retired_at is None
    return not (seen and own.names <= set(row.names) and row.undoes == list(own.undoes))


def _write(own: Iterable[Connected], rows: list[Receiver], now: datetime) -> None:
    """Write new receivers, and changes of known ones, in a transaction that has locked all rows.

    RACE: two processes may insert a receiver at the same moment: they meet at its unique name. Two rows become one if a
    release declares that they are one receiver: the older one gets the names of both.
    """
    ready = now if this_process.runs_receivers else None
    for each in own:
        stored = rows_of(rows, each.signal, each.names)
        if not stored:
            new = Receiver(
                signal=each.signal,
                name=each.first_name,
                names=sorted(each.names),
                undoes=list(each.undoes),
                first_seen=now,
                last_seen=now,
                last_ready=ready,
                changes=last_change(rows),
            )
            insert_missing([new], "signal", "name")
            rows.append(new)
        elif len(stored) > 1 or _says_otherwise(stored[0], each):
            first, *others = stored
            first.names = sorted(each.names.union(first.names, *(row.names for row in others)))
            first.undoes, first.missing_since, first.retired_at = list(each.undoes), None, None
            first.changes = last_change(rows) + 1 + len(others)
            Receiver.primary.filter(pk__in=[row.pk for row in others]).delete()
            rows[:] = [row for row in rows if row not in others]
            first.save(update_fields=["names", "undoes", "missing_since", "retired_at", "changes"])


def _touch(rows: Iterable[Receiver], now: datetime) -> None:
    """Write that these receivers were seen, unless it was written just now, or another process is writing it."""
    column = "last_ready" if this_process.runs_receivers else "last_seen"
    before = now - SEEN_ENOUGH
    old = [row for row in rows if (getattr(row, column) or row.first_seen - ABSENT_AFTER) < before]
    times = {"last_seen": now, column: now}
    for row in old:
        vars(row).update(times)
    if old:
        keys = [row.pk for row in old]
        with write_transaction():
            free = [
                row.pk
                for row in locked(Receiver.primary.filter(pk__in=keys).only("pk"), wait=False).order_by("pk")
            ]
            Receiver.primary.filter(pk__in=free).update(**times)


def _note_missing(remembered: Remembered, now: datetime) -> bool:
    """Write since when receivers are missing, and retire those that have been for a day; return whether any was retired."""
    unseen = Q(last_seen__lt=now - ABSENT_AFTER)
    if any(row.missing_since is None and row.last_seen < now - ABSENT_AFTER for row in remembered.rows):
        Receiver.primary.filter(unseen, missing_since=None).update(missing_since=now)
    missing = Q(missing_since__lte=now - RETIRED_AFTER, last_seen__lt=now - RETIRED_AFTER, retired_at=None)
    if not any(
        row.retired_at is None and row.missing_since and row.missing_since <= now - RETIRED_AFTER
        for row in remembered.rows
    ):
        return False
    retired = _retire(missing, now)
    for row in retired:
        if row.signal not in GOODS_SIGNALS:
            end_runs(row)
    return bool(retired)


@in_transaction
def _retire(chosen: Q, now: datetime) -> list[Receiver]:
    rows = list(locked(Receiver.primary.all()).order_by("pk"))
    found = list(Receiver.primary.filter(chosen))
    keys = [row.pk for row in found]
    Receiver.primary.filter(pk__in=keys, retired_at=None).update(
        retired_at=now, changes=last_change(rows) + 1
    )
    return found


def end_runs(receiver: Receiver) -> int:
    """End the runs of a retired receiver that were not begun or failed before; return how many."""
    unfinished = ReceiverRun.primary.filter(receiver__in={receiver.name, *receiver.names}, state__in=WAITING)
    ended, count = 0, 1
    while count:
        count = _end(unfinished.filter(message__signal=receiver.signal))
        ended += count
    return ended


@in_transaction
def _end(unfinished: QuerySet[ReceiverRun]) -> int:
    # The newest first: an end makes the run behind it due.
    keys = list(unfinished.order_by("-pk").values_list("pk", flat=True)[:MOST_AT_ONCE])
    runs = locked(ReceiverRun.primary.filter(pk__in=keys, state__in=WAITING)).order_by("-pk")
    return sum(finish(run, State.SUPERSEDED, before=WAITING) for run in runs)


def retire_receiver(name: str, *, staff: Actor | None = None) -> int | None:
    """Retire a receiver that was removed: it gets no new runs, and its unfinished ones end. Return how many ended.

    Return None if no receiver has this name, if it is connected here, or if a process with it has worked in the last five
    minutes. When a process has it again, it gets new runs again.
    """
    now = database_now()
    rows = rows_named(name)
    here = {(each.signal, known) for each in connected_here() for known in each.names}
    if not rows or any(
        row.last_seen > now - ABSENT_AFTER or not here.isdisjoint((row.signal, known) for known in row.names)
        for row in rows
    ):
        return None
    chosen = Q(pk__in=[row.pk for row in rows], last_seen__lte=now - ABSENT_AFTER)
    ended = sum(end_runs(row) for row in _retire(chosen, now))
    counts = {"receiver_runs": ended}
    record_staff_act(StaffAct.Act.RETIRE, staff, project=None, receiver=name, counts=counts)
    ids = {"receiver": name, "staff": staff.pk if staff else None}
    logger.info("Receiver %s was retired; runs ended: %s.", name, ended, extra=ids)
    return ended


def is_absent(row: Receiver, now: datetime) -> bool:
    """Return whether no process that runs receivers has had it for five minutes."""
    return (row.last_ready or row.first_seen) < now - ABSENT_AFTER


def _take_out(remembered: Remembered, now: datetime) -> None:
    """Take due runs out of the queue that no process knows; only while others run receivers, since else all of them wait.

    RACE: a process that knows the receiver may begin its work just now. It has then written so, or writes it later and puts
    the runs back; at the latest a minute later.
    """
    ready = {name for row in remembered.rows if not is_absent(row, now) for name in (row.name, *row.names)}
    if not ready:
        return
    names = {name for row in remembered.rows if is_absent(row, now) for name in (row.name, *row.names)}
    if not (absent := names - ready - (known_names() if this_process.runs_receivers else frozenset())):
        return
    ready_elsewhere = Receiver.primary.filter(name=OuterRef("receiver"), last_ready__gt=now - ABSENT_AFTER)
    queued = ReceiverRun.primary.filter(~Exists(ready_elsewhere), state__in=(State.DUE, State.WAITING))
    _move(queued.filter(receiver__in=sorted(absent)), State.UNKNOWN)


def pause_receiver(name: str, *, staff: Actor | None = None, reason: str) -> int | None:
    """Let the runs of a receiver wait until `resume_receiver`; return how many wait now, None if no receiver has this name.

    A run that a process has claimed goes on; other processes know of it within a minute.
    """
    # So that one is found that was connected just now, or whose row a test has flushed.
    with_retries(record_now)
    if not (names := _set_pause(name, database_now(), reason)):
        return None
    take_out_paused(this_process.remembered)
    waiting = ReceiverRun.primary.filter(receiver__in=names, state=State.PAUSED).count()
    about: dict[str, Any] = {"receiver": name, "counts": {"receiver_runs": waiting}, "reason": reason}
    record_staff_act(StaffAct.Act.PAUSE, staff, project=None, **about)
    return waiting


def resume_receiver(name: str, *, staff: Actor | None = None) -> int | None:
    """Make the runs of a paused receiver due; return how many, None if it is not paused."""
    if not (names := _set_pause(name, None, "")):
        return None
    put_back_resumed(this_process.remembered)
    # What came during the pause may not have been taken out of the queue yet: it is due as well.
    due = ReceiverRun.primary.filter(receiver__in=names, state=State.DUE, due_at__lte=database_now()).count()
    counts = {"receiver_runs": due}
    record_staff_act(StaffAct.Act.RESUME, staff, project=None, receiver=name, counts=counts)
    return due


def rows_named(name: str) -> list[Receiver]:
    """Return the rows of a receiver by one of its names, one for each of its signals."""
    return [row for row in read_receivers().rows if name in {row.name, *row.names}]


def _set_pause(name: str, at: datetime | None, reason: str) -> set[str]:
    """Write whether a receiver is paused, and return all names of the changed rows."""
    with write_transaction():
        rows = list(locked(Receiver.primary.all()).order_by("pk"))
        own = [row for row in rows if name in {row.name, *row.names} and (at or row.paused_at)]
        changed = {"paused_at": at, "paused_for": reason[:LONGEST_REASON], "changes": last_change(rows) + 1}
        Receiver.primary.filter(pk__in=[row.pk for row in own]).update(**changed)
    this_process.remembered = read_receivers()
    return {each for row in own for each in (row.name, *row.names)}


def put_back_resumed(remembered: Remembered) -> None:
    """Make the runs due whose receivers are paused no more.

    RACE: a process that has read before a resume that the receiver is paused may take its runs out after it, and one that
    resumes may die half-way. So every process that runs receivers looks, once a minute.
    """
    paused = ReceiverRun.primary.filter(state=State.PAUSED)
    _move(paused.exclude(receiver__in=sorted(remembered.paused)), State.DUE, due_at=database_now())


def take_out_paused(remembered: Remembered) -> None:
    """Take the runs of paused receivers out of the queue, so that no look reads through them."""
    queued = ReceiverRun.primary.filter(state__in=(State.DUE, State.UNKNOWN, State.WAITING))
    _move(queued.filter(receiver__in=sorted(remembered.paused)), State.PAUSED)


def _put_back() -> None:
    """Make the runs due that were taken out of the queue, and that this process can run."""
    put_back_resumed(this_process.remembered)
    known = Q(pk__in=[])
    for signal in SIGNALS:
        known |= Q(message__signal=signal, receiver__in=sorted(callables(signal)))
    _move(ReceiverRun.primary.filter(known, state=State.UNKNOWN), State.DUE)


def _move(rows: QuerySet[ReceiverRun], state: State, **changes: datetime) -> None:
    """Give these runs another state, the oldest first, except those that others have locked."""

    def move() -> int:
        keys = keys_by_index(rows, "due_at", "pk", most=MOST_AT_ONCE)
        if not keys:
            return 0
        with write_transaction():
            waiting = ReceiverRun.primary.filter(pk__in=keys, state__in=WAITING).exclude(state=state)
            runs = locked(waiting.only("pk"), wait=False).order_by("pk")
            return ReceiverRun.primary.filter(pk__in=[run.pk for run in runs]).update(state=state, **changes)

    while with_retries(move):
        pass
