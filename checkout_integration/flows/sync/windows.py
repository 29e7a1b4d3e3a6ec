"""The windows of a pass: the periods into which it is divided, and how one of them is read.

Orders are read by the time of their creation. Several workers may read windows of one pass at the same time, and a pass that
resumes another one reads only the windows that are left.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from django.db import Error

from checkout_integration import telemetry
from checkout_integration.client import Client
from checkout_integration.client.errors import CheckoutError, DeadlineExceeded, ServiceUnreachable
from checkout_integration.conf import Project
from checkout_integration.flows.database import Command, Unavailable, state_database, write_transaction
from checkout_integration.flows.ledger import Cause
from checkout_integration.flows.sync import differences
from checkout_integration.flows.sync.lanes import Lane, Period
from checkout_integration.flows.sync.list_rows import compare_page, read_at, record_page
from checkout_integration.flows.sync.refreshing import open_pages
from checkout_integration.flows.sync.watermark import LaneTaken, WindowLease
from checkout_integration.models import SyncDifference, SyncRun, SyncWindow
from checkout_integration.policy.observation import Source
from checkout_integration.policy.totals import ListedWindow
from checkout_integration.protocol.listing import TransactionFilter, TransactionPage

logger = logging.getLogger("checkout_integration.sync")


Progress = Callable[[SyncRun], None]
DAY: Final = timedelta(days=1)
MIDNIGHT: Final = datetime.min.time()
COUNT: Final = Command(
    """UPDATE {runs} SET pages = pages + {pages}, [rows] = [rows] + {rows}, changed = changed + {changed},
    rows_since = COALESCE(rows_since, {rows_since}) WHERE id = {run}
    """,
    runs=SyncRun,
)
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
    moments = sorted(moment.astimezone(UTC) for page in (first, last) for moment in _moments(page))
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


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the windows of a pass are read.

    Attributes:
        project: whose orders are read.
        lane: which of them.
        client: the client of the project.
        query: the filter of the lane, without a period.
        open_periods: when the orders were created that lane ``open`` reads.
        progress: called with the run after each page.

    """

    project: Project
    lane: Lane
    client: Client
    query: TransactionFilter
    open_periods: Sequence[Period] = ()
    progress: Progress = lambda run: None

    @property
    def compares(self) -> bool:
        """Whether the list should have every order of the period."""
        return not (self.lane.statuses or self.lane.only_open)

    def pages(self, begin: datetime | None, end: datetime | None) -> Iterator[TransactionPage]:
        """Read the pages of a window."""
        if self.lane.only_open:
            return open_pages(self.project, self.client, self.query, self.open_periods)
        return self.client.iter_transaction_pages(_within(self.query, begin, end))

    def listed_window(self, run: SyncRun) -> ListedWindow:
        """Return what the list gives in a window, still empty. Totals need a pass over everything."""
        latest = run.started_at - self.project.list_delta
        return ListedWindow(self.project.list_delta, latest if self.lane.reads_everything else None)


def read_window(reading: Reading, lease: WindowLease, run: SyncRun) -> bool:
    """Read a window to its end and record every page; return whether it is complete. Its row says why it is not.

    Raises:
        LaneTaken: another worker or pass took over.
        Exception: whatever is a fault of ours; the window is marked as failed.

    """
    try:
        return _read(reading, lease, run)
    except (ServiceUnreachable, DeadlineExceeded) as error:
        lease.end(SyncWindow.State.UNREACHABLE, str(error))
    except (CheckoutError, Unavailable) as error:
        lease.end(SyncWindow.State.FAILED, str(error))
    except LaneTaken:
        raise
    except Exception as error:
        lease.end(SyncWindow.State.FAILED, type(error).__name__)
        raise
    return False


def _read(reading: Reading, lease: WindowLease, run: SyncRun) -> bool:
    coverage, listed, counter = Coverage(), reading.listed_window(run), PageCounter(lease, run)
    with counter:
        for page in reading.pages(lease.window.window_from, lease.window.window_to):
            coverage.add(page)
            counter.add(page, _record_page(lease, page, run))
            if not reading.lane.only_open and _ignores_the_end(page, lease.window):
                _read_the_rest(lease)
            if reading.compares:
                differences.add_page(run, listed, page)
            reading.progress(run)
    if coverage.missing:
        lease.end(SyncWindow.State.FAILED, coverage.failure)
        return False
    totals = differences.compare_window(run, listed, lease.renew) if reading.compares else []
    lease.end(SyncWindow.State.COMPLETE, totals=totals)
    return True


