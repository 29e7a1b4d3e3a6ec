"""Rows of the transaction list, recorded by the ledger if they have changed since they were last read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, TypeAlias

from django.db import IntegrityError
from django.utils.crypto import salted_hmac

from checkout_integration.conf import Project
from checkout_integration.flows import ledger
from checkout_integration.flows.database import (
    KEY_LENGTH,
    TRANSIENT_DATABASE_ERRORS,
    Command,
    Unavailable,
    insert_missing,
    key_of,
    upsert,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.ledger import Cause, Outcome, Step, log_change
from checkout_integration.flows.sync import differences
from checkout_integration.flows.sync.watermark import LaneTaken
from checkout_integration.models import Incident, ListedRow, SyncDifference
from checkout_integration.policy.log_safety import error_location
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.quarantine import MOST_AHEAD
from checkout_integration.policy.state import RULES_VERSION
from checkout_integration.protocol.listing import TransactionPage, TransactionRow
from checkout_integration.protocol.responses import MalformedResponse

logger = logging.getLogger("checkout_integration.sync")
KeyAndHash: TypeAlias = tuple[str, str]
HASHES: Final = Command("SELECT [key], row_hash FROM {rows} WHERE [key] IN {keys}", rows=ListedRow)


def read_at(page: TransactionPage) -> datetime | None:
    """Return the service's time of a page, at most a little ahead of ours: a wrong time must not outrank all later ones."""
    return min(page.date, datetime.now(UTC) + MOST_AHEAD) if page.date else None


@dataclass(frozen=True, kw_only=True)
class ReadRow:
    """A row to record: its step, and its hash, which is stored when the step is committed."""

    step: Step
    listed: ListedRow

    @property
    def order_id(self) -> str:
        """The id of the row."""
        return self.step.observations[0].order.id or ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page in progress: what its rows are recorded for and under which condition. ``now`` is the service's time of it."""

    project: Project
    cause: Cause
    guard: Callable[[], None]
    now: datetime


def record_page(
    project: Project,
    page: TransactionPage,
    cause: Cause,
    *,
    skip_unchanged: bool = True,
    guard: Callable[[], None] = lambda: None,
) -> list[Outcome]:
    """Record the rows of a page in one transaction, and return an outcome for each that was read.

    A row that our rules or the database refuse opens an incident; the others are recorded. What the database refuses is found
    by recording halves. ``guard`` is called last in each transaction, so that what it locks is free for other workers
    meanwhile; an exception of it rolls the transaction back.
    """
    about = Page(project=project, cause=cause, guard=guard, now=read_at(page) or datetime.now(UTC))
    listed = _listed(project, page.rows)
    known = _known(listed) if skip_unchanged else set()
    changed = [(row, now) for row, now in zip(page.rows, listed, strict=True) if now not in known]
    rows, unread = _read(about, changed, page)
    outcomes = _recorded_or_reported(about, rows)
    _store_unrecorded(about, rows, outcomes, unread)
    return outcomes


def record_missed(project: Project, cause: Cause, guard: Callable[[], None]) -> None:
    """Record the reversals again that wait although their orders are known, or wait too (`ledger.missed_reversals`).

    Two windows are often read at once, and a refund may stand in the one and its payment in the other.
    """
    about = Page(project=project, cause=cause, guard=guard, now=datetime.now(UTC))
    # With an empty hash: a reversal that waits has no personal data, so the next pass reads its row again.
    rows = [
        ReadRow(
            step=Step(observations=(each,), cause=cause),
            listed=ListedRow.new(key=key_of(project.alias, each.order.id), row_hash=""),
        )
        for each in ledger.missed_reversals(project)
    ]
    _recorded_or_reported(about, rows)


def _recorded_or_reported(about: Page, rows: Sequence[ReadRow]) -> list[Outcome]:
    """Return an outcome for each row; one with an error opens an incident."""
    outcomes = _recorded(about, rows) if rows else []
    for row, outcome in zip(rows, outcomes, strict=True):
        if outcome.error is not None:
            _open_incident(about.project, row.order_id, outcome.error)
    return outcomes


def compare_page(project: Project, page: TransactionPage) -> list[SyncDifference]:
    """Return what differs between the rows of a page and the orders here. Nothing is written."""
    now = read_at(page) or datetime.now(UTC)
    found: list[SyncDifference] = []
    steps: list[Step] = []
    for row in page.rows:
        try:
            step = _step_of(page, row, Cause(source=Source.LIST))
        except MalformedResponse:
            found.append(differences.unreadable(project, row.id))
        else:
            steps += [step] if step else []
    return found + differences.unrecorded(project, steps, now)


