"""One pass through the transaction list, which replaces lost notifications: the same ledger records its rows.

A pass begins with its windows, the periods into which it is divided by the time at which orders were created. One or more
workers read them, and the last one ends the pass. A pass that resumes another one reads only the windows that are left.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from django.db import Error
from django.db.models import Exists, F, OuterRef, Value
from django.db.models.functions import Coalesce

from checkout_integration import telemetry
from checkout_integration.client.errors import CheckoutError, DeadlineExceeded, ServiceUnreachable
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import (
    Unavailable,
    about_order,
    installed_at,
    open_incidents,
    state_database,
    write_transaction,
)
from checkout_integration.flows.ledger import Cause, state_of
from checkout_integration.flows.outbox import record_own
from checkout_integration.flows.sync import differences
from checkout_integration.flows.sync.lanes import LANES, Lane, Period, lane_of, open_pages, open_periods
from checkout_integration.flows.sync.list_rows import compare_page, read_at, record_missed, record_page
from checkout_integration.flows.sync.service import SharedPace, client_for
from checkout_integration.flows.sync.watermark import LaneTaken, Lease, end_runs, window_start
from checkout_integration.models import Incident, Order, SyncCursor, SyncDifference, SyncRun, SyncWindow
from checkout_integration.policy.drift import REVERSAL_UNDONE, DifferenceKind, may_be_undone
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.observation import Source
from checkout_integration.policy.totals import ListedWindow, together
from checkout_integration.protocol.listing import TransactionFilter, TransactionPage

if TYPE_CHECKING:
    from checkout_integration.client import Client

logger = logging.getLogger("checkout_integration.sync")

Progress = Callable[[SyncRun], None]
MIDNIGHT: Final = datetime.min.time()
LAST: Final = 2
MOST_PARTS: Final = 4
"""Each of the last two windows is divided into up to so many parts: several workers then end at about the same time."""
WRITTEN_EVERY: Final = 1.0
"""Seconds between two writes of the progress."""
END_IGNORED_AFTER: Final = timedelta(hours=26)
"""A row that was created so long after the end of its window: the service ignores the end. No time zone explains it."""


def plan(client: Client, query: TransactionFilter, run: SyncRun) -> Sequence[Period]:
    """Return the periods into which the rows of a query are divided: days, several at once where a day has less than a page.

    The first and the last page show from when to when the rows were created. That may be wrong, so the first period begins
    and the last one ends where the query does: no row is left out.
    """
    first = client.list_transactions(query)
    count, size = first.count or 0, max(len(first.rows), 1)
    run.expected = count
    if count <= size:
        return [(query.date_from, query.date_to)]
    last = client.list_transactions(replace(query, offset=count - size))
    created = [row.created_at for page in (first, last) for row in page.rows]
    moments = sorted(moment.astimezone(UTC) for moment in created if moment is not None)
    if not moments:
        return [(query.date_from, query.date_to)]
    midnight = datetime.combine(moments[0], MIDNIGHT, UTC)
    days = (moments[-1] - midnight).days + 1
    step = max(1, size * days // count)
    begins = [midnight + number * DAY for number in range(0, days, step)]
    pages = count * step // (size * days)
    if pages > 1 and len(begins) > LAST:
        begins[-LAST:] = _divided(begins[-LAST:], moments[-1], min(pages, MOST_PARTS))
    # The service may read the period in another zone.
    limits = [each for each in begins[1:] if _is_between(query.date_from, each, query.date_to)]
    return list(zip([query.date_from, *limits], [*limits, query.date_to], strict=True))


def _is_between(begin: datetime | None, moment: datetime, end: datetime | None) -> bool:
    return (begin is None or begin < moment) and (end is None or moment < end)


def _divided(begins: Sequence[datetime], end: datetime, parts: int) -> list[datetime]:
    """Return the beginnings of so many times as many periods of one length; the last one ends at ``end``."""
    count = len(begins) * parts
    length = (end - begins[0]) / count
    return [(begins[0] + number * length).replace(microsecond=0) for number in range(count)]


class Reading:
    """What the list gives in one window, or in the whole period of a dry run.

    Rows are counted, and compared with the service's count: rows that it left out were not read.
    """

    def __init__(self, run: SyncRun, client: Client, cursor: SyncCursor | None) -> None:
        self._run, self._client, self._cursor = run, client, cursor
        self.project, self.lane = app_settings().project(run.project), LANES[run.lane]
        self.compares = not (self.lane.statuses or self.lane.only_open)
        """Whether the list should have every order of the period."""
        latest = run.started_at - self.project.list_delta
        # Totals need a pass over everything.
        self.listed = ListedWindow(self.project.list_delta, latest if self.lane.reads_everything else None)
        self._given, self._counted = 0, 0

    def pages(self, begin: datetime | None, end: datetime | None) -> Iterator[TransactionPage]:
        """Yield the pages of a window, each until it is recorded."""
        previous: frozenset[str] = frozenset()
        for page in self._pages(begin, end):
            ids = frozenset(page.ids)
            self._given += len(ids - previous)  # pages overlap: rows of the page before are not counted again
            self._counted, previous = page.count or 0, ids
            yield page
            if self.compares:
                differences.add_page(self._run, self.listed, page)

    def _pages(self, begin: datetime | None, end: datetime | None) -> Iterator[TransactionPage]:
        """Read the pages of a window; in lane ``open`` what is not paid of its periods, or of that of the run."""
        run, query = self._run, query_of(self.project, self.lane)
        if not self.lane.only_open:
            # Both ends are inclusive (EP3-07); one second more, for a service whose end is not.
            until = end + timedelta(seconds=1) if end else None
            return self._client.iter_transaction_pages(replace(query, date_from=begin, date_to=until))
        bounded = run.window_from is not None or run.window_to is not None
        ages = open_periods(self._cursor.watermark if self._cursor else None, run.started_at)
        periods = [(run.window_from, run.window_to)] if bounded else ages
        return open_pages(self.project, self._client, query, periods)

    @property
    def failure(self) -> str:
        """Why the window is not complete, by the service's latest count; "" if it is."""
        missing = self._counted - self._given
        return f"The service counts {missing} rows more than it gave." if missing > 0 else ""


