"""Tasks that ask a worker to run receivers: over a pooled connection, and at most one before it begins."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from typing import Any

import pytest
from celery import Celery
from redis import Redis, RedisError

from checkout_integration import dispatch, flows, tasks
from checkout_integration.models import Notification
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.conftest import _not_installed
from tests.stress.chaos.parts import Part
from tests.support.flows.threads import await_true
from tests.test_tasks_broker_away import _by_celery, broker_at, redis
from tests.test_tasks_worker_process import broker, shop

__all__ = ["_by_celery", "_not_installed", "broker", "redis", "shop"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def task_count(shop: Celery) -> Callable[[], int]:
    """Return a function that counts the tasks in the queue, which no worker reads."""

    def count() -> int:
        with shop.connection_for_read() as connection:
            channel: Any = connection.default_channel
            return int(channel.queue_declare(shop.conf.task_default_queue, passive=True).message_count)

    return count


def test_not_again_until_it_has_begun(checkout_deliver: Deliver, task_count: Callable[[], int]) -> None:
    """One task runs the rows of all three; after it has begun, the next row publishes a new task."""
    for _ in range(3):
        checkout_deliver(order=OrderDocumentFactory())
    assert task_count() == 1
    flows.run_due()
    assert not Notification.objects.filter(state="stored").exists()
    checkout_deliver(order=OrderDocumentFactory())
    assert task_count() == 2


def test_again_when_it_may_have_been_lost(checkout_deliver: Deliver, task_count: Callable[[], int]) -> None:
    """After a second without a start the task counts as lost."""
    checkout_deliver(order=OrderDocumentFactory())
    tasks.ThisProcess.suppressed_until -= tasks.PUBLISH_SUPPRESSED_SECONDS
    checkout_deliver(order=OrderDocumentFactory())
    assert task_count() == 2


@pytest.mark.parametrize("broker", [pytest.param("rabbitmq_url", marks=pytest.mark.rabbitmq)], indirect=True)
def test_connection_that_the_broker_closed(
    checkout_deliver: Deliver, task_count: Callable[[], int], caplog: pytest.LogCaptureFixture
) -> None:
    """The pooled connection is closed: the task is published over a new one."""
    checkout_deliver(order=OrderDocumentFactory())
    flows.run_due()
    with tasks.broker_producers().acquire() as producer:
        producer.connection.connection.transport.sock.shutdown(socket.SHUT_RDWR)
    checkout_deliver(order=OrderDocumentFactory())
    assert task_count() == 2
    assert "could not be handed over" not in caplog.text


@pytest.mark.redis
@pytest.mark.usefixtures("_by_celery")
def test_broker_that_was_started_again(
    redis: tuple[Part, int], checkout_deliver: Deliver, caplog: pytest.LogCaptureFixture
) -> None:
    """Its connections and queues are gone: the next task reaches it at once."""
    server, port = redis
    with broker_at(f"redis://127.0.0.1:{port}/0") as app, Redis(port=port) as client:
        checkout_deliver(order=OrderDocumentFactory())
        flows.run_due()
        server.stop()
        server.start()
        await_true(lambda: _answers(client))
        checkout_deliver(order=OrderDocumentFactory())
        assert client.llen(str(app.conf.task_default_queue)) == 1
    assert "could not be handed over" not in caplog.text


@pytest.mark.redis
@pytest.mark.usefixtures("_by_celery")
def test_broker_that_stands_still(redis: tuple[Part, int], caplog: pytest.LogCaptureFixture) -> None:
    """Waiting on the pooled connection used up the time: no other connection is tried."""
    server, port = redis
    with broker_at(f"redis://127.0.0.1:{port}/0"), Redis(port=port) as client:
        await_true(lambda: _answers(client))
        dispatch.dispatch_due()
        before = _connections(client)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            dispatch.dispatch_due()
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert _connections(client) == before
    assert "could not be handed over" in caplog.text


@pytest.mark.redis
@pytest.mark.usefixtures("_by_celery")
def test_second_address_of_the_broker(redis: tuple[Part, int], caplog: pytest.LogCaptureFixture) -> None:
    """The first broker is down: Celery uses the second of its list."""
    _, port = redis
    with broker_at(f"redis://127.0.0.1:9/0;redis://127.0.0.1:{port}/0") as app, Redis(port=port) as client:
        await_true(lambda: _answers(client))
        dispatch.dispatch_due()
        assert client.llen(str(app.conf.task_default_queue)) == 1
    assert "could not be handed over" not in caplog.text


def _connections(client: Redis) -> int:
    """Return how many connections the broker ever received."""
    stats: Any = client.info("stats")
    return int(stats["total_connections_received"])


def _answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False
