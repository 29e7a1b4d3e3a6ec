"""Applying stored notifications, in batches: claim, read, record, settle, one commit. A batch of one is the same code.

What our rules fail on costs that notification alone (`Outcome.error`); what the database refuses is found by halving the
batch under its claim. Either is kept as failed, is due again after a while, and holds up nobody.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.flows.database.connection import acquire_write_lock, state_database
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS, Unavailable, with_retries
from checkout_integration.flows.inbox.claim import claim, due
from checkout_integration.flows.inbox.halving import record_in_halves
from checkout_integration.flows.inbox.reading import Reading, read
from checkout_integration.flows.inbox.settling import Settled, settle, settled
from checkout_integration.flows.ledger import NO_ADVICE, Advice, Outcome, Step, consult_hooks, record
from checkout_integration.hooks import overrides
from checkout_integration.models import Notification

BATCH = 100


@dataclass(frozen=True, kw_only=True)
class ApplySummary:
    """What `apply_due` did.

    Attributes:
        applied: notifications that were applied, those without news among them.
        waiting: notifications that failed or are quarantined.
        orders: primary keys of the orders that they tell of.
        ended_early: whether some may be left that are due.

    """

    applied: int = 0
    waiting: int = 0
    orders: frozenset[int] = frozenset()
    ended_early: bool = False

    @property
    def looked_at(self) -> int:
        """How many notifications were claimed."""
        return self.applied + self.waiting


@dataclass(frozen=True, kw_only=True)
class _Way:
    """How a batch is applied.

    ``carefully``: with savepoints, since the database has refused a batch. ``advice``: of the shop's hooks, by project.
    """

    fan_out: bool
    advice: Mapping[str, Advice]
    carefully: bool = False


def apply_due(
    limit: int | None = None,
    batch: int = BATCH,
    *,
    among: Q | None = None,
    fan_out: bool = False,
    seconds: float = math.inf,
    stopping: Callable[[], bool] = lambda: False,
) -> ApplySummary:
    """Apply the stored notifications that are due, and the failed ones that are due again.

    Args:
        limit: the most that are applied; all when it is left out.
        batch: how many in one transaction.
        among: which; all when it is left out.
        fan_out: make the receiver runs too, for a process that knows the receivers.
        seconds: after so many no further batch is begun.
        stopping: asked after each batch.

    Raises:
        Unavailable: the database does not answer. What was applied before stays applied.

    """
    ends_at, rows, results = time.monotonic() + seconds, due(among), list[Settled]()
    most = math.inf if limit is None else limit
    while True:
        size = int(min(batch, most - len(results)))
        looked_at = list(rows[:size]) if _hooks_are_asked() else None
        if looked_at == []:
            break
        way = _Way(fan_out=fan_out, advice=_advice(looked_at or []))
        found = _apply(_these(rows, looked_at), size, way)
        results += found
        if not found and looked_at is None:
            break
        if not found and looked_at:
            # RACE: another process has these in hand.
            rows = rows.filter(due_at__gt=looked_at[-1].due_at)
        if len(results) >= most or time.monotonic() >= ends_at or stopping():
            return _summary(results, ended_early=True)
    return _summary(results)


def _summary(results: Sequence[Settled], *, ended_early: bool = False) -> ApplySummary:
    applied = sum(each.ends_well for each in results)
    return ApplySummary(
        applied=applied,
        waiting=len(results) - applied,
        orders=frozenset(each.order_id for each in results if each.order_id is not None),
        ended_early=ended_early,
    )


def _hooks_are_asked() -> bool:
    return any(
        overrides(each.hooks, "resolve_checkout", "find_user") for each in app_settings().projects.values()
    )


def _these(rows: QuerySet[Notification], looked_at: Sequence[Notification] | None) -> QuerySet[Notification]:
    """Those that the hooks were asked about, where they are asked: no others are applied."""
    return rows if looked_at is None else rows.filter(pk__in=[row.pk for row in looked_at])


def _advice(rows: Sequence[Notification]) -> dict[str, Advice]:
    """Return what the shop's hooks say of these, which were read without a lock and outside any transaction."""
    now = datetime.now(UTC)
    steps = _steps([read(row, now) for row in rows])

    def consulted() -> dict[str, Advice]:
        projects = app_settings().projects
        return {
            alias: consult_hooks(projects[alias], [step for _, step in own]) for alias, own in steps.items()
        }

    return with_retries(consulted) if steps else {}


def _apply(rows: QuerySet[Notification], size: int, way: _Way) -> list[Settled]:
    """One batch; where the database refuses it, a second time with savepoints.

    Whatever repeats the transaction, such as a deadlock, it is repeated with half of the batch.
    """
    sizes = _halves(size)
    try:
        return with_retries(lambda: _apply_once(rows, next(sizes), way))
    except TRANSIENT_DATABASE_ERRORS:
        raise  # not our rules
    except Unavailable as unavailable:
        # An IntegrityError that repeats itself is no race: something breaks a constraint each time.
        if not isinstance(unavailable.__cause__, IntegrityError):
            raise
    except Exception:  # noqa: BLE001, S110  # found out below, for each notification by itself
        pass
    sizes, careful = _halves(size), replace(way, carefully=True)
    return with_retries(lambda: _apply_once(rows, next(sizes), careful))


def _halves(size: int) -> Iterator[int]:
    while True:
        yield size
        size = max(size // 2, 1)


def _apply_once(rows: QuerySet[Notification], size: int, way: _Way) -> list[Settled]:
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        now = datetime.now(UTC)
        readings = [read(row, now) for row in claim(rows, size)]
        outcomes: dict[int, Outcome] = {}
        for alias, steps in _steps(readings).items():
            recorded = _record(alias, [step for _, step in steps], way)
            outcomes |= {row.pk: outcome for (row, _), outcome in zip(steps, recorded, strict=True)}
        results = [settled(reading, outcomes.get(reading.row.pk)) for reading in readings]
        settle(results)
        return results


def _steps(readings: Sequence[Reading]) -> dict[str, list[tuple[Notification, Step]]]:
    """Return the steps of each project, in the order of the projects' names: whoever locks locks in the same order."""
    found: dict[str, list[tuple[Notification, Step]]] = defaultdict(list)
    for reading in readings:
        if reading.step is not None:
            found[reading.row.project].append((reading.row, reading.step))
    return dict(sorted(found.items()))


def _record(alias: str, steps: Sequence[Step], way: _Way) -> list[Outcome]:
    project, advice = app_settings().projects[alias], way.advice.get(alias, NO_ADVICE)

    def recorded(some: Sequence[Step]) -> list[Outcome]:
        return record(project, some, advice, fan_out=way.fan_out)

    return record_in_halves(steps, recorded) if way.carefully else recorded(steps)