def query_of(project: Project, lane: Lane) -> TransactionFilter:
    """Return the filter of a lane, without a period."""
    return TransactionFilter(
        projects=[project.project_id], statuses=list(lane.statuses), limit=project.list_page_size
    )


def read_window(run: SyncRun, window_pk: int, progress: Progress = lambda run: None) -> bool:
    """Read one window of a pass and record every page; return whether this worker read it to its end.

    False if the window was read before, if another worker or pass took it, or if it failed: its row says why. An exception
    that is a fault of ours marks it as failed, and is raised.
    """
    project = app_settings().project(run.project)
    lease = Lease.of(project, run).take_window(window_pk)
    if lease is None:
        return False
    try:
        with client_for(project, pace=SharedPace(project)) as client:
            return _read(Reading(run, client, lease.cursor), run, lease, progress)
    except LaneTaken as error:
        logger.info("%s", error, extra=run.log_ids)
    except (ServiceUnreachable, DeadlineExceeded) as error:
        lease.end_window(SyncWindow.State.UNREACHABLE, str(error))
    except (CheckoutError, Unavailable) as error:
        lease.end_window(SyncWindow.State.FAILED, str(error))
    except Exception as error:
        lease.end_window(SyncWindow.State.FAILED, type(error).__name__)
        raise
    return False


def _read(reading: Reading, run: SyncRun, lease: Lease, progress: Progress) -> bool:
    window = lease.window
    assert window is not None
    with PageCounter(lease, run) as counter:
        for page in reading.pages(window.window_from, window.window_to):
            counter.add(page, _record_page(lease, page, run))
            if not reading.lane.only_open and _ignores_the_end(page, window):
                _read_the_rest(lease, window)
            progress(run)
    if reading.failure:
        lease.end_window(SyncWindow.State.FAILED, reading.failure)
        return False
    totals = differences.compare_window(run, reading.listed, lease.renew) if reading.compares else []
    lease.end_window(SyncWindow.State.COMPLETE, totals=totals)
    return True


