"""Celery as a shop runs it: a worker process with its pool of processes, on a real Redis and a real RabbitMQ."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from celery import Celery
from django.contrib.auth.models import Group
from django.db import connection

from checkout_integration import tasks
from checkout_integration.models import ReceiverRun
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.conftest import _not_installed
from tests.test_tasks import as_current

__all__ = ["_not_installed"]


@pytest.fixture(
    params=[
        pytest.param("redis_url", marks=pytest.mark.redis, id="redis"),
        pytest.param("rabbitmq_url", marks=pytest.mark.rabbitmq, id="rabbitmq"),
    ]
)
def broker(request: pytest.FixtureRequest) -> str:
    """Give the address of each broker."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def shop(broker: str, transactional_db: None, settings: Any) -> Iterator[Celery]:
    """Publish to a queue of this test's own, which is gone after it."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "celery"}
    app = Celery("shop", broker=broker, set_as_current=False)
    app.conf.task_default_queue = f"checkout-test-{uuid.uuid4()}"
    with as_current(app):
        yield app
        with app.connection_for_write() as connection:
            app.amqp.queues[app.conf.task_default_queue](connection.default_channel).delete()


@contextmanager
def worker(shop: Celery, log: Path) -> Iterator[int]:
    """Run a worker with a pool of two processes for as long as the block lasts; its process id is given."""
    database = {"CHECKOUT_WORKER_DATABASE": str(connection.settings_dict["NAME"])}
    where = ["--app", "tests.support.celery_worker", "--broker", str(shop.conf.broker_url)]
    how = ["--queues", str(shop.conf.task_default_queue), "--pool", "prefork", "--concurrency", "2"]
    command = [sys.executable, "-m", "celery", *where, "worker", *how]
    root = Path(__file__).parents[1]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=root, env={**os.environ, **database}, stdout=output, stderr=output
        ) as process,
    ):
        try:
            yield process.pid
        finally:
            process.terminate()


def await_names(count: int) -> set[str]:
    """Return what the receiver wrote, when it has written so much; what it has after five minutes else."""
    # A worker imports Django and Celery before its first task: on a busy machine that takes longer than all the rest.
    for _ in range(3_000):
        names = set(Group.objects.values_list("name", flat=True))
        if len(names) >= count:
            return names
        Event().wait(0.1)
    return names


@pytest.mark.slow
def test_worker_process_runs_the_receivers(
    checkout_deliver: Deliver, shop: Celery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks published before and after the worker's start run once each, in a process of the pool."""
    # A broker of a busy machine may take longer than a shop waits for it, and this test has no drain.
    monkeypatch.setattr(tasks, "PUBLISH_SECONDS", 20)
    orders = [OrderDocumentFactory() for _ in range(4)]
    for order in orders[:2]:
        assert checkout_deliver(order=order).status_code == 200
    with worker(shop, tmp_path / "worker.log") as process:
        await_names(2)
        for order in orders[2:]:
            assert checkout_deliver(order=order).status_code == 200
        assert await_names(4) == {f"{order['id']} {process}" for order in orders}, (
            tmp_path / "worker.log"
        ).read_text()
    assert set(ReceiverRun.objects.values_list("state", "attempts")) == {("done", 1)}
