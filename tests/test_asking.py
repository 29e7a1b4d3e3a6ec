"""Asking a worker to run receivers: over a connection that is kept, and no oftener than a worker that is behind can use."""

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
from checkout_integration.models import OutboxMessage
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.chaos.parts import Part
from tests.flows.conftest import _not_installed
from tests.flows.threads import await_true
from tests.test_publishing import _by_celery, broker_at, redis
from tests.test_worker_process import broker, shop

__all__ = ["_by_celery", "_not_installed", "broker", "redis", "shop"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(shop: Celery) -> Callable[[], int]:
    """Give how many tasks wait in the queue, which no worker reads."""

    def count() -> int:
        with shop.connection_for_read() as connection:
            channel: Any = connection.default_channel
            return int(channel.queue_declare(shop.conf.task_default_queue, passive=True).message_count)

    return count


def test_not_again_until_it_has_begun(checkout_deliver: Deliver, asked: Callable[[], int]) -> None:
    """One task finds the rows of all three; what comes after it has begun is asked for anew."""
    for _ in range(3):
        checkout_deliver(order=OrderDocumentFactory())
    assert asked() == 1
    flows.run_due()
    assert not OutboxMessage.objects.filter(state="new").exists()
    checkout_deliver(order=OrderDocumentFactory())
    assert asked() == 2


def test_again_when_it_may_have_been_lost(checkout_deliver: Deliver, asked: Callable[[], int]) -> None:
    """A second later nothing has begun: the task is not relied on any longer."""
    checkout_deliver(order=OrderDocumentFactory())
    tasks._ThisProcess.asked_until -= tasks.ASKED_SECONDS
    checkout_deliver(order=OrderDocumentFactory())
    assert asked() == 2


@pytest.mark.parametrize("broker", [pytest.param("rabbitmq_url", marks=pytest.mark.rabbitmq)], indirect=True)
def test_connection_that_the_broker_closed(
    checkout_deliver: Deliver, asked: Callable[[], int], caplog: pytest.LogCaptureFixture
) -> None:
    """It was kept, and is found closed: the task goes out over another one all the same."""
    checkout_deliver(order=OrderDocumentFactory())
    flows.run_due()
    with tasks._producers().acquire() as producer:
        producer.connection.connection.transport.sock.shutdown(socket.SHUT_RDWR)
    checkout_deliver(order=OrderDocumentFactory())
    assert asked() == 2
    assert "could not be handed over" not in caplog.text


@pytest.mark.redis
@pytest.mark.usefixtures("_by_celery")
def test_broker_that_was_started_again(
    redis: tuple[Part, int], checkout_deliver: Deliver, caplog: pytest.LogCaptureFixture
) -> None:
    """Its connections are gone, and what it held too: the next task reaches it at once."""
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
    """It was let to answer over the kept connection, and has used up the time: no other one is tried."""
    server, port = redis
    with broker_at(f"redis://127.0.0.1:{port}/0"), Redis(port=port) as client:
        await_true(lambda: _answers(client))
        dispatch.hand_over()
        before = _connections(client)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            dispatch.hand_over()
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert _connections(client) == before
    assert "could not be handed over" in caplog.text


@pytest.mark.redis
@pytest.mark.usefixtures("_by_celery")
def test_second_address_of_the_broker(redis: tuple[Part, int], caplog: pytest.LogCaptureFixture) -> None:
    """Nobody listens at the first one: Celery's list of brokers is for that."""
    _, port = redis
    with broker_at(f"redis://127.0.0.1:9/0;redis://127.0.0.1:{port}/0") as app, Redis(port=port) as client:
        await_true(lambda: _answers(client))
        dispatch.hand_over()
        assert client.llen(str(app.conf.task_default_queue)) == 1
    assert "could not be handed over" not in caplog.text


def _connections(client: Redis) -> int:
    """How many the broker was ever asked for."""
    told: Any = client.info("stats")
    return int(told["total_connections_received"])


def _answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False
