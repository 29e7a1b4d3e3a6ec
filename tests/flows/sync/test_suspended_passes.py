"""Passes whose process is killed, or suspended past its lease, at each step: no gap, nothing twice, no late write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import Installation, Order, ReceiverRun, SyncCursor, SyncRun, SyncWindow
from tests.stress.chaos.shop.crash_points import SYNC, CrashPoint
from tests.support.flows.list_service import ListService, list_service, listed
from tests.support.flows.suspended_processes import Suspended, heard
from tests.support.scale import FULL

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
DAYS, EACH = 4, 5
TIMES = range(20) if FULL else (0,)
"""How often the process comes by the place before it stops there."""
BLOCKING = (
    "sync-after-merge",
    "sync-after-row-hashes",
    "sync-before-commit",
    "sync-after-watermark",
    "sync-before-release",
)
"""In a transaction that has written rows of the page, or the lane: another pass would wait for it."""
READ = partial(flows.sync.sync_transactions, lane="all")


@pytest.fixture
def service(settings: Any) -> Iterator[ListService]:
    """Give a list of payments of several days, with several pages a day, none of which this shop has."""
    Installation.objects.create(project="default", installed_at=timezone.now() - timedelta(days=DAYS + 1))
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 4}
    with list_service(settings) as service:
        service.rows = [
            listed(f"{day}-{each}", each - day * 1440) for day in range(DAYS) for each in range(EACH)
        ]
        yield service


def leases_lapse() -> None:
    """Let the time of all leases pass."""
    past = timezone.now() - timedelta(seconds=1)
    SyncCursor.objects.exclude(busy_until=None).update(busy_until=past)
    SyncWindow.objects.exclude(busy_until=None).update(busy_until=past)


def in_a_process(work: Callable[[], object]) -> None:
    """Do this in a process that knows the receiver."""
    Suspended(work).end()


def assert_found_once(service: ListService) -> None:
    """Each order is paid here, each receiver has run once, and nothing differs."""
    in_a_process(flows.run_due)
    assert Order.objects.filter(status="processed").count() == len(service.rows)
    assert {row["id"]: heard(row["id"]) for row in service.rows} == {
        row["id"]: ["payment_success"] for row in service.rows
    }
    assert not ReceiverRun.objects.exclude(state="done").exists()
    report = flows.sync.drift_report(READ(dry_run=True))
    assert (list(report.differences), report.totals_agree) == ([], True)


@pytest.mark.parametrize("passes_by", TIMES)
@pytest.mark.parametrize("place", SYNC, ids=lambda place: place.fuse)
def test_a_killed_pass_leaves_no_gap(service: ListService, place: CrashPoint, passes_by: int) -> None:
    """The next pass reads what is left."""
    killed = Suspended(READ, place, passes_by=passes_by)
    if killed.await_stop():
        killed.kill()
    leases_lapse()
    in_a_process(READ)
    states = list(SyncRun.objects.order_by("pk").values_list("state", flat=True))
    assert states in (["complete"], ["abandoned", "complete"], ["complete", "complete"])
    assert_found_once(service)


@pytest.mark.parametrize(
    "place", [place for place in SYNC if place.fuse not in BLOCKING], ids=lambda place: place.fuse
)
def test_what_a_suspended_pass_writes_late_is_refused(service: ListService, place: CrashPoint) -> None:
    """Another pass took the lane meanwhile: the first one moves no watermark and stores nothing more."""
    suspended = Suspended(READ, place)
    assert suspended.await_stop()
    leases_lapse()
    service.rows.append(listed("late", 30))
    in_a_process(READ)
    before = state_of_the_sync()
    suspended.end()
    assert state_of_the_sync() == before
    assert_found_once(service)


def state_of_the_sync() -> tuple[object, ...]:
    """Return what a pass moves: the watermark, the fence, and what is stored of orders."""
    orders = sorted(Order.objects.values_list("order_id", "status", "changed_at"))
    cursor = SyncCursor.objects.get()
    return cursor.watermark, cursor.fence, cursor.busy_until, orders
