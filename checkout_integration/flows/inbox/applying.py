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

from django.db import IntegrityError

from checkout_integration import telemetry
from checkout_integration.conf import app_settings
from checkout_integration.flows.database import (
    TRANSIENT_DATABASE_ERRORS,
    Unavailable,
    state_database,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.inbox.claiming import Claim, Look, claim, claim_head, head_of, heads
from checkout_integration.flows.inbox.reading import Reading, read
from checkout_integration.flows.inbox.settling import Settled, record_in_halves, report, settle, settled
from checkout_integration.flows.inbox.storing import NotificationRow
from checkout_integration.flows.ledger import NO_ADVICE, Advice, Outcome, Step, consult_hooks, record
from checkout_integration.flows.outbox import FanOut
from checkout_integration.hooks import overrides
from checkout_integration.models import Notification, ReceiverRun

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
