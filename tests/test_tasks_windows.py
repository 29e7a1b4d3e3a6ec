"""A long pass by Celery: its windows are tasks, which two workers share, and which survive that one of them is killed."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.contrib.auth.models import Group
from django.db import connection
from django.utils import timezone

from checkout_integration import flows, tasks
from checkout_integration.models import Installation, Order, ReceiverRun, SyncCursor, SyncRun, SyncWindow
from tests.flows.conftest import _not_installed
from tests.stress.chaos.parts import Part
from tests.support.flows.list_service import ListService, list_service, listed
from tests.support.flows.threads import await_true
from tests.support.scale import FULL
from tests.test_tasks import as_current
from tests.test_tasks_worker_process import broker

__all__ = ["_not_installed", "broker"]
DAYS, EACH = 12, 5


@pytest.fixture
def service(settings: Any, transactional_db: None) -> Iterator[ListService]:
    """Give a list of payments of many days, with several pages a day, none of which this shop has."""
    changes = {"LIST_PAGE_SIZE": 4, "RUNNER": "celery"}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **changes}
    Installation.objects.create(project="default", installed_at=timezone.now() - timedelta(days=DAYS + 1))
    with list_service(settings) as service:
        service.rows = [
            listed(f"{day}-{number}", number - day * 1440) for day in range(DAYS) for number in range(EACH)
        ]
        yield service


@pytest.fixture
def shop(broker: str, service: ListService) -> Iterator[Celery]:
    """Publish to a queue of this test's own, which is gone after it."""
    app = Celery("shop", broker=broker, set_as_current=False)
    app.conf.task_default_queue = f"checkout-test-{uuid.uuid4()}"
    with as_current(app):
        yield app
        with app.connection_for_write() as connected:
            app.amqp.queues[app.conf.task_default_queue](connected.default_channel).delete()


@contextmanager
def two_workers(shop: Celery, settings: Any, folder: Path) -> Iterator[list[Part]]:
    """Run two worker processes, each of which runs one task at a time."""
    environment = {
        **os.environ,
        "CHECKOUT_WORKER_DATABASE": str(connection.settings_dict["NAME"]),
        "CHECKOUT_WORKER_QUEUE": str(shop.conf.task_default_queue),
        "CHECKOUT_WORKER_SETTINGS": json.dumps(settings.CHECKOUT_INTEGRATION),
    }
    where = ["--app", "tests.support.celery_worker", "--broker", str(shop.conf.broker_url)]
    how = ["--queues", str(shop.conf.task_default_queue), "--pool", "solo", "--prefetch-multiplier", "1"]
    command = [sys.executable, "-m", "celery", *where, "worker", *how]
    workers = [
        Part(f"worker{number}", [*command, "--hostname", f"{uuid.uuid4()}@%h"], environment, folder)
        for number in range(2)
    ]
    for worker in workers:
        worker.start()
    try:
        yield workers
    finally:
        for worker in workers:
            worker.stop()


def is_read() -> bool:
    """Return whether a pass over everything is complete."""
    return SyncRun.objects.filter(lane="all", state="complete").exists()


def assert_found_once() -> None:
    """Each order is there, and its receiver has run once."""
    assert Order.objects.filter(status="processed").count() == DAYS * EACH
    await_true(lambda: Group.objects.count() >= DAYS * EACH)
    assert Group.objects.count() == DAYS * EACH == len({name.partition(" ")[0] for name in _names()})
    assert set(ReceiverRun.objects.values_list("state", flat=True)) == {"done"}


def _names() -> list[str]:
    return list(Group.objects.values_list("name", flat=True))


@pytest.mark.slow
def test_two_workers_share_the_windows(
    shop: Celery, service: ListService, settings: Any, tmp_path: Path
) -> None:
    """Each window is read once, two at the same time; whoever reads the last one ends the pass."""
    inside, both = set[int](), threading.Event()

    def meet(query: Mapping[str, list[str]]) -> None:
        if {"project_date_from", "project_date_to"} & query.keys():
            inside.add(threading.get_ident())
            if len(inside) > 1:
                both.set()
            both.wait(60)
            inside.discard(threading.get_ident())

    service.before_page = meet
    with two_workers(shop, settings, tmp_path) as workers:
        tasks.sync_transactions.delay("default", "all")
        await_true(is_read)
        assert both.is_set(), workers[0].last_words()
        assert_found_once()
    run = SyncRun.objects.get()
    assert run.rows >= DAYS * EACH
    assert set(run.windows.values_list("state", "fence")) == {("complete", 1)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20 if FULL else 1))
def test_a_killed_worker_leaves_no_gap(
    shop: Celery, service: ListService, settings: Any, tmp_path: Path, seed: int
) -> None:
    """The other one goes on; what the killed one left is read by the next pass, and nothing twice."""
    chance, killed = random.Random(seed), threading.Event()
    last = chance.randrange(3, DAYS * 2)

    def count(query: Mapping[str, list[str]]) -> None:
        if service.pages == last:
            killed.set()

    service.before_page = count
    with two_workers(shop, settings, tmp_path) as workers:
        tasks.sync_transactions.delay("default", "all")
        assert killed.wait(120)
        victim = chance.choice(workers)
        victim.stop()
        victim.start()
        await_true(lambda: is_read() or _has_stopped())
        _let_time_pass()
        # As beat does: whatever lane is due then.
        tasks.sync_due.delay("default")
        await_true(is_read)
        assert_found_once()


def _has_stopped() -> bool:
    """Return whether nothing is read any more: what is left is the killed worker's, or was lost with it."""
    pages = SyncRun.objects.get().pages
    threading.Event().wait(2)
    return SyncRun.objects.get().pages == pages


def _let_time_pass() -> None:
    """Let leases lapse, and the quarter of an hour after which a pass is begun again."""
    past = timezone.now() - timedelta(seconds=1)
    SyncCursor.objects.exclude(busy_until=None).update(busy_until=past)
    SyncWindow.objects.exclude(busy_until=None).update(busy_until=past)
    SyncRun.objects.exclude(state="complete").update(started_at=timezone.now() - timedelta(hours=1))
    assert is_read() or "all" in flows.sync.lanes_due()
