"""The threads of a pass: each reads windows of its own, and what stands in two windows is put together."""

from __future__ import annotations

from datetime import timedelta
from signal import SIGINT, pthread_kill
from threading import Barrier, Event, Thread, current_thread, get_ident
from typing import Any

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.sync.windows import read_windows
from checkout_integration.models import Installation, Order
from tests.support.flows.list_service import ListService, document, listed

pytestmark = pytest.mark.django_db
MINUTES = 24 * 60
needs_writers = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")


@needs_writers
@pytest.mark.django_db(transaction=True)
def test_two_threads_read_two_windows_at_once() -> None:
    """Each waits here until the other one reads too."""
    both = Barrier(2, timeout=30)
    read_windows(lambda window: both.wait() >= 0, [1, 2, 3, 4], workers=2)
    assert both.n_waiting == 0


@needs_writers
@pytest.mark.django_db(transaction=True)
def test_each_thread_closes_its_connection() -> None:
    """Nobody else can: a worker that reads many passes would use up those of the server."""
    both, opened = Barrier(2, timeout=30), list[BaseDatabaseWrapper]()

    def read(window: int) -> bool:
        connection.ensure_connection()
        opened.append(connections[connection.alias])
        return both.wait() >= 0

    read_windows(read, [1, 2], workers=2)
    assert [each.connection for each in opened] == [None, None]


@needs_writers
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fails", [False, True])
def test_no_window_is_begun_after_one_that_could_not_be_read(fails: bool) -> None:
    """Neither by its own thread nor by the other one, which could read on; an error is raised."""
    both, begun, threads = Barrier(2, timeout=30), list[int](), dict[int, Thread]()

    def read(window: int) -> bool:
        begun.append(window)
        threads[window] = current_thread()
        if window < 3:
            both.wait()
        if window == 1 and fails:
            raise ZeroDivisionError
        if window == 2:
            threads[1].join(30)
        return window > 1

    if fails:
        with pytest.raises(ZeroDivisionError):
            read_windows(read, [1, 2, 3, 4], workers=2)
    else:
        read_windows(read, [1, 2, 3, 4], workers=2)
    assert sorted(begun) == [1, 2]


@needs_writers
@pytest.mark.django_db(transaction=True)
def test_an_interrupted_pass_reads_no_more() -> None:
    """Ctrl-C: all threads have ended with their windows, so the pass can end, too."""
    waits, never, threads = get_ident(), Event(), dict[int, Thread]()

    def read(window: int) -> bool:
        threads[window] = current_thread()
        if window == 20:  # both threads have begun long since
            pthread_kill(waits, SIGINT)
        return not never.wait(0.01)

    with pytest.raises(KeyboardInterrupt):
        read_windows(read, range(1, 201), workers=2)
    readers = set(threads.copy().values())
    are_alive = [each.is_alive() for each in readers]
    for each in readers:
        each.join()
    assert not any(are_alive) and len(threads) < 200


def test_one_thread_reads_all_in_a_transaction() -> None:
    """The connections of others would not see what it wrote."""
    read: list[tuple[int, int]] = []

    def remember(window: int) -> bool:
        read.append((window, get_ident()))
        return window < 3

    read_windows(remember, [1, 2, 3, 4], workers=2)
    assert read == [(window, get_ident()) for window in (1, 2, 3)]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the others have several writers")
@pytest.mark.django_db(transaction=True)
def test_one_thread_reads_all_on_sqlite() -> None:
    """It has one writer at a time: a second thread would fail or wait."""
    threads = dict[int, int]()
    read_windows(lambda window: bool(threads.setdefault(window, get_ident())), [1, 2, 3, 4], workers=2)
    assert threads == dict.fromkeys([1, 2, 3, 4], get_ident())


@pytest.mark.django_db(transaction=True)
def test_a_refund_is_read_at_the_same_time_as_its_payment(service: ListService, settings: Any) -> None:
    """The pass itself finds it all the same, and the totals agree: they stand in two windows, which are read at once."""
    Installation.objects.create(project="default", installed_at=timezone.now() - timedelta(days=9))
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 25}
    names = [f"{number}" for number in range(20)]
    service.rows = [listed(name, -2 * MINUTES) for name in names]
    service.rows += [document(f"refund of {name}", of=name, minutes=-MINUTES) for name in names]
    run = flows.sync.sync_transactions(lane="all", workers=2)
    report = flows.sync.drift_report(run)
    assert (run.windows.count(), report.waiting, report.totals_agree) == (2, [], True)
    assert Order.objects.filter(status="refunded").count() == len(names) == Order.objects.count()


@pytest.mark.django_db(transaction=True)
def test_several_threads_read_what_one_would(sold: int) -> None:
    """Every order is recorded once, and the pass is complete."""
    run = flows.sync.sync_transactions(lane="all", workers=3)
    assert (run.state, run.changed, Order.objects.count()) == ("complete", sold, sold)
