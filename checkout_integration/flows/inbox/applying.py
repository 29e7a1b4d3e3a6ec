"""The application of stored notifications in batches: look, claim, read, record, settle, one commit. One is a batch of one.

A failure of our rules affects that notification alone (`Outcome.error`); one that the database refuses is found by halving
the batch under its claim. Both are stored as failed, are due again after a while, and block no others.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from django.db import IntegrityError

from checkout_integration import telemetry
from checkout_integration.conf import app_settings
from checkout_integration.flows.database import (
    TRANSIENT_DATABASE_ERRORS,
    Command,
    Query,
    Unavailable,
    state_database,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.inbox.reading import Reading, read
from checkout_integration.flows.inbox.settling import Settled, record_in_halves, report, settle, settled
from checkout_integration.flows.inbox.storing import NotificationRow
from checkout_integration.flows.ledger import NO_ADVICE, Advice, Outcome, Step, consult_hooks, record
from checkout_integration.flows.outbox import FanOut
from checkout_integration.hooks import overrides
from checkout_integration.models import Notification, ReceiverRun

# Due notifications are found and claimed by their state, never by "id greater than the last seen".
#
# Of one order only the first due notification can be claimed, its head. While a process has it, no process can claim a later
# one of that order; other orders are free. So the events of one order are applied in the order in which they became due, that
# is in which they were received; a failed one is due again later, behind those received meanwhile.
#
# RACE: heads are found by a plain look, and then locked by their keys. So no process ever locks a notification behind a head,
# and a look after the commit of a head finds the next one free. That is why every process that applies looks again after
# each commit: a notification that another process stored, and left because the head was locked, was stored before that look.
# After `apply_stored` its caller looks, when it has run the receivers.

Look = Callable[[int, Collection[int]], list[int]]
"""A look: a function that returns the keys of due heads, oldest first, up to a number and except those to be skipped."""
Claim = Callable[[int], list[Notification]]
"""A claim: a function that locks up to so many due heads until the transaction ends, and returns them."""

# No index serves this condition: otherwise a planner without fresh statistics would read all due rows for one order's.
_DUE: Final = "CASE WHEN own.due_at <= {now} THEN 1 END = 1"
# The notification names no order, or is the first due one of its order; a CASE for the same reason.
_IS_HEAD: Final = (
    "own.object_id = '' OR (SELECT earlier.id FROM {notifications} earlier"
    " WHERE earlier.project = own.project AND earlier.object_id = own.object_id AND CASE"
    " WHEN earlier.due_at < own.due_at OR (earlier.due_at = own.due_at AND earlier.id < own.id) THEN 1 END = 1"
    " LIMIT 1) IS NULL"
)
_OLDEST: Final = Command(
    f"SELECT own.id, CASE WHEN {_IS_HEAD} THEN 1 ELSE 0 END FROM"  # noqa: S608
    " (SELECT id, project, object_id, due_at FROM {notifications} WHERE due_at <= {now} AND id NOT IN {passed}"
    " ORDER BY due_at, id LIMIT {most}) own ORDER BY own.due_at, own.id",
    notifications=Notification,
)
_HEADS: Final = Command(
    "SELECT own.id FROM {notifications} own WHERE own.due_at <= {now} AND own.id NOT IN {passed}"  # noqa: S608
    f" AND ({_IS_HEAD}) ORDER BY own.due_at, own.id LIMIT {{most}}",
    notifications=Notification,
)
_FIND: Final = "SELECT own.due_at, own.id FROM {notifications} own WHERE "
_OF_ORDER: Final = Command(
    f"{_FIND} own.project = {{project}} AND own.object_id = {{object_id}} AND {_DUE}",
    notifications=Notification,
)
_OF_BODY: Final = Command(
    f"{_FIND} own.key = {{key}} AND own.body_hash = {{body_hash}} AND {_DUE}",
    notifications=Notification,
)
_CLAIM: Final = Query(
    Notification,
    # By the key: MariaDB locks each row that it reads or sorts.
    f"own.id IN {{keys}} AND {_DUE} ORDER BY own.id LIMIT {{most}}",
    lock=("own",),
    waits=False,
)
_CLAIM_HEAD: Final = Query(
    Notification,
    f"""own.id = (SELECT due.id FROM {{notifications}} due WHERE due.project = {{project}} AND due.object_id = {{object_id}}
        AND CASE WHEN due.due_at <= {{now}} THEN 1 END = 1 ORDER BY due.due_at, due.id LIMIT 1) AND {_DUE}""",  # noqa: S608
    lock=("own",),
    waits=False,
    notifications=Notification,
)
_CLAIM_BODY: Final = Query(
    Notification,
    f"own.key = {{key}} AND own.body_hash = {{body_hash}} AND {_DUE}",
    lock=("own",),
    waits=False,
)


def heads(most: int, passed: Collection[int] = ()) -> list[int]:
    """Look at every order (`Look`): at the oldest of all, and at more only where all of these are behind others."""
    values = {"now": datetime.now(UTC), "most": most, "passed": [0, *passed]}
    oldest = _OLDEST.fetch(**values)
    found = [key for key, is_head in oldest if is_head]
    return found if found or not oldest else [key for (key,) in _HEADS.fetch(**values)]


def head_of(notification: Notification | NotificationRow) -> Look:
    """Return the look at the order of a notification; at that body alone, where it names no order."""
    values: dict[str, object]
    if notification.object_id:
        command, values = _OF_ORDER, {"project": notification.project, "object_id": notification.object_id}
    else:
        command, values = _OF_BODY, {"key": notification.key, "body_hash": notification.body_hash}

    def look(most: int, passed: Collection[int]) -> list[int]:
        (_, key) = min(command.fetch(now=datetime.now(UTC), **values), default=(None, None))
        return [] if key is None or key in passed else [key]

    return look


def claim(keys: Collection[int], most: int) -> list[Notification]:
    """Return up to ``most`` of these heads, locked until the transaction ends, in the order in which they were received.

    RACE: rows locked by another process are left to it. If the database cannot skip locked rows, this waits for them; by
    then they are no longer due.
    """
    claimed = _CLAIM.rows(keys=keys, now=datetime.now(UTC), most=most)
    return sorted(claimed, key=lambda row: (row.received_at, row.pk))


def claim_head(notification: NotificationRow, most: int = 1) -> list[Notification]:
    """Look at the order of a notification, and claim its head (see `head_of` and `claim`): one statement for both."""
    now = datetime.now(UTC)
    if notification.object_id:
        return _CLAIM_HEAD.rows(project=notification.project, object_id=notification.object_id, now=now)
    return _CLAIM_BODY.rows(key=notification.key, body_hash=notification.body_hash, now=now)


BATCH = 100
WINDOW = 2
"""How many batches of keys a look reads: other processes claim the first ones at the same time."""
SECONDS_EACH = 0.01
"""The expected time of one notification, until the first batch has shown it; hardly any machine is slower."""


@dataclass(frozen=True, kw_only=True)
class ApplySummary:
    """The result of `apply_due`.

    Attributes:
        applied: notifications that were applied, including those that changed nothing.
        waiting: notifications that failed or are quarantined.
        lines: the lines of their orders and checkouts, where receivers may be due.
        claimed: receiver runs that the caller has to attempt at once (`outbox.run_claimed`).
        ended_early: whether due notifications may be left.

    """

    applied: int = 0
    waiting: int = 0
    lines: frozenset[int] = frozenset()
    claimed: tuple[ReceiverRun, ...] = ()
    ended_early: bool = False

    @property
    def looked_at(self) -> int:
        """How many notifications were claimed."""
        return self.applied + self.waiting


@dataclass(frozen=True, kw_only=True)
class _Way:
    """The way in which a batch is applied.

    ``carefully``: with savepoints, since the database has refused a batch; then no receiver runs are claimed, since the
    rollback of a savepoint would undo their claims. ``advice``: what the shop's hooks returned, by project.
    """

    fan_out: bool
    claims: bool
    advice: Mapping[str, Advice]
    carefully: bool = False


def apply_due(
    limit: int | None = None,
    batch: int = BATCH,
    *,
    look: Look = heads,
    fan_out: bool = False,
    claims: bool = False,
    seconds: float = math.inf,
    stopping: Callable[[], bool] = lambda: False,
) -> ApplySummary:
    """Apply the stored notifications that are due, and the failed ones that are due again.

    Args:
        limit: how many at most; all by default.
        batch: how many in one transaction.
        look: which ones; all by default.
        fan_out: make the receiver runs too, for a process that knows the receivers.
        claims: claim the first run of each free line as it is made, for a process that attempts it right afterwards.
        seconds: after so many no further batch is begun; the last ones are as large as the rest of the time allows, and
            none is begun that it does not allow.
        stopping: called after each batch.

    RACE: it ends with a look, after its last commit, that finds only notifications that others have locked (`claim`).

    Raises:
        Unavailable: the database does not respond. Batches before stay applied.

    """
    results, passed, seconds_each = list[Settled](), set[int](), SECONDS_EACH
    claimed, left, begun = list[ReceiverRun](), seconds, time.monotonic()
    most = math.inf if limit is None else limit
    while True:
        size = int(min(batch, most - len(results), left / seconds_each))
        if size < 1:
            return _summary(results, claimed, ended_early=True)
        asks_hooks = _asks_hooks()
        keys = with_retries(partial(look, size if asks_hooks else size * WINDOW, passed))
        if not keys:
            return _summary(results, claimed)
        way = _Way(fan_out=fan_out, claims=claims, advice=_advice(keys) if asks_hooks else {})
        with telemetry.timed(telemetry.APPLY):
            found, own = _apply(partial(claim, keys), size, way)
        report(found)
        results += found
        claimed += own
        passed |= _missed(keys, found)
        spent = time.monotonic() - begun
        left, seconds_each = seconds - spent, spent / max(len(results), 1) or SECONDS_EACH
        if stopping():
            return _summary(results, claimed, ended_early=True)


def apply_stored(notification: NotificationRow) -> ApplySummary:
    """Apply a notification that was just stored, after those of its order that have been due for longer.

    For a process that runs receivers right afterwards: the first run of each free line is claimed for it. Then it must look
    whether a notification of the order is due, which another process stored meanwhile.
    """
    if _asks_hooks():
        return apply_due(batch=1, look=head_of(notification), fan_out=True, claims=True)
    results, claimed, is_applied = list[Settled](), list[ReceiverRun](), False
    way = _Way(fan_out=True, claims=True, advice={})
    while not is_applied:
        with telemetry.timed(telemetry.APPLY):
            found, own = _apply(partial(claim_head, notification), 1, way)
        report(found)
        results += found
        claimed += own
        is_applied = all(each.row.body_hash == notification.body_hash for each in found)
    return _summary(results, claimed)


def _missed(keys: Collection[int], found: Sequence[Settled]) -> set[int]:
    """Return the keys, up to the last claimed one, that others have locked; those look again after their commit."""
    claimed = {each.row.pk for each in found}
    last = max(claimed, default=max(keys))
    return {key for key in keys if key <= last} - claimed


def _summary(
    results: Sequence[Settled], claimed: Sequence[ReceiverRun], *, ended_early: bool = False
) -> ApplySummary:
    applied = sum(each.ends_well for each in results)
    return ApplySummary(
        applied=applied,
        waiting=len(results) - applied,
        lines=frozenset[int]().union(*(each.lines for each in results)),
        claimed=tuple(claimed),
        ended_early=ended_early,
    )


def _asks_hooks() -> bool:
    return any(
        overrides(each.hooks, "resolve_checkout", "find_user") for each in app_settings().projects.values()
    )


def _advice(keys: Collection[int]) -> dict[str, Advice]:
    """Return the results of the shop's hooks for these, which are read without a lock and outside any transaction."""
    now = datetime.now(UTC)
    rows = Notification.objects.using(state_database()).filter(pk__in=keys)
    steps = _steps([read(row, now) for row in rows])

    def consulted() -> dict[str, Advice]:
        projects = app_settings().projects
        return {
            alias: consult_hooks(projects[alias], [step for _, step in own]) for alias, own in steps.items()
        }

    return with_retries(consulted) if steps else {}


