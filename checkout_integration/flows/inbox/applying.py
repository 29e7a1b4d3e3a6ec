"""The application of stored notifications in batches: look, claim, read, record, settle, one commit. One is a batch of one.

A failure of our rules affects that notification alone (`Outcome.error`); one that the database refuses is found by halving
the batch. Both are stored as failed, are due again after a while, and block no others.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from checkout_integration import telemetry
from checkout_integration.conf import app_settings
from checkout_integration.flows.database import (
    in_halves,
    in_transaction,
    refusal_of,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.inbox.claiming import Look, claim, heads
from checkout_integration.flows.inbox.reading import Reading, read
from checkout_integration.flows.inbox.settling import report, settle, settled
from checkout_integration.flows.ledger import NO_ADVICE, Advice, Outcome, Step, consult_hooks, record
from checkout_integration.flows.outbox import DueSummary, record_own
from checkout_integration.hooks import overrides
from checkout_integration.models import Notification

BATCH = 100
WINDOW = 2
"""How many batches of keys a look reads: other processes claim the first ones at the same time."""
SECONDS_EACH = 0.01
"""The expected time of one notification, until the first batch has shown it; hardly any machine is slower."""


def apply_due(
    limit: int | None = None,
    batch: int = BATCH,
    *,
    look: Look = heads,
    seconds: float = math.inf,
    stopping: Callable[[], bool] = lambda: False,
) -> DueSummary:
    """Apply the stored notifications that are due, and the failed ones that are due again.

    Args:
        limit: how many at most; all by default.
        batch: how many in one transaction.
        look: which ones; all by default.
        seconds: after so many no further batch is begun; the last ones are as large as the rest of the time allows, and
            none is begun that it does not allow.
        stopping: called after each batch.

    RACE: it ends with a look, after its last commit, that finds only notifications that others have locked (`claim`).

    Raises:
        Unavailable: the database does not respond. Batches before stay applied.

    """
    record_own()
    results, passed, seconds_each = list[Reading](), set[int](), SECONDS_EACH
    left, begun = seconds, time.monotonic()
    most = math.inf if limit is None else limit
    while True:
        size = int(min(batch, most - len(results), left / seconds_each))
        if size < 1:
            return _summary(results, ended_early=True)
        hooks = [each.hooks for each in app_settings().projects.values()]
        asks_hooks = any(overrides(each, "resolve_checkout", "find_user") for each in hooks)
        keys = with_retries(partial(look, size if asks_hooks else size * WINDOW, passed))
        if not keys:
            return _summary(results)
        advice = _advice(keys) if asks_hooks else {}
        with telemetry.timed(telemetry.APPLY):
            found = _apply(keys, size, advice)
        report(found)
        results += found
        passed |= _missed(keys, found)
        spent = time.monotonic() - begun
        left, seconds_each = seconds - spent, spent / max(len(results), 1) or SECONDS_EACH
        if stopping():
            return _summary(results, ended_early=True)


def _missed(keys: Collection[int], found: Sequence[Reading]) -> set[int]:
    """Return the keys, up to the last claimed one, that others have locked; those look again after their commit."""
    claimed = {each.row.pk for each in found}
    last = max(claimed, default=max(keys))
    return {key for key in keys if key <= last} - claimed


def _summary(results: Sequence[Reading], *, ended_early: bool = False) -> DueSummary:
    applied = sum(each.ends_well for each in results)
    return DueSummary(applied=applied, waiting=len(results) - applied, ended_early=ended_early)


def _advice(keys: Collection[int]) -> dict[str, Advice]:
    """Return the results of the shop's hooks for these, which are read without a lock and outside any transaction."""
    now = datetime.now(UTC)
    rows = Notification.primary.filter(pk__in=keys)
    steps = _steps([read(row, now) for row in rows])

    def consulted() -> dict[str, Advice]:
        projects = app_settings().projects
        return {
            alias: consult_hooks(projects[alias], [step for _, step in own]) for alias, own in steps.items()
        }

    return with_retries(consulted) if steps else {}


def _apply(keys: Sequence[int], size: int, advice: Mapping[str, Advice]) -> list[Reading]:
    """Apply one batch; if the database refuses it, its halves, each in a transaction of its own.

    Each retry of the first one, for example after a deadlock, applies half as many notifications.
    """

    def apply(some: Sequence[int]) -> list[Reading]:
        return with_retries(partial(_apply_once, some, len(some), advice))

    sizes = _halves(size)
    try:
        return with_retries(lambda: _apply_once(keys, next(sizes), advice))
    except Exception as error:  # noqa: BLE001  # handled below, for each notification by itself
        refusal_of(error)  # raises one that is not about the rows
    return in_halves(keys[:size], apply, _store_failure)


def _halves(size: int) -> Iterator[int]:
    while True:
        yield size
        size = max(size // 2, 1)


def _apply_once(keys: Collection[int], size: int, advice: Mapping[str, Advice]) -> list[Reading]:
    with write_transaction():
        now = datetime.now(UTC)
        readings = [read(row, now) for row in claim(keys, size)]
        outcomes: dict[int, Outcome] = {}
        for alias, steps in _steps(readings).items():
            project, offers = app_settings().projects[alias], advice.get(alias, NO_ADVICE)
            recorded = record(project, [step for _, step in steps], offers)
            outcomes |= {row.pk: outcome for (row, _), outcome in zip(steps, recorded, strict=True)}
        results = [settled(reading, outcomes.get(reading.row.pk)) for reading in readings]
        settle(results)
        return results


def _steps(readings: Sequence[Reading]) -> dict[str, list[tuple[Notification, Step]]]:
    """Return the steps of each project, sorted by the projects' names: all processes lock in the same order."""
    found: dict[str, list[tuple[Notification, Step]]] = defaultdict(list)
    for reading in readings:
        if reading.step is not None:
            found[reading.row.project].append((reading.row, reading.step))
    return dict(sorted(found.items()))


@in_transaction
def _store_failure(key: int, error: Exception) -> list[Reading]:
    """Store that a notification was refused; nothing if another process has it by now."""
    results = [settled(Reading(row=row, error=error), None) for row in claim([key], 1)]
    settle(results)
    return results
