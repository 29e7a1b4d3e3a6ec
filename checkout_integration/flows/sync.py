"""Reading the transaction list through the same ledger, so that a lost notification is made up for (G6)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import F

from checkout_integration.client.errors import CheckoutError, DeadlineExceeded, ServiceUnreachable
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database.connection import (
    state_database,
)
from checkout_integration.flows.database.retry import Unavailable
from checkout_integration.flows.installation import installed_at
from checkout_integration.flows.ledger import Cause
from checkout_integration.flows.listed import read_at, record_rows, steps_of
from checkout_integration.flows.service import client_for
from checkout_integration.models import SyncCursor, SyncRun
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.listing import TransactionFilter, TransactionPage
from checkout_integration.protocol.vocabulary import OrderStatus

logger = logging.getLogger("checkout_integration.sync")

OVERLAP = timedelta(hours=48, minutes=30)
"""How far before the watermark a recent pass begins: retries go on for 48 h, and the filter's time zone is not shown."""


@dataclass(frozen=True)
class Lane:
    """One way of reading the list: which rows, and whether it follows a watermark."""

    name: str
    statuses: tuple[OrderStatus, ...] = ()
    follows_watermark: bool = False


LANES = {
    lane.name: lane
    for lane in (
        Lane("recent", follows_watermark=True),
        Lane("reversals", (OrderStatus.REFUNDED, OrderStatus.CHARGEBACK, OrderStatus.CANCELED)),
        Lane("all"),
    )
}


class UnknownLane(KeyError):
    """There is no such way of reading the list; the message names those that there are."""

    def __str__(self) -> str:
        """Return a sentence, where KeyError shows the key alone."""
        return f"there is no lane {self.args[0]!r}; the lanes are: {', '.join(LANES)}"


def sync_transactions(project: str = "default", lane: str = "recent") -> SyncRun:
    """Reads one lane of the list to its end and records every page; returns the run, complete or not.

    Each page is a transaction of its own, and applying one again changes nothing: a run that dies loses nothing. The
    watermark moves only after a complete pass. Raises `UnknownAlias` or `UnknownLane`, which are
    ``KeyError``s, for an alias or a lane that there is not.
    """
    configured = app_settings().project(project)
    if lane not in LANES:
        raise UnknownLane(lane)
    chosen = LANES[lane]
    installed_at(configured)
    cursor = _take_cursor(configured, chosen)
    run = _start(configured, chosen, cursor)
    first_answer: datetime | None = None
    coverage = Coverage()
    try:
        with client_for(configured) as client:
            for page in client.iter_transaction_pages(_query(configured, chosen, run)):
                first_answer = first_answer or read_at(page)
                coverage.add(page)
                _record_page(configured, page, run)
    except (ServiceUnreachable, DeadlineExceeded) as error:
        return _end(run, SyncRun.State.UNREACHABLE, failure=str(error))
    except (CheckoutError, Unavailable) as error:
        return _end(run, SyncRun.State.FAILED, failure=str(error))
    except Exception as error:
        _end(run, SyncRun.State.FAILED, failure=type(error).__name__)
        raise
    if coverage.missing:
        return _end(
            run,
            SyncRun.State.FAILED,
            failure=f"The service counts {coverage.missing} rows more than it gave.",
        )
    if chosen.follows_watermark:
        _advance(cursor, first_answer or run.started_at)
    return _end(run, SyncRun.State.COMPLETE)


class Coverage:
    """Whether a pass was given as many rows as the service counts: rows that it withholds must not pass for read."""

    def __init__(self) -> None:
        self._given, self._counted = 0, 0
        self._previous: frozenset[str] = frozenset()

    def add(self, page: TransactionPage) -> None:
        """Takes a page in. Pages overlap, so only rows that the page before did not have are counted."""
        ids = frozenset(page.ids)
        self._given += len(ids - self._previous)
        self._counted = page.count or 0
        self._previous = ids

    @property
    def missing(self) -> int:
        """How many rows the service's latest count is ahead of what it gave."""
        return max(self._counted - self._given, 0)


def _query(project: Project, lane: Lane, run: SyncRun) -> TransactionFilter:
    return TransactionFilter(
        projects=[project.project_id],
        statuses=list(lane.statuses),
        date_from=run.window_from,
        limit=project.list_page_size,
    )


def _start(project: Project, lane: Lane, cursor: SyncCursor) -> SyncRun:
    watermark = cursor.watermark if lane.follows_watermark else None
    return SyncRun.objects.using(state_database()).create(
        project=project.alias,
        lane=lane.name,
        started_at=datetime.now(UTC),
        window_from=watermark - OVERLAP if watermark else None,
    )


def _record_page(project: Project, page: TransactionPage, run: SyncRun) -> None:
    outcomes = record_rows(project, steps_of(page, Cause(source=Source.LIST, sync_run=run)))
    changes = {outcome.change.order_id: outcome.change for outcome in outcomes if outcome.change is not None}
    run.pages += 1
    run.rows += len(page.items)
    run.changed += sum(change.moved or change.verdict != change.verdict_before for change in changes.values())
    run.save(using=state_database(), update_fields=["pages", "rows", "changed"])


def _take_cursor(project: Project, lane: Lane) -> SyncCursor:
    """The lane's cursor with a new fence number: a pass that was paused longer than we waited cannot move it any more."""
    cursors = SyncCursor.objects.using(state_database())
    cursor, _ = cursors.get_or_create(project=project.alias, lane=lane.name)
    # The row is locked between the two statements: no other pass reads this fence.
    with transaction.atomic(using=state_database()):
        cursors.filter(pk=cursor.pk).update(fence=F("fence") + 1)
        cursor.refresh_from_db(using=state_database())
    return cursor


def _advance(cursor: SyncCursor, pass_started_at: datetime) -> None:
    """Moves the watermark to the start of the complete pass, by compare-and-set, never backwards."""
    mine = SyncCursor.objects.using(state_database()).filter(pk=cursor.pk, fence=cursor.fence)
    mine.exclude(watermark__gt=pass_started_at).update(watermark=pass_started_at)


def _end(run: SyncRun, state: SyncRun.State, failure: str = "") -> SyncRun:
    run.state, run.failure, run.finished_at = state, failure[:255], datetime.now(UTC)
    run.save(using=state_database(), update_fields=["state", "failure", "finished_at"])
    return run
