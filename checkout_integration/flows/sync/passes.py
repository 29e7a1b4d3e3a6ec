"""One pass through the transaction list, which replaces lost notifications: the same ledger records its rows.

A pass begins with its windows, one or more workers read them (`windows`), and the last one ends it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from django.db.models import F

from checkout_integration.client import Client
from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import (
    insert_missing,
    installed_at,
    key_of,
    state_database,
    write_transaction,
)
from checkout_integration.flows.ledger import Cause, state_of
from checkout_integration.flows.sync import differences
from checkout_integration.flows.sync.lanes import LANES, Lane, Period, lane_of, open_periods
from checkout_integration.flows.sync.list_rows import record_missed
from checkout_integration.flows.sync.service import SharedPace, client_for
from checkout_integration.flows.sync.watermark import (
    LaneLease,
    LaneTaken,
    WindowLease,
    end_runs,
    window_start,
)
from checkout_integration.flows.sync.windows import Progress, Reading, compare, plan
from checkout_integration.flows.sync.windows import read_window as read_one
from checkout_integration.models import Incident, Order, SyncCursor, SyncRun, SyncWindow
from checkout_integration.policy.drift import REVERSAL_UNDONE, may_be_undone
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.observation import Source
from checkout_integration.policy.totals import together
from checkout_integration.protocol.listing import TransactionFilter

logger = logging.getLogger("checkout_integration.sync")

FEW_DAYS: Final = timedelta(days=4)
"""A pass over fewer days has one window."""
Helpers: TypeAlias = Callable[[SyncRun], AbstractContextManager[object]]
DAY: Final = timedelta(days=1)
CHUNK: Final = 500
RESUMED_WITHIN: Final = timedelta(days=7)
"""A pass that did not end is resumed by the next one of its lane, unless it began longer ago."""


def sync_transactions(
    project: str = "default",
    lane: str = "recent",
    *,
    date_from: datetime | None = None,
    date_to: datetime | None = None,
    resume: bool = True,
    dry_run: bool = False,
    progress: Progress = lambda run: None,
    helpers: Helpers = nullcontext,
) -> SyncRun:
    """Read one lane of the list to its end and record every page; return the run, complete or not.

    Each page is a transaction of its own, and recording one again changes nothing: a run that dies loses nothing. A row that
    has not changed since it was last read is skipped. The watermark moves only after a complete pass. One pass at a time
    reads a lane.

    Args:
        project: alias of the project in the settings.
        lane: name of the lane.
        date_from: only orders that were created then or later, instead of the lane's own period; the watermark stays.
        date_to: only orders that were created then or earlier.
        resume: continue a pass of several windows that did not end, instead of reading all of them.
        dry_run: only compare the list, row by row: nothing at all is written, and `drift_report` shows what differs.
        progress: called with the run after each page.
        helpers: a context in which others read windows of the run, too (`read_windows`). None of them reads any more when it
            ends.

    Raises:
        UnknownAlias: the settings have no such project; a ``KeyError``.
        UnknownLane: there is no such lane; a ``KeyError``.
        LaneTaken: another pass reads this lane.

    """
    if dry_run:
        return _compared(project, lane, date_from, date_to, progress)
    run = begin_pass(project, lane, date_from=date_from, date_to=date_to, resume=resume)
    try:
        try:
            with helpers(run):
                read_windows(run, progress)
        finally:
            _release_windows(run)
        read_windows(run, progress)
    finally:
        run = end_pass(run)
    return run


def read_windows(run: SyncRun, progress: Progress = lambda run: None) -> None:
    """Read the windows of a pass that nobody else has begun; other workers may do the same.

    None is begun after one that could not be read: a service that does not respond now will hardly respond to the next one.
    """
    running = SyncRun.objects.using(state_database()).filter(pk=run.pk, state=SyncRun.State.RUNNING)
    may_read = running.exclude(windows__state__in=[SyncWindow.State.FAILED, SyncWindow.State.UNREACHABLE])
    for window_pk in windows_left(run):
        if not may_read.exists():
            return
        read_window(run, window_pk, progress)


def _release_windows(run: SyncRun) -> None:
    """Release windows that were being read when their process was ended: no other worker knows of this pass."""
    windows = run.windows.using(state_database()).filter(busy_until__isnull=False)
    # A new fence: if the database has not noticed yet that a killed process is gone, its last page is refused.
    windows.update(busy_until=None, failure="It was not read to its end.", fence=F("fence") + 1)


def _compared(
    alias: str, lane: str, date_from: datetime | None, date_to: datetime | None, progress: Progress
) -> SyncRun:
    """Compare the rows of a lane; return the unsaved pass with what differs."""
    project, chosen = app_settings().project(alias), lane_of(lane)
    run = SyncRun(project=alias, lane=lane, started_at=datetime.now(UTC), window_to=date_to)
    cursor = SyncCursor.objects.using(state_database()).filter(project=alias, lane=lane).first()
    run.window_from = _begin(chosen, cursor, date_from, date_to)
    with client_for(project, pace=SharedPace(project)) as client:
        compare(_reading(client, run, cursor, progress), run)
    return run


def begin_pass(
    project: str = "default",
    lane: str = "recent",
    *,
    date_from: datetime | None = None,
    date_to: datetime | None = None,
    resume: bool = True,
) -> SyncRun:
    """Take a lane and store the windows of a pass, or those that are left of the pass that it resumes; return the run.

    Any number of workers may call `read_window` for its windows; whoever finds that none is left calls `end_pass`.

    Raises:
        UnknownAlias: the settings have no such project; a ``KeyError``.
        UnknownLane: there is no such lane; a ``KeyError``.
        LaneTaken: another pass reads this lane.

    """
    configured, chosen = app_settings().project(project), lane_of(lane)
    installed_at(configured)
    lease = LaneLease.take(configured, lane)
    date_from = _begin(chosen, lease.cursor, date_from, date_to)
    run = SyncRun.objects.using(state_database()).create(
        project=project,
        lane=lane,
        started_at=datetime.now(UTC),
        window_from=date_from,
        window_to=date_to,
        fence=lease.fence,
    )
    if not (resume and _resume(run)):
        _plan(configured, run)
    return run


def windows_left(run: SyncRun) -> list[int]:
    """Return the keys of a pass's windows that are not read yet, the earliest first."""
    waiting = run.windows.using(state_database()).filter(state=SyncWindow.State.WAITING)
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def read_window(run: SyncRun, window_pk: int, progress: Progress = lambda run: None) -> bool:
    """Read one window of a pass and record every page; return whether this worker read it to its end.

    False if the window was read before, if another worker or pass took it, or if it failed: its row says why.
    """
    project = app_settings().project(run.project)
    lease = WindowLease.take(LaneLease.of(project, run), window_pk)
    if lease is None:
        return False
    try:
        with client_for(project, pace=SharedPace(project)) as client:
            return read_one(_reading(client, run, lease.lane.cursor, progress), lease, run)
    except LaneTaken as error:
        logger.info("%s", error, extra=run.log_ids)
        return False