def _apply(claim: Claim, size: int, way: _Way) -> tuple[list[Settled], list[ReceiverRun]]:
    """Apply one batch; if the database refuses it, a second time with savepoints.

    Each retry of the transaction, for example after a deadlock, applies half as many notifications.
    """
    sizes = _halves(size)
    try:
        return with_retries(lambda: _apply_once(claim, next(sizes), way))
    except TRANSIENT_DATABASE_ERRORS:
        raise  # not our rules
    except Unavailable as unavailable:
        # An IntegrityError in every retry is no race: a row breaks a constraint each time.
        if not isinstance(unavailable.__cause__, IntegrityError):
            raise
    except Exception:  # noqa: BLE001, S110  # handled below, for each notification by itself
        pass
    sizes, careful = _halves(size), replace(way, carefully=True)
    return with_retries(lambda: _apply_once(claim, next(sizes), careful))


def _halves(size: int) -> Iterator[int]:
    while True:
        yield size
        size = max(size // 2, 1)


def _apply_once(claim: Claim, size: int, way: _Way) -> tuple[list[Settled], list[ReceiverRun]]:
    with write_transaction():
        now = datetime.now(UTC)
        readings = [read(row, now) for row in claim(size)]
        fan_out = FanOut(claims=way.claims and not way.carefully) if way.fan_out else None
        outcomes: dict[int, Outcome] = {}
        for alias, steps in _steps(readings).items():
            recorded = _record(alias, [step for _, step in steps], way, fan_out)
            outcomes |= {row.pk: outcome for (row, _), outcome in zip(steps, recorded, strict=True)}
        results = [settled(reading, outcomes.get(reading.row.pk)) for reading in readings]
        settle(results)
        return results, fan_out.claimed if fan_out else []


def _steps(readings: Sequence[Reading]) -> dict[str, list[tuple[Notification, Step]]]:
    """Return the steps of each project, sorted by the projects' names: all processes lock in the same order."""
    found: dict[str, list[tuple[Notification, Step]]] = defaultdict(list)
    for reading in readings:
        if reading.step is not None:
            found[reading.row.project].append((reading.row, reading.step))
    return dict(sorted(found.items()))


def _record(alias: str, steps: Sequence[Step], way: _Way, fan_out: FanOut | None) -> list[Outcome]:
    project, advice = app_settings().projects[alias], way.advice.get(alias, NO_ADVICE)

    def recorded(some: Sequence[Step]) -> list[Outcome]:
        return record(project, some, advice, fan_out)

    return record_in_halves(steps, recorded) if way.carefully else recorded(steps)
