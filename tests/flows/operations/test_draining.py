"""Draining by web processes: after a response, one look per second at work that other processes left."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.flows import inbox, outbox
from checkout_integration.flows.inbox import applying
from checkout_integration.flows.inbox.claiming import heads
from checkout_integration.flows.outbox import claiming, fan_out, lines_of, running
from checkout_integration.models import Notification, OutboxMessage, ReceiverRun
from checkout_integration.signals import order_changed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Failing, Listening, leave_behind, statements

pytestmark = pytest.mark.django_db


def _stored(deliver: Deliver) -> None:
    deliver(order=OrderDocumentFactory())
    assert Notification.objects.get().state == "stored"


def _new(deliver: Deliver) -> None:
    OrderFactory()
    assert OutboxMessage.objects.filter(state="new").exists()


def _due(deliver: Deliver) -> None:
    OrderFactory()
    fan_out()
    assert ReceiverRun.objects.get().state == "due"


def _running(deliver: Deliver) -> None:
    _due(deliver)
    claiming.claim()
    assert ReceiverRun.objects.get().state == "running"


@pytest.mark.parametrize("leave", [_stored, _new, _due, _running])
def test_seen_after_a_second(
    checkout_deliver: Deliver, settings: Any, listen: Listening, leave: Callable[[Deliver], None]
) -> None:
    """At whichever step a process has died: one look sees it, and all of it is done then. Nothing left: one look a second."""
    listen(order_changed, name="a")
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    leave(checkout_deliver)
    with statements() as seen:
        assert not flows.operations.is_anything_left()
        assert not flows.operations.is_anything_left()
    assert len(seen) == 1
    leave_behind()
    assert flows.operations.is_anything_left()
    assert flows.operations.is_anything_left()
    flows.run_due()
    assert set(ReceiverRun.objects.values_list("state", flat=True)) == {"done"}
    assert not flows.operations.is_anything_left()


def test_what_waits_for_its_turn_is_not_left(listen: Listening) -> None:
    """It cannot run while another receiver of its checkout is running."""
    for name in ("a", "b"):
        listen(order_changed, name=name)
    OrderFactory(checkout=CheckoutFactory())
    fan_out()
    leave_behind()
    claiming.claim()
    assert sorted(ReceiverRun.objects.values_list("state", flat=True)) == ["due", "running"]
    assert not flows.operations.is_anything_left()


def test_every_receiver_of_its_own_once(listen: Listening) -> None:
    """One after the other, since they are of one checkout; a failing one waits for its retry and blocks no other."""
    failing = Failing()
    heard = [listen(order_changed, name="a"), listen(order_changed, name="c")]
    listen(order_changed, failing, name="b")
    order = OrderFactory(checkout=CheckoutFactory())
    fan_out()
    flows.operations.run_own(flows.inbox.ApplySummary(lines=lines_of(order)), None, 50, 10.0)
    assert ([len(each) for each in heard], failing.tries) == ([1, 1], 1)


class Clock:
    """A clock that goes on when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: object) -> None:
        self.now = 0.0
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))

    def take(self, seconds: float) -> None:
        """Let so much time pass."""
        self.now += seconds


def test_no_receiver_is_begun_when_the_time_is_over(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of a batch becomes due again, and no attempt is counted."""
    clock = Clock(monkeypatch, running)
    listen(order_changed, lambda **arguments: clock.take(0.05), name="a")
    for _ in range(6):
        OrderFactory(checkout=CheckoutFactory())
    fan_out()
    ran = outbox.run_due(seconds=0.2)
    assert (ran.run, ran.ended_early) == (4, True)
    assert (
        sorted(ReceiverRun.objects.values_list("state", "attempts")) == [("done", 1)] * 4 + [("due", 0)] * 2
    )


def test_nothing_is_looked_for_without_time(listen: Listening) -> None:
    """An idle look would cost time of a request."""
    listen(order_changed, name="a")
    OrderFactory()
    fan_out()
    with statements() as seen:
        assert flows.run_due(seconds=0.001).ended_early
    assert not seen


def test_batches_shrink_to_the_time_that_is_left(
    checkout_deliver: Deliver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten of 10 ms are expected to fit into 0.1 seconds. They take 0.08, so two more fit; and then none."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    clock = Clock(monkeypatch, applying)
    for _ in range(14):
        checkout_deliver(order=OrderDocumentFactory())

    def look(most: int, passed: Collection[int]) -> list[int]:
        clock.take(0.08)
        return heads(most, passed)

    applied = inbox.apply_due(look=look, seconds=0.1)
    assert (applied.applied, applied.ended_early) == (12, True)
    assert inbox.apply_due().applied == 2
