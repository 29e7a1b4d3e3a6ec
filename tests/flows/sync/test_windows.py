"""The windows of a pass: planned by days, read by one worker each, and left to the pass that resumes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.sync import read_windows
from checkout_integration.flows.sync.passes import LAST
from checkout_integration.flows.sync.watermark import LaneTaken, Lease
from checkout_integration.models import Order, SyncCursor, SyncRun, SyncWindow
from checkout_integration.sandbox import Sandbox
from tests.flows.sync.conftest import DAY, DAYS, EACH
from tests.support.documents import block
from tests.support.flows.list_service import HOUR_AGO, ListService, listed
from tests.support.flows.shop import fault, statements

pytestmark = pytest.mark.django_db


def pass_of(lane: str = "all") -> SyncRun:
    """Begin a pass."""
    return flows.sync.begin_pass("default", lane)


def periods(run: SyncRun) -> list[tuple[datetime | None, datetime | None]]:
    """Return the periods of a pass's windows."""
    return list(run.windows.order_by("pk").values_list("window_from", "window_to"))


def times_read(run: SyncRun) -> list[int]:
    """Return the fence of each window: it rises when a worker begins, and when a pass takes it over unread."""
    return list(run.windows.order_by("pk").values_list("fence", flat=True))


def lease_is_over() -> None:
    """Let the time of all leases pass."""
    past = timezone.now() - timedelta(seconds=1)
    SyncCursor.objects.update(busy_until=past)
    SyncWindow.objects.exclude(busy_until=None).update(busy_until=past)


@pytest.mark.spec("EP3-07", "EP3-08")
def test_windows_are_days_and_leave_nothing_out(sold: int) -> None:
    """The first one has no beginning, the last one no end, and each begins where the one before it ends, at midnight."""
    planned = periods(pass_of())
    assert len(planned) == DAYS
    assert (planned[0][0], planned[-1][1]) == (None, None)
    ends = [end for _, end in planned[:-1]]
    assert ends == [begin for begin, _ in planned[1:]]
    assert all(end is not None and end.astimezone(UTC).time().isoformat() == "00:00:00" for end in ends)


def test_the_last_days_are_divided(installed_long_ago: None, service: ListService, settings: Any) -> None:
    """If they have several pages, so that several workers end at about the same time."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 2}
    days, each, parts = 4, 6, 3
    noon = (HOUR_AGO.replace(hour=12) - HOUR_AGO) // timedelta(minutes=1)
    names = [(day, number) for day in reversed(range(1, days + 1)) for number in range(each)]
    service.rows += [listed(f"o{day}-{number}", noon - day * DAY // 60 - number) for day, number in names]
    run = pass_of()
    begins = [begin for begin, _ in periods(run)][1:]
    ends = [end for _, end in periods(run)][:-1]
    assert begins == ends and len(set(ends)) + 1 == days - LAST + LAST * parts
    read_windows(run)
    assert Order.objects.count() == len(names)


def test_a_day_with_less_than_a_page_has_no_window_of_its_own(sold: int, settings: Any) -> None:
    """A window has about a page of rows at least, so a small shop does not send a request for each day."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 6}
    assert len(periods(pass_of())) == 3
    flows.sync.end_pass(SyncRun.objects.get())
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 100}
    assert periods(flows.sync.begin_pass("default", "all", resume=False)) == [(None, None)]


@pytest.mark.parametrize("lane", ["all", "recent"])
def test_a_pass_reads_all_windows(sold: int, lane: str) -> None:
    """Each order once; the pass is complete, and its counts are those of all windows."""
    run = flows.sync.sync_transactions(lane=lane)
    assert run.state == "complete"
    assert Order.objects.filter(status="processed").count() == sold
    assert run.rows >= sold
    assert set(run.windows.values_list("state", flat=True)) == {"complete"}


@pytest.mark.spec("EP3-07", "EP3-08")
def test_a_period_is_read_alone(sold: int) -> None:
    """With a beginning and an end; the watermark stays, since the rest was not read."""
    begin = min(window.window_to for window in pass_of().windows.exclude(window_to=None) if window.window_to)
    flows.sync.end_pass(SyncRun.objects.get())
    run = flows.sync.sync_transactions(date_from=begin, date_to=begin + timedelta(days=1))
    assert run.state == "complete"
    assert Order.objects.count() == EACH
    assert SyncCursor.objects.get(lane="recent").watermark is None