def _listed(project: Project, rows: Sequence[TransactionRow]) -> list[KeyAndHash]:
    keys = (key_of(project.alias, row.id) for row in rows)
    return list(zip(keys, _hashes_of(rows), strict=True))


def _hashes_of(rows: Sequence[TransactionRow]) -> list[str]:
    """Return a keyed hash of each row's bytes: without Django's SECRET_KEY nobody can test guesses of their content."""
    key = salted_hmac(f"checkout_integration.listed_row.{RULES_VERSION}", "", algorithm="sha256").digest()
    return [blake2b(row.text.encode(), key=key, digest_size=KEY_LENGTH // 2).hexdigest() for row in rows]


def _known(listed: Sequence[KeyAndHash]) -> set[KeyAndHash]:
    """Return the keys and hashes that were stored when these rows were last read."""
    keys = {key for key, _ in listed}
    return {(key, row_hash) for key, row_hash in HASHES.fetch(keys=keys)} if keys else set()


def _read(
    about: Page, changed: Sequence[tuple[TransactionRow, KeyAndHash]], page: TransactionPage
) -> tuple[list[ReadRow], list[str]]:
    """Return the rows to record, and the ids of those that cannot be read; these open incidents."""
    rows: list[ReadRow] = []
    unread: list[str] = []
    for row, (key, row_hash) in changed:
        try:
            step = _step_of(page, row, about.cause)
        except MalformedResponse as error:
            _open_incident(about.project, row.id, error)
            unread.append(row.id)
        else:
            listed = ListedRow.new(key=key, row_hash=row_hash)
            rows += [ReadRow(step=step, listed=listed)] if step else []
    return rows, unread


def _step_of(page: TransactionPage, row: TransactionRow, cause: Cause) -> Step | None:
    """Return the step of a row; None for a test of the webhook, or a row without an id. Raises MalformedResponse."""
    order = row.order
    if not order.id or order.testing_case:
        return None
    observation = Observation(source=Source.LIST, order=order, observed_at=read_at(page))
    return Step(observations=(observation,), cause=cause)


def _recorded(about: Page, rows: Sequence[ReadRow]) -> list[Outcome]:
    steps = [row.step for row in rows]
    advice = ledger.consult_hooks(about.project, steps)

    def record() -> list[Outcome]:
        with write_transaction():
            outcomes = ledger.record(about.project, steps, advice)
            # A row without a change has failed, or waits for its order: its hash is not stored, so each pass reads it again.
            done = [row for row, outcome in zip(rows, outcomes, strict=True) if outcome.change is not None]
            upsert(list({row.listed.key: row.listed for row in done}.values()), "key", update=("row_hash",))
            if about.cause.sync_run is not None:
                found = differences.recorded(about.project, steps, outcomes, about.now)
                differences.store(about.cause.sync_run, [row.order_id for row in done], found)
            about.guard()
            return outcomes

    try:
        outcomes = with_retries(record)
    except TRANSIENT_DATABASE_ERRORS:
        raise
    except Exception as error:
        reason = error.__cause__ if isinstance(error, Unavailable) else error
        if isinstance(error, Unavailable) and not isinstance(reason, IntegrityError):
            raise
        if isinstance(error, LaneTaken):
            raise
        if len(rows) == 1:
            return [Outcome(error=reason if isinstance(reason, Exception) else error)]
        middle = len(rows) // 2
        return _recorded(about, rows[:middle]) + _recorded(about, rows[middle:])
    for change in {id(outcome.change): outcome.change for outcome in outcomes if outcome.change}.values():
        if change.changed:
            log_change(change)
    return outcomes


def _store_unrecorded(
    about: Page, rows: Sequence[ReadRow], outcomes: Sequence[Outcome], unread: Sequence[str]
) -> None:
    """Store what differs in the rows that were not recorded: they failed, wait for their orders, or cannot be read."""
    run = about.cause.sync_run
    left = [row.step for row, outcome in zip(rows, outcomes, strict=True) if outcome.change is None]
    if run is None or not (left or unread):
        return
    found = differences.unrecorded(about.project, left, about.now) if left else []
    found += [differences.unreadable(about.project, order_id) for order_id in unread]
    with write_transaction():
        differences.store(run, [*unread, *(step.observations[0].order.id or "" for step in left)], found)
        about.guard()


def _open_incident(project: Project, order_id: str, error: Exception) -> None:
    kind = "not_applied"
    ids = {"project": project.alias, "order_id": order_id}
    logger.error("Order %r of the list could not be recorded: %s", order_id, error_location(error), extra=ids)
    incident = Incident(
        key=key_of("order", project.alias, order_id, kind),
        kind=kind,
        project=project.alias,
        detail=f"{type(error).__name__} at order {order_id}",
    )
    insert_missing([incident], "key")