def _record_page(lease: Lease, page: TransactionPage, run: SyncRun) -> int:
    """Record a page; return how many of its orders changed in status or verdict."""
    outcomes = record_page(lease.project, page, Cause(source=Source.LIST, sync_run=run), guard=lease.renew)
    changes = {outcome.change.order_id: outcome.change for outcome in outcomes if outcome.change is not None}
    return sum(change.moved or change.verdict != change.verdict_before for change in changes.values())


class PageCounter:
    """Counts the pages that a worker reads, in the row of the pass: once a second, and at the end of its block."""

    def __init__(self, lease: Lease, run: SyncRun) -> None:
        self._lease, self._run = lease, run
        self._counts = {"pages": 0, "rows": 0, "changed": 0}
        self._next_write = 0.0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Write what is left. After an exception only if that is still possible."""
        with suppress(LaneTaken, Error) if error else nullcontext():
            self.write()

    def add(self, page: TransactionPage, changed: int) -> None:
        """Count a page."""
        run, rows = self._run, len(page.rows)
        run.pages, run.rows = run.pages + 1, run.rows + rows
        telemetry.count(telemetry.ROWS_READ, rows, project=run.project, lane=run.lane)
        telemetry.count(telemetry.ROWS_CHANGED, changed, project=run.project, lane=run.lane)
        for name, more in (("pages", 1), ("rows", rows), ("changed", changed)):
            self._counts[name] += more
        if run.rows_since is None:
            run.rows_since = read_at(page) or run.started_at
        if time.monotonic() >= self._next_write:
            self.write()

    def write(self) -> None:
        """Add what was counted, in the database: other workers count their pages too."""
        if not self._counts["pages"]:
            return
        # Emptied first, so that nothing is added twice where the connection is lost at the commit.
        counts, self._counts = self._counts, dict.fromkeys(self._counts, 0)
        # Not in the transaction of the page, whose rows name the run: MariaDB has locked it for them, for sharing. Two
        # workers that both changed it then would be a deadlock.
        more: dict[str, Any] = {name: F(name) + count for name, count in counts.items()}
        with write_transaction():
            own = SyncRun.primary.filter(pk=self._run.pk)
            own.update(rows_since=Coalesce("rows_since", Value(self._run.rows_since)), **more)
            self._lease.renew()
        self._next_write = time.monotonic() + WRITTEN_EVERY


def _ignores_the_end(page: TransactionPage, window: SyncWindow) -> bool:
    if window.window_to is None or not page.rows:
        return False
    # Only one time is parsed: as texts, the times of one service follow each other too.
    created_at = max(page.rows, key=lambda row: str(row.outline.get("created_at") or "")).created_at
    return created_at is not None and created_at > window.window_to + END_IGNORED_AFTER


def _read_the_rest(lease: Lease, window: SyncWindow) -> None:
    """Give the window everything after it too: this service will send it anyway, here and in each later window.

    The name of the parameter for the end is not shown (EP3-08): a service that does not know it ignores the end.
    """
    logger.warning(
        "The service ignores the end of the period: set LIST_END_PARAMETER. Reading without windows.",
        extra={"project": lease.project.alias, "lane": lease.lane, "sync_run": window.run_id},
    )
    later = SyncWindow.primary.filter(run=window.run_id, pk__gt=window.pk)
    with write_transaction():
        lease.renew()
        later.exclude(state=SyncWindow.State.COMPLETE).delete()
        window.window_to = None
        window.save(using=state_database(), update_fields=["window_to"])


FEW_DAYS: Final = timedelta(days=4)
"""A pass over fewer days has one window."""
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
            read_windows(run, progress)
        finally:
            _release_windows(run)
    finally:
        run = end_pass(run)
    return run


def read_windows(run: SyncRun, progress: Progress = lambda run: None) -> None:
    """Read the windows of a pass that nobody else has begun; other workers may do the same.

    None is begun after one that could not be read: a service that does not respond now will hardly respond to the next one.
    """
    running = SyncRun.primary.filter(pk=run.pk, state=SyncRun.State.RUNNING)
    may_read = running.exclude(windows__state__in=[SyncWindow.State.FAILED, SyncWindow.State.UNREACHABLE])
    for window_pk in windows_left(run):
        if not may_read.exists():
            return
        read_window(run, window_pk, progress)


def _release_windows(run: SyncRun) -> None:
    """Release the window that was being read when this process was interrupted: no other worker knows of this pass."""
    windows = run.windows.using(state_database()).filter(busy_until__isnull=False)
    # A new fence: if the database has not noticed yet that a killed process is gone, its last page is refused.
    windows.update(busy_until=None, failure="It was not read to its end.", fence=F("fence") + 1)


def _compared(
    alias: str, lane: str, date_from: datetime | None, date_to: datetime | None, progress: Progress
) -> SyncRun:
    """Compare the rows of a lane; return the unsaved pass with what differs. Nothing is written."""
    project, chosen = app_settings().project(alias), lane_of(lane)
    run = SyncRun(project=alias, lane=lane, started_at=datetime.now(UTC), window_to=date_to)
    cursor = SyncCursor.primary.filter(project=alias, lane=lane).first()
    run.window_from = _begin(chosen, cursor, date_from, date_to)
    found = dict[str | None, SyncDifference]()  # by their keys: pages overlap
    try:
        with client_for(project, pace=SharedPace(project)) as client:
            reading = Reading(run, client, cursor)
            for page in reading.pages(run.window_from, run.window_to):
                run.pages, run.rows = run.pages + 1, run.rows + len(page.rows)
                run.expected = page.count or 0
                found |= {each.waiting_key: each for each in compare_page(project, page)}
                progress(run)
    except CheckoutError as error:
        unreachable = isinstance(error, ServiceUnreachable | DeadlineExceeded)
        run.state = SyncRun.State.UNREACHABLE if unreachable else SyncRun.State.FAILED
        run.failure = str(error)[:255]
    else:
        run.state = SyncRun.State.FAILED if reading.failure else SyncRun.State.COMPLETE
        run.failure = reading.failure
        if reading.compares and not reading.failure:
            missing, run.totals = differences.compared_window(run, reading.listed)
            found |= {each.waiting_key: each for each in missing}
    run.compared, run.finished_at = tuple(found.values()), datetime.now(UTC)
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
    record_own()
    configured, chosen = app_settings().project(project), lane_of(lane)
    installed_at(configured)
    lease = Lease.take(configured, lane)
    date_from = _begin(chosen, lease.cursor, date_from, date_to)
    run = SyncRun.primary.create(
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


def end_pass(run: SyncRun) -> SyncRun:
    """End a pass and release its lane, unless other workers read its windows; return the run as it is stored.

    It is complete if all its windows are; then the watermark moves. The windows of another one are left to be resumed.
    """
    project = app_settings().project(run.project)
    lease = Lease.of(project, run)
    with suppress(LaneTaken):
        cause = Cause(source=Source.LIST, sync_run=run)
        record_missed(project, cause, lease.renew, read_whole=_has_read_everything(run))
    with write_transaction():
        try:
            lease.renew()
        except LaneTaken as error:
            end_runs(run.project, run.lane, SyncRun.State.ABANDONED, str(error), run=run.pk)
        else:
            left = run.windows.using(state_database()).exclude(state=SyncWindow.State.COMPLETE)
            if not left.filter(busy_until__gt=datetime.now(UTC)).exists():
                _end_with(lease, run, list(left.order_by("pk")))
                lease.release()
    return SyncRun.primary.get(pk=run.pk)


def _has_read_everything(run: SyncRun) -> bool:
    """Return whether the pass has read each row of the list, from its beginning to its end, and understood it."""
    if not LANES[run.lane].reads_everything or run.window_from or run.window_to:
        return False
    left = run.windows.using(state_database()).exclude(state=SyncWindow.State.COMPLETE)
    unread = SyncDifference.primary.filter(
        project=run.project, kind=DifferenceKind.UNKNOWN, state=SyncDifference.State.WAITING
    )
    return not left.exists() and not unread.exists()


def _end_with(lease: Lease, run: SyncRun, left: Sequence[SyncWindow]) -> None:
    """Store the state of a pass with these windows left."""
    if not left:
        run.refresh_from_db(using=state_database())
        parts = run.windows.using(state_database()).values_list("totals", flat=True)
        SyncRun.primary.filter(pk=run.pk).update(totals=together(parts))
        differences.look_again(run)
        if run.window_to is None and run.window_from in (None, window_start(lease.cursor)):
            # The ages of open orders are counted by our own clock.
            by_service = None if LANES[run.lane].only_open else run.rows_since
            lease.advance(by_service or run.started_at)
        end_runs(run.project, run.lane, SyncRun.State.COMPLETE, run=run.pk)
        if LANES[run.lane].reads_everything:
            _ask_about_reversals(run)
        return
    failure = next((window.failure for window in left if window.failure), "")
    unreachable = any(window.state == SyncWindow.State.UNREACHABLE for window in left)
    state = SyncRun.State.UNREACHABLE if unreachable else SyncRun.State.FAILED
    end_runs(run.project, run.lane, state, failure, run=run.pk)


def _ask_about_reversals(run: SyncRun) -> None:
    """Open an incident for each reversed order that the list shows as paid: was its reversal undone?

    Two complete passes, a day apart, have begun since the order last changed. The rows of most of them have not changed, so
    they were not read again: what they show is what they showed at their last reading.
    """
    passes = SyncRun.primary.filter(
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
    reversed_before = Order.primary.filter(
        project=run.project, status__in=REVERSALS, changed_at__lt=first.started_at
    )
    reported = Incident.objects.filter(order=OuterRef("pk"), kind=REVERSAL_UNDONE, ended_itself=False)
    last = 0
    while orders := list(
        reversed_before.exclude(Exists(reported))
        .filter(pk__gt=last)
        .order_by("pk")
        .select_related("personal_data")[:CHUNK]
    ):
        last = orders[-1].pk
        text = "The list has shown this reversed order as paid for more than a day."
        undone = [order for order in orders if may_be_undone(state_of(order))]
        open_incidents([about_order(order, REVERSAL_UNDONE, detail=text) for order in undone])


def _resume(run: SyncRun) -> bool:
    """Give the run the windows that are left of the lane's last pass, if that read the same period in several windows."""
    runs = SyncRun.primary.filter(project=run.project, lane=run.lane)
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
    query = replace(query_of(project, lane), date_from=run.window_from, date_to=run.window_to)
    periods: Sequence[Period] = [(run.window_from, run.window_to)]
    if not lane.only_open and (run.window_from is None or run.started_at - run.window_from > FEW_DAYS):
        try:
            with client_for(project, pace=SharedPace(project)) as client:
                periods = plan(client, query, run)
        except CheckoutError as error:
            logger.warning("The pass is not divided into windows: %s", error, extra=run.log_ids)
    SyncWindow.primary.bulk_create(
        [SyncWindow(run=run, window_from=begin, window_to=end) for begin, end in periods]
    )


def _begin(
    lane: Lane, cursor: SyncCursor | None, date_from: datetime | None, date_to: datetime | None
) -> datetime | None:
    """Return from when a pass reads: the given time, or the lane's own."""
    follows = lane.follows_watermark and cursor is not None and date_from is None and date_to is None
    return window_start(cursor) if follows and cursor else date_from