def test_a_pass_that_was_killed_is_resumed(sold: int) -> None:
    """Its complete windows are not read again; it stays abandoned, and the pass after it is complete."""
    killed = pass_of()
    first, *rest = flows.sync.windows_left(killed)
    assert flows.sync.read_window(killed, first)
    lease_is_over()
    run = flows.sync.sync_transactions(lane="all")
    killed.refresh_from_db()
    assert (killed.state, run.state) == ("abandoned", "complete")
    assert times_read(run) == [1] + [2] * len(rest)
    assert run.rows_since == killed.rows_since
    assert Order.objects.count() == sold


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["not asked for", "too old", "another period", "complete"])
def test_a_pass_that_is_not_resumed_reads_everything(sold: int, reason: str) -> None:
    """Where the caller does not want it, after a week, for another period, and after a complete pass."""
    killed = pass_of()
    assert flows.sync.read_window(killed, flows.sync.windows_left(killed)[0])
    lease_is_over()
    options: dict[str, Any] = {}
    if reason == "not asked for":
        options["resume"] = False
    elif reason == "too old":
        SyncRun.objects.update(started_at=timezone.now() - timedelta(days=8))
    elif reason == "another period":
        options["date_from"] = timezone.now() - timedelta(days=30)
    else:
        assert flows.sync.sync_transactions(lane="all").state == "complete"
    assert len(periods(flows.sync.begin_pass("default", "all", **options))) == DAYS


