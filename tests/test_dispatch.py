"""Dispatching due work: to this process, to Celery, or to a worker."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery

from checkout_integration import dispatch, tasks
from checkout_integration.models import Notification, Order
from checkout_integration.signals import payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.conftest import _not_installed, hooks, listen
from tests.support.flows.shop import Failing, Listening, leave_behind
from tests.test_tasks import as_current

__all__ = ["_not_installed", "hooks", "listen"]
pytestmark = pytest.mark.django_db


def run_by(settings: Any, runner: str) -> None:
    """Change the runner of receivers."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": runner}


def test_request_runs_them_here(checkout_deliver: Deliver, listen: Listening) -> None:
    """The first payment works with nothing else running."""
    heard = listen(payment_success)
    checkout_deliver(order=OrderDocumentFactory())
    assert len(heard) == 1


def test_worker_finds_them_itself(checkout_deliver: Deliver, listen: Listening, settings: Any) -> None:
    """The request only leaves the rows."""
    heard = listen(payment_success)
    run_by(settings, "worker")
    checkout_deliver(order=OrderDocumentFactory())
    assert (heard, Notification.objects.get().state, Order.objects.exists()) == ([], "stored", False)


def test_next_delivery_runs_what_was_left(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """In request mode a process that died before its receivers ran loses nothing."""
    heard = listen(payment_success)
    run_by(settings, "worker")
    checkout_deliver(order=OrderDocumentFactory())
    leave_behind()
    run_by(settings, "request")
    checkout_deliver(order=OrderDocumentFactory())
    assert len(heard) == 2


def test_runner_that_fails_never_raises(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The notification is committed; a later error is logged by its class."""

    def broken(*_: object) -> None:
        raise ConnectionError("redis://user:canary-password@broker")

    monkeypatch.setitem(dispatch._runners, "worker", broken)
    run_by(settings, "worker")
    dispatch.dispatch_due()
    assert "ConnectionError" in caplog.text
    assert "canary-password" not in caplog.text


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port of this machine that accepts connections and sends nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A closed port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
@pytest.mark.parametrize("broker", ["closed_port", "black_hole"])
def test_broker_that_is_away_loses_nothing(
    request: pytest.FixtureRequest,
    checkout_deliver: Deliver,
    listen: Listening,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    scheme: str,
    broker: str,
) -> None:
    """The notification is acknowledged, the request does not hang, and the rows stay due."""
    heard = listen(payment_success)
    app = Celery(
        "shop", broker=f"{scheme}://127.0.0.1:{request.getfixturevalue(broker)}//", set_as_current=False
    )
    with as_current(app):
        run_by(settings, "celery")
        assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert "could not be handed over" in caplog.text
    assert (Notification.objects.get().state, heard) == ("stored", [])
    tasks.run_due()
    assert len(heard) == 1


def test_failing_receivers_do_not_fail_the_request(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """They are retried later, one by one."""
    failing = Failing()
    listen(payment_success, failing)
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert failing.tries == 1
