"""Publishing to a broker that is away: it costs little, loses nothing, and is not tried again at once."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker
from celery.signals import task_postrun

from checkout_integration import dispatch, tasks
from checkout_integration.flows.outbox import Worker
from checkout_integration.models import Notification, ReceiverRun
from checkout_integration.signals import payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.conftest import _not_installed, listen
from tests.stress.chaos.outage import black_hole
from tests.stress.chaos.parts import Part
from tests.stress.chaos.places import Places
from tests.stress.chaos.servers import redis_program
from tests.support.flows.shop import Listening
from tests.support.flows.threads import await_true
from tests.test_tasks import as_current

__all__ = ["_not_installed", "listen"]


@pytest.fixture
def _by_celery(settings: Any, checkout_deliver: Deliver) -> None:
    """Receivers are run by Celery."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "celery"}


@contextmanager
def broker_at(address: str) -> Iterator[Celery]:
    """A shop with a queue of its own at the broker of this address."""
    app = Celery("shop", broker=address, set_as_current=False)
    app.conf.task_default_queue = f"checkout-test-{uuid.uuid4()}"
    app.conf.worker_cancel_long_running_tasks_on_connection_loss = True  # or it warns of a change to come
    with as_current(app):
        yield app


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
@pytest.mark.usefixtures("_by_celery")
def test_black_hole_costs_half_a_second_once(scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    """The connect is never answered: the first publish gives up, and for half a minute nothing is tried."""
    with black_hole() as port, broker_at(f"{scheme}://127.0.0.1:{port}//"):
        begun = time.thread_time(), time.monotonic()
        dispatch.dispatch_due()
        waited = (time.monotonic() - begun[1]) - (time.thread_time() - begun[0])
        for _ in range(100):
            dispatch.dispatch_due()
    # The bound is the task's own: half a second, not one for each try or address; the rest is a slow machine's.
    assert waited < 4 * tasks.PUBLISH_SECONDS
    assert caplog.text.count("could not be handed over") == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("_by_celery")
def test_rest_is_over_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """Then it is tried again; each process rests for a while of its own. The log has the address without its password."""
    with broker_at("redis://:canary-word@127.0.0.1:9//"):
        rests = []
        for _ in range(3):
            dispatch.dispatch_due()
            rests.append(tasks.ThisProcess.resting_until - time.monotonic())
            tasks.ThisProcess.resting_until = time.monotonic()
    assert caplog.text.count("could not be handed over") == 3
    assert caplog.text.count("at redis://:**@127.0.0.1:9//)") == 3 and "canary-word" not in caplog.text
    assert all(0 < rest <= max(tasks.REST_SECONDS) for rest in rests)
    assert (
        max(rests) - min(rests) > 0.01
    )  # or processes that began to wait together would wait together for ever


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[tuple[Part, int]]:
    """A Redis of the test's own, which it may stop and start again."""
    port = Places.free(tmp_path).redis
    words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    server = Part("redis", [redis_program(), *words], {}, tmp_path)
    server.start()
    yield server, port
    server.stop()


@pytest.mark.slow
@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_by_celery")
def test_celery_drains_when_the_broker_is_back(
    redis: tuple[Part, int], checkout_deliver: Deliver, listen: Listening
) -> None:
    """Everything is accepted during the outage; the worker reconnects, and beat's drain finds the remaining runs."""
    server, port = redis
    heard, ended = listen(payment_success), threading.Event()

    def end(**arguments: Any) -> None:
        ended.set()

    def deliver(count: int) -> list[int]:
        return [checkout_deliver(order=OrderDocumentFactory()).status_code for _ in range(count)]

    task_postrun.connect(end)
    with (
        broker_at(f"redis://127.0.0.1:{port}/0") as app,
        start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30),
    ):
        assert deliver(1) == [200]
        assert ended.wait(30)  # the task does not look again
        assert len(heard) == 1
        server.stop()
        assert deliver(20) == [200] * 20
        assert Notification.objects.filter(state="stored").count() == 20
        server.start()
        # As beat does: again and again, with or without a worker.
        await_true(lambda: _beat() and len(heard) == 21)
    assert ReceiverRun.objects.filter(state="done").count() == 21


def _beat() -> bool:
    tasks.ThisProcess.resting_until = tasks.ThisProcess.suppressed_until = 0.0
    dispatch.dispatch_due()
    return True


@pytest.mark.slow
@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_by_celery")
def test_slots_are_those_of_the_celery_worker(redis_url: str) -> None:
    """As many as it runs tasks at the same time; its name is its own."""
    with broker_at(redis_url) as app:
        with start_worker(app, pool="threads", concurrency=6, perform_ping_check=False, shutdown_timeout=30):
            first = tasks.current_worker()
        with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
            second = tasks.current_worker()
    assert isinstance(first, Worker) and isinstance(second, Worker)
    assert (first.slots, first.share, second.slots) == (6, 3, 1)
    assert first.name != second.name
