"""Reading the transaction list through the same ledger, so that a lost notification is made up for (G6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F
from django.utils import timezone

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import state_database
from checkout_integration.flows.entry import Cause
from checkout_integration.flows.installation import installed_at
from checkout_integration.flows.ledger import record
from checkout_integration.flows.repeating import Unavailable, repeated
from checkout_integration.flows.service import client_for
from checkout_integration.flows.support import observations_of
from checkout_integration.models import SyncCursor, SyncRun
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.listing import TransactionFilter, TransactionPage
from checkout_integration.protocol.vocabulary import OrderStatus

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


def sync_transactions(project: str = "default", lane: str = "recent") -> SyncRun:
    """Reads one lane of the list to its end and records every page; returns the run, complete or failed.

    Each page is a transaction of its own, and applying one again changes nothing: a run that dies loses nothing. The
    watermark moves only after a complete pass. Raises ``KeyError`` for an unknown project or lane.
    """
    configured, chosen = app_settings().project(project), LANES[lane]
    installed_at(configured)
    cursor = _take_cursor(configured, chosen)
    run = _start(configured, chosen, cursor)
    first_answer: datetime | None = None
    try:
        with client_for(configured) as client:
            for page in client.iter_transaction_pages(_query(configured, chosen, run)):
                first_answer = first_answer or page.date
                _record_page(configured, page, run)
    except (CheckoutError, Unavailable) as error:
        return _end(run, SyncRun.State.FAILED, failure=str(error))
    if chosen.follows_watermark:
        _advance(cursor, first_answer or run.started_at)
    return _end(run, SyncRun.State.COMPLETE)


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
        started_at=timezone.now(),
        window_from=watermark - OVERLAP if watermark else None,
    )


def _record_page(project: Project, page: TransactionPage, run: SyncRun) -> None:
    observations = observations_of(page)
    cause = Cause(source=Source.LIST, sync_run=run)
    entries = repeated(lambda: record(project, observations, cause)) if observations else []
    run.pages += 1
    run.rows += len(page.items)
    run.changed += sum(entry.moved or entry.verdict != entry.verdict_before for entry in entries)
    run.save(using=state_database(), update_fields=["pages", "rows", "changed"])


def _take_cursor(project: Project, lane: Lane) -> SyncCursor:
    """The lane's cursor with a new fence number: a pass that was paused longer than we waited cannot move it any more."""
    cursors = SyncCursor.objects.using(state_database())
    cursor, _ = cursors.get_or_create(project=project.alias, lane=lane.name)
    cursors.filter(pk=cursor.pk).update(fence=F("fence") + 1)
    cursor.refresh_from_db()
    return cursor


def _advance(cursor: SyncCursor, pass_started_at: datetime) -> None:
    """Moves the watermark to the start of the complete pass, by compare-and-set, never backwards."""
    mine = SyncCursor.objects.using(state_database()).filter(pk=cursor.pk, fence=cursor.fence)
    mine.exclude(watermark__gt=pass_started_at).update(watermark=pass_started_at)


def _end(run: SyncRun, state: SyncRun.State, failure: str = "") -> SyncRun:
    run.state, run.failure, run.finished_at = state, failure[:255], timezone.now()
    run.save(using=state_database(), update_fields=["state", "failure", "finished_at"])
    return run