def end_pass(run: SyncRun) -> SyncRun:
    """End a pass and release its lane, unless other workers read its windows; return the run as it is stored.

    It is complete if all its windows are; then the watermark moves. The windows of another one are left to be resumed.
    """
    project = app_settings().project(run.project)
    lease = LaneLease.of(project, run)
    with suppress(LaneTaken):
        record_missed(project, Cause(source=Source.LIST, sync_run=run), lease.renew)
    with write_transaction():
        try:
            lease.renew()
        except LaneTaken as error:
            _end(run, SyncRun.State.ABANDONED, str(error))
        else:
            left = run.windows.using(state_database()).exclude(state=SyncWindow.State.COMPLETE)
            if not left.filter(busy_until__gt=datetime.now(UTC)).exists():
                _end_with(lease, run, list(left.order_by("pk")))
                lease.release()
    return SyncRun.objects.using(state_database()).get(pk=run.pk)


def _end_with(lease: LaneLease, run: SyncRun, left: Sequence[SyncWindow]) -> None:
    """Store the state of a pass with these windows left."""
    if not left:
        run.refresh_from_db(using=state_database())
        parts = run.windows.using(state_database()).values_list("totals", flat=True)
        SyncRun.objects.using(state_database()).filter(pk=run.pk).update(totals=together(parts))
        differences.look_again(run)
        if run.window_to is None and run.window_from in (None, window_start(lease.cursor)):
            # The ages of open orders are counted by our own clock.
            by_service = None if LANES[run.lane].only_open else run.rows_since
            lease.advance(by_service or run.started_at)
        _end(run, SyncRun.State.COMPLETE)
        if LANES[run.lane].reads_everything:
            _ask_about_reversals(run)
        return
    failure = next((window.failure for window in left if window.failure), "")
    states = {window.state for window in left}
    unreachable = SyncWindow.State.UNREACHABLE in states
    _end(run, SyncRun.State.UNREACHABLE if unreachable else SyncRun.State.FAILED, failure)