def compare(reading: Reading, run: SyncRun) -> None:
    """Read the period of a run that is not saved, and give the run what differs. Nothing is written."""
    coverage, listed = Coverage(), reading.listed_window(run)
    found = dict[str | None, SyncDifference]()  # by their keys: pages overlap
    try:
        for page in reading.pages(run.window_from, run.window_to):
            run.pages, run.rows = run.pages + 1, run.rows + len(page.rows)
            run.expected = page.count or 0
            coverage.add(page)
            found |= {each.waiting_key: each for each in compare_page(reading.project, page)}
            if reading.compares:
                differences.add_page(run, listed, page)
            reading.progress(run)
    except CheckoutError as error:
        unreachable = isinstance(error, ServiceUnreachable | DeadlineExceeded)
        run.state = SyncRun.State.UNREACHABLE if unreachable else SyncRun.State.FAILED
        run.failure = str(error)[:255]
    else:
        run.state = SyncRun.State.FAILED if coverage.missing else SyncRun.State.COMPLETE
        run.failure = coverage.failure
        if reading.compares and not coverage.missing:
            missing, run.totals = differences.compared_window(run, listed)
            found |= {each.waiting_key: each for each in missing}
    run.compared, run.finished_at = tuple(found.values()), datetime.now(UTC)


def _within(query: TransactionFilter, begin: datetime | None, end: datetime | None) -> TransactionFilter:
    # Both ends are inclusive (EP3-07); one second more, for a service whose end is not.
    return replace(query, date_from=begin, date_to=end + timedelta(seconds=1) if end else None)


def _record_page(lease: WindowLease, page: TransactionPage, run: SyncRun) -> int:
    """Record a page; return how many of its orders changed in status or verdict."""
    outcomes = record_page(
        lease.lane.project, page, Cause(source=Source.LIST, sync_run=run), guard=lease.renew
    )
    changes = {outcome.change.order_id: outcome.change for outcome in outcomes if outcome.change is not None}
    return sum(change.moved or change.verdict != change.verdict_before for change in changes.values())


class PageCounter:
    """Counts the pages that a worker reads, in the row of the pass: once a second, and at the end of its block."""

    def __init__(self, lease: WindowLease, run: SyncRun) -> None:
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
        with write_transaction():
            COUNT.execute(run=self._run.pk, rows_since=self._run.rows_since, **counts)
            self._lease.renew()
        self._next_write = time.monotonic() + WRITTEN_EVERY


def _ignores_the_end(page: TransactionPage, window: SyncWindow) -> bool:
    if window.window_to is None or not page.rows:
        return False
    # Only one time is parsed: as texts, the times of one service follow each other too.
    created_at = max(page.rows, key=lambda row: str(row.outline.get("created_at") or "")).created_at
    return created_at is not None and created_at > window.window_to + END_IGNORED_AFTER


def _read_the_rest(lease: WindowLease) -> None:
    """Give the window everything after it too: this service will send it anyway, here and in each later window.

    The name of the parameter for the end is not shown (EP3-08): a service that does not know it ignores the end.
    """
    window = lease.window
    logger.warning(
        "The service ignores the end of the period: set LIST_END_PARAMETER. Reading without windows.",
        extra={"project": lease.lane.project.alias, "lane": lease.lane.lane, "sync_run": window.run_id},
    )
    later = SyncWindow.objects.using(state_database()).filter(run=window.run_id, pk__gt=window.pk)
    with write_transaction():
        lease.renew()
        later.exclude(state=SyncWindow.State.COMPLETE).delete()
        window.window_to = None
        window.save(using=state_database(), update_fields=["window_to"])


def _moments(page: TransactionPage) -> Iterator[datetime]:
    return (moment for row in page.rows if (moment := row.created_at) is not None)


class Coverage:
    """The count of a window's rows, compared with the service's count: rows that the service left out were not read."""

    def __init__(self) -> None:
        self._given, self._counted = 0, 0
        self._previous: frozenset[str] = frozenset()

    def add(self, page: TransactionPage) -> None:
        """Count the rows of a page. Pages overlap, so rows of the page before are not counted again."""
        ids = frozenset(page.ids)
        self._given += len(ids - self._previous)
        self._counted = page.count or 0
        self._previous = ids

    @property
    def missing(self) -> int:
        """How many rows are missing, by the service's latest count."""
        return max(self._counted - self._given, 0)

    @property
    def failure(self) -> str:
        """Why the window is not complete; "" if it is."""
        return f"The service counts {self.missing} rows more than it gave." if self.missing else ""