def test_no_window_begins_outside_the_period(
    installed_long_ago: None, service: ListService, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a service that reads the period in another zone may be older than the period."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 4}
    service.rows += [listed(f"o{number}", -number * DAY // 240) for number in range(40)]
    monkeypatch.setattr(service, "found", lambda query: service.rows)
    begin, end = HOUR_AGO - timedelta(days=8), HOUR_AGO - timedelta(days=3)
    run = flows.sync.begin_pass("default", "all", date_from=begin, date_to=end)
    bounds = [begin, *(each for _, each in periods(run) if each is not None)]
    assert bounds == sorted(set(bounds)) and len(bounds) > 2


def test_pages_before_an_interruption_are_counted(sold: int) -> None:
    """All of them: the row of the pass says how far it has come."""
    shown: list[int] = []

    def interrupt(run: SyncRun) -> None:
        shown.append(run.rows)
        if len(shown) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flows.sync.sync_transactions(lane="all", progress=interrupt)
    assert SyncRun.objects.values_list("pages", "rows").get() == (2, shown[-1])


@pytest.mark.slow
def test_a_window_that_failed_is_left_for_the_next_pass(sold: int, checkout_sandbox: Sandbox) -> None:
    """The pass ends as failed with its reason; the next one reads what is left, and no more."""
    run = pass_of()
    first, second, *rest = flows.sync.windows_left(run)
    assert flows.sync.read_window(run, first)
    fault(checkout_sandbox, "api", "server_error", "transactions")
    assert not flows.sync.read_window(run, second)
    checkout_sandbox.faults.set([])
    run = flows.sync.end_pass(run)
    assert (run.state, bool(run.failure)) == ("failed", True)
    again = flows.sync.sync_transactions(lane="all")
    assert again.state == "complete"
    assert times_read(again) == [1, 3] + [2] * len(rest)
    assert Order.objects.count() == sold


def test_no_window_is_begun_after_one_that_could_not_be_read(sold: int, checkout_sandbox: Sandbox) -> None:
    """A service that does not respond now will hardly respond to the next request."""
    run = pass_of()
    fault(checkout_sandbox, "api", "server_error", "transactions")
    read_windows(run)
    assert times_read(run) == [1, *[0] * (DAYS - 1)]
    read_windows(run)
    assert times_read(run) == [1, *[0] * (DAYS - 1)]


def test_a_pass_that_is_cut_off_leaves_its_lane_at_once(sold: int) -> None:
    """By Ctrl-C, say; the next pass reads what is left."""

    def interrupt(run: SyncRun) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flows.sync.sync_transactions(lane="all", progress=interrupt)
    cut_off = SyncRun.objects.get()
    assert (cut_off.state, cut_off.failure) == ("failed", "It was not read to its end.")
    assert flows.sync.sync_transactions(lane="all").state == "complete"
    assert Order.objects.count() == sold


def test_a_window_has_one_worker(sold: int) -> None:
    """Another one gets it only after the lease, and the first one must not write any more then."""
    run = pass_of()
    lane, window_pk = Lease.of(app_settings().project(), run), flows.sync.windows_left(run)[0]
    suspended = lane.take_window(window_pk)
    assert suspended is not None
    assert lane.take_window(window_pk) is None
    assert not flows.sync.read_window(run, window_pk)
    lease_is_over()
    assert flows.sync.read_window(run, window_pk)
    with pytest.raises(LaneTaken, match="Another worker took over the window"):
        suspended.renew()
    suspended.end_window(SyncWindow.State.FAILED)
    assert SyncWindow.objects.get(pk=window_pk).state == "complete"


def test_a_pass_does_not_end_while_a_worker_reads(sold: int) -> None:
    """It stays running and has its lane, until the last window is read."""
    run = pass_of()
    first, *rest = flows.sync.windows_left(run)
    reading = Lease.of(app_settings().project(), run).take_window(first)
    assert reading is not None
    for window_pk in rest:
        assert flows.sync.read_window(run, window_pk)
    assert flows.sync.end_pass(run).state == "running"
    reading.end_window(SyncWindow.State.COMPLETE)
    assert flows.sync.end_pass(run).state == "complete"
    assert SyncCursor.objects.get().busy_until is None


def test_a_pass_that_lost_its_lane_is_abandoned(sold: int) -> None:
    """Its windows are read no more."""
    run = pass_of()
    SyncCursor.objects.update(fence=F("fence") + 1)
    assert not flows.sync.read_window(run, flows.sync.windows_left(run)[0])
    assert flows.sync.end_pass(run).state == "abandoned"
    assert not Order.objects.exists()


@pytest.mark.spec("EP3-08")
def test_a_service_that_ignores_the_end_is_read_once(sold: int, settings: Any) -> None:
    """The first window becomes the only one: otherwise each window would read all rows after it again."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_END_PARAMETER": "unknown"}
    run = flows.sync.sync_transactions(lane="all")
    assert run.state == "complete"
    assert periods(run) == [(None, None)]
    assert Order.objects.count() == sold
    assert run.rows < 2 * sold + 2


def test_a_window_of_a_pass_that_has_ended_is_not_read(sold: int) -> None:
    """A worker that comes late records nothing, and the lane stays free."""
    run = pass_of()
    late, *_ = flows.sync.windows_left(run)
    assert flows.sync.end_pass(run).state == "failed"
    assert not flows.sync.read_window(run, late)
    assert not Order.objects.exists()
    assert SyncCursor.objects.get().busy_until is None


def test_the_example_of_the_page_reads_all_windows(sold: int) -> None:
    """docs/reading-the-list.md."""
    page: dict[str, Any] = {}
    exec(block("docs/reading-the-list.md", "# windows.py"), page)
    assert page["backfill"](timezone.now() - timedelta(days=30)) == "complete"
    assert Order.objects.count() == sold


def test_a_page_locks_the_lane_at_the_end_of_its_transaction(sold: int) -> None:
    """Other workers of the pass wait for its row, and for nothing but the window's from there to the commit."""
    run = pass_of()
    with statements() as seen:
        assert flows.sync.read_window(run, flows.sync.windows_left(run)[0])
    begins = [number for number, sql in enumerate(seen) if sql.startswith("UPDATE") and "synccursor" in sql]
    assert len(begins) > 1
    for begin in begins:
        window, end = seen[begin + 1 : begin + 3]
        assert window.startswith("UPDATE") and "syncwindow" in window
        assert end.startswith(("RELEASE", "COMMIT"))


def test_pages_without_a_change_renew_the_lease(sold: int) -> None:
    """They write nothing but the progress, and a long list of them takes longer than a lease."""
    assert flows.sync.sync_transactions(lane="all").state == "complete"
    run, soon = pass_of(), timezone.now() + timedelta(seconds=1)
    SyncCursor.objects.update(busy_until=soon)
    assert flows.sync.read_window(run, flows.sync.windows_left(run)[0])
    end = SyncCursor.objects.get(lane="all").busy_until
    assert end is not None and end > soon
