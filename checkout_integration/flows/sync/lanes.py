"""The lanes: ways of reading the transaction list, which orders each one reads, and when it is due."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final, TypeAlias

from django.db.models import Q, QuerySet

from checkout_integration.conf import Project, app_settings
from checkout_integration.models import Checkout, Installation, Order, SyncCursor, SyncRun
from checkout_integration.policy.drift import UNPAID
from checkout_integration.protocol.listing import TransactionFilter, TransactionPage
from checkout_integration.protocol.vocabulary import OrderStatus

if TYPE_CHECKING:
    from checkout_integration.client import Client

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
Period: TypeAlias = tuple[datetime | None, datetime | None]

LOOKED_AT: Final = tuple(
    hours * HOUR
    for hours in (2, 6, 12, *(24 * days for days in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 26, 30)))
)
"""At which ages lane ``open`` reads an order that is not paid: a payment after so long is rare, but it happens."""
RETRIED_AFTER: Final = timedelta(minutes=15)
"""How long after its beginning a pass that did not end is begun again; the lane ``recent`` comes earlier anyway."""
NEWEST_PASSES: Final = 300
"""How many passes are searched for a complete one: those of a day, if each pass of the lane ``recent`` fails."""
FAILED: Final = (SyncRun.State.FAILED, SyncRun.State.UNREACHABLE)
MOST_BY_ID: Final = 50
"""How many open orders and checkouts are read one by one; for more, reading the list takes fewer requests."""
SLACK: Final = 0.9
"""A lane is due after so much of its interval: a schedule that comes a second early must not wait for its next turn."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One way of reading the list.

    Attributes:
        name: by which it is chosen.
        every: how often it is read.
        statuses: only orders in one of these; all of them if empty.
        follows_watermark: whether it begins a little before its last complete pass.
        only_open: whether it reads only what is not paid yet here, when that comes to one of the ages `LOOKED_AT`.

    """

    name: str
    every: timedelta
    statuses: tuple[OrderStatus, ...] = ()
    follows_watermark: bool = False
    only_open: bool = False

    @property
    def reads_everything(self) -> bool:
        """Whether a pass without a period reads the whole list."""
        return not (self.statuses or self.follows_watermark or self.only_open)


LANES = {
    lane.name: lane
    for lane in (
        Lane(name="recent", every=timedelta(minutes=5), follows_watermark=True),
        Lane(name="open", every=HOUR, only_open=True),
        Lane(
            name="reversals",
            every=DAY,
            statuses=(OrderStatus.REFUNDED, OrderStatus.CHARGEBACK, OrderStatus.CANCELED),
        ),
        Lane(name="all", every=7 * DAY),
    )
}


class UnknownLane(KeyError):
    """No lane has this name; the message names the lanes."""

    def __str__(self) -> str:
        """Return the message as a sentence; KeyError would show its repr."""
        return f"there is no lane {self.args[0]!r}; the lanes are: {', '.join(LANES)}"


def lane_of(name: str) -> Lane:
    """Return the lane of a name. Raises UnknownLane."""
    if name not in LANES:
        raise UnknownLane(name)
    return LANES[name]


def open_periods(last_pass_at: datetime | None, now: datetime) -> Sequence[Period]:
    """Return when the orders were created that have come to one of the ages `LOOKED_AT` since the last pass.

    Nothing but the time of the last complete pass is stored: no order is forgotten, whatever happens in between.
    """
    if last_pass_at is None:
        return [(now - LOOKED_AT[-1], now - LOOKED_AT[0])]
    periods: list[tuple[datetime, datetime]] = []
    for age in reversed(LOOKED_AT):
        begin, end = last_pass_at - age, now - age
        if periods and begin <= periods[-1][1]:
            begin, _ = periods.pop()
        periods.append((begin, end))
    return periods


def lanes_due(project: str = "default") -> list[str]:
    """Return the names of the lanes of a project that should be read now, the most urgent first.

    A lane is due when its last complete pass is older than its interval. One that is being read, or that failed a moment ago,
    is not due.
    """
    app_settings().project(project)
    now = datetime.now(UTC)
    cursors = SyncCursor.primary.filter(project=project, busy_until__gt=now)
    busy = set(cursors.values_list("lane", flat=True))
    return [lane.name for lane in LANES.values() if lane.name not in busy and _is_due(project, lane, now)]


def _is_due(project: str, lane: Lane, now: datetime) -> bool:
    # By our own clock: the watermark has the service's, which may be an hour ahead.
    runs = _whole_passes(project, lane)
    if runs.filter(started_at__gt=now - min(lane.every, RETRIED_AFTER) * SLACK).exists():
        return False
    complete = runs.filter(state=SyncRun.State.COMPLETE, started_at__gt=now - lane.every * SLACK)
    return not complete.exists()


def unsynced_for(*projects: str) -> timedelta:
    """Return for how long the recent orders of a project have not been read; of several projects the longest time.

    It counts from the last complete pass, or from the installation; before a project has stored anything it is zero.
    """
    statuses = [each for project in projects or app_settings().projects for each in lane_statuses(project)]
    return max((each.unread_for for each in statuses if each.lane == "recent"), default=timedelta(0))


@dataclass(frozen=True, kw_only=True)
class LaneStatus:
    """When a lane of a project was last read to its end, by this shop's own clock.

    Attributes:
        lane: its name.
        complete_at: the beginning of its last complete pass; None if there is none among the newest 300.
        unread_for: since then; without a complete pass since the installation.
        overdue: whether that is more than twice its interval, and an hour at least.
        state: the state of its newest pass; "" if there is none.
        failed_since: when the first of the passes began that failed since then; None if the newest that ended was complete.
        failure: why the newest of them failed.

    """

    lane: str
    complete_at: datetime | None
    unread_for: timedelta
    overdue: bool
    state: str
    failed_since: datetime | None = None
    failure: str = ""


def lane_statuses(project: str = "default") -> list[LaneStatus]:
    """Return the status of each lane of a project; none before anything of the project was stored."""
    installed = Installation.primary.filter(project=project)
    since = installed.values_list("installed_at", flat=True).first()
    now = datetime.now(UTC)
    return [_status(project, lane, since, now) for lane in LANES.values()] if since else []


def _status(project: str, lane: Lane, since: datetime, now: datetime) -> LaneStatus:
    passes = (
        _whole_passes(project, lane).order_by("-started_at").values_list("state", "started_at", "failure")
    )
    newest = list(passes[:1])
    if newest and newest[0][0] != SyncRun.State.COMPLETE:
        newest = list(passes[:NEWEST_PASSES])
    complete_at = next((began for state, began, _failure in newest if state == SyncRun.State.COMPLETE), None)
    # Where none of so many is complete, the last complete one is older than the oldest of them.
    known = complete_at or (newest[-1][1] if len(newest) == NEWEST_PASSES else since)
    unread_for = now - max(since, known)
    ended = [each for each in newest if each[0] != SyncRun.State.RUNNING]
    failed = list(takewhile(lambda each: each[0] in FAILED, ended))
    return LaneStatus(
        lane=lane.name,
        complete_at=complete_at,
        unread_for=unread_for,
        overdue=unread_for > max(2 * lane.every, HOUR),
        state=(failed or newest)[0][0] if newest else "",
        failed_since=failed[-1][1] if failed else None,
        failure=failed[0][2] if failed else "",
    )


def _whole_passes(project: str, lane: Lane) -> QuerySet[SyncRun]:
    """Return the passes of a lane that read all of it, not only a period that somebody chose."""
    runs = SyncRun.primary.filter(project=project, lane=lane.name, window_to=None)
    return runs if lane.follows_watermark else runs.filter(window_from=None)


def open_pages(
    project: Project, client: Client, query: TransactionFilter, periods: Sequence[Period]
) -> Iterator[TransactionPage]:
    """Yield the pages that have the orders and checkouts of these periods that are not paid here.

    A few are read by their ids. Of more the periods are read: each order in that of its creation, whenever its checkout was
    recorded. Nothing is read where nothing is open.
    """
    queries = list(islice(_open_queries(project, periods), MOST_BY_ID + 1))
    if len(queries) <= MOST_BY_ID and None not in queries:
        yield from map(client.list_transactions, filter(None, queries))
        return
    for begin, end in periods:
        yield from client.iter_transaction_pages(replace(query, date_from=begin, date_to=end))


def _open_queries(project: Project, periods: Sequence[Period]) -> Iterator[TransactionFilter | None]:
    """Yield a query for each checkout that can still be paid, and for each open order without such a checkout.

    None for a checkout that has no order yet, where the list does not find it by its reference.
    """
    checkouts = Checkout.primary.filter(
        _during("recorded_at", periods), project=project.alias, status__in=Checkout.PAYABLE
    )
    orders = Order.primary.filter(_during("created_at", periods), project=project.alias, status__in=UNPAID)
    projects, few = [project.project_id], MOST_BY_ID + 1
    for reference, order_id in checkouts.values_list("reference", "order_id")[:few]:
        if project.list_invoice_id:
            yield TransactionFilter(invoice_id=reference, projects=projects)
        else:
            yield TransactionFilter(id=order_id, projects=projects) if order_id else None
    for order_id in orders.exclude(checkout__in=checkouts).values_list("order_id", flat=True)[:few]:
        yield TransactionFilter(id=order_id, projects=projects)


def _during(column: str, periods: Sequence[Period]) -> Q:
    during = Q()
    for begin, end in periods:
        ends = {f"{column}__gte": begin, f"{column}__lte": end}
        during |= Q(**{name: moment for name, moment in ends.items() if moment is not None})
    return during