def _end(run: SyncRun, state: SyncRun.State, failure: str = "") -> None:
    end_runs(run.project, run.lane, state, failure, run=run.pk)


def _ask_about_reversals(run: SyncRun) -> None:
    """Open an incident for each reversed order that the list shows as paid: was its reversal undone?

    Two complete passes, a day apart, have begun since the order last changed. The rows of most of them have not changed, so
    they were not read again: what they show is what they showed at their last reading.
    """
    passes = SyncRun.objects.using(state_database()).filter(
        project=run.project,
        lane=run.lane,
        state=SyncRun.State.COMPLETE,
        window_from=None,
        window_to=None,
        started_at__lte=run.started_at - DAY,
    )
    first = passes.order_by("-started_at").first()
    if run.window_from or run.window_to or first is None:
        return
    reversed_before = Order.objects.using(state_database()).filter(
        project=run.project, status__in=REVERSALS, changed_at__lt=first.started_at
    )
    last = 0
    while orders := list(
        reversed_before.exclude(incidents__kind=REVERSAL_UNDONE)
        .filter(pk__gt=last)
        .order_by("pk")
        .select_related("personal_data")[:CHUNK]
    ):
        last = orders[-1].pk
        insert_missing([_undone(order) for order in orders if may_be_undone(state_of(order))], "key")


def _undone(order: Order) -> Incident:
    return Incident(
        key=key_of("order", order.project, order.order_id, REVERSAL_UNDONE),
        kind=REVERSAL_UNDONE,
        project=order.project,
        order=order,
        detail="The list has shown this reversed order as paid for more than a day.",
    )


def _resume(run: SyncRun) -> bool:
    """Give the run the windows that are left of the lane's last pass, if that read the same period in several windows."""
    runs = SyncRun.objects.using(state_database()).filter(project=run.project, lane=run.lane)
    before = runs.exclude(pk=run.pk).order_by("-pk").first()
    if before is None or before.started_at < run.started_at - RESUMED_WITHIN:
        return False
    windows = before.windows.using(state_database())
    left = windows.exclude(state=SyncWindow.State.COMPLETE)
    if (before.window_from, before.window_to) != (run.window_from, run.window_to) or windows.count() < 2:
        return False
    # A new fence: a worker that was suspended writes nothing more.
    if not left.update(state=SyncWindow.State.WAITING, failure="", fence=F("fence") + 1, busy_until=None):
        return False
    windows.update(run=run)
    before.differences.using(state_database()).update(run=run)
    run.rows_since = before.rows_since
    run.save(using=state_database(), update_fields=["rows_since"])
    return True


def _plan(project: Project, run: SyncRun) -> None:
    """Store the windows of a run: one where it reads at most a few days, otherwise as the list is filled."""
    lane = LANES[run.lane]
    query = replace(_query(project, lane), date_from=run.window_from, date_to=run.window_to)
    periods: Sequence[Period] = [(run.window_from, run.window_to)]
    if not lane.only_open and (run.window_from is None or run.started_at - run.window_from > FEW_DAYS):
        try:
            with client_for(project, pace=SharedPace(project)) as client:
                periods = plan(client, query, run)
        except CheckoutError as error:
            logger.warning("The pass is not divided into windows: %s", error, extra=run.log_ids)
    SyncWindow.objects.using(state_database()).bulk_create(
        [SyncWindow(run=run, window_from=begin, window_to=end) for begin, end in periods]
    )


def _begin(
    lane: Lane, cursor: SyncCursor | None, date_from: datetime | None, date_to: datetime | None
) -> datetime | None:
    """Return from when a pass reads: the given time, or the lane's own."""
    follows = lane.follows_watermark and cursor is not None and date_from is None and date_to is None
    return window_start(cursor) if follows and cursor else date_from


def _reading(client: Client, run: SyncRun, cursor: SyncCursor | None, progress: Progress) -> Reading:
    project, lane = app_settings().project(run.project), LANES[run.lane]
    bounded = run.window_from is not None or run.window_to is not None
    periods = open_periods(cursor.watermark if cursor else None, run.started_at)
    return Reading(
        project=project,
        lane=lane,
        client=client,
        query=_query(project, lane),
        open_periods=[(run.window_from, run.window_to)] if bounded else periods,
        progress=progress,
    )


def _query(project: Project, lane: Lane) -> TransactionFilter:
    return TransactionFilter(
        projects=[project.project_id], statuses=list(lane.statuses), limit=project.list_page_size
    )
