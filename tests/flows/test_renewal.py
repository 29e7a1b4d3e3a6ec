"""A receiver that runs for longer than the lease keeps it while its process lives, and loses it when that dies (G4)."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.flows.outbox import lease
from checkout_integration.flows.outbox.claims import claims
from checkout_integration.flows.outbox.lease import renewed
from checkout_integration.flows.outbox.running import fan_out
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import checkout_paid, user_validated
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.flows.shop import Listening, own, owned
from tests.flows.threads import Gate, at_work, await_true

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
SHORT = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the lease."""
    monkeypatch.setattr(lease, "LEASE", SHORT)


def end() -> datetime:
    """When the lease of the run ends."""
    return ReceiverRun.objects.get().due_at


def test_living_process_keeps_its_lease(listen: Listening) -> None:
    """Its receiver runs for three leases and more; another process looks all the time and is given nothing of this order."""
    gate = Gate()

    def grant(order: Order, **arguments: Any) -> None:
        own(order)
        gate()

    heard = listen(checkout_paid, grant, name="a: long")
    listen(checkout_paid, name="b: of the same order")
    OrderFactory(checkout=CheckoutFactory())
    with at_work(1, flows.run_due):
        try:
            gate.await_inside(1)
            over = datetime.now(UTC) + 3 * SHORT
            taken = 0
            while datetime.now(UTC) < over:
                taken += flows.run_due().run
            assert taken == 0
        finally:
            gate.open()
    assert set(ReceiverRun.objects.values_list("state", "attempts")) == {("done", 1)}
    assert (len(heard), owned()) == (1, 1)
    assert set(ReceiverRun.objects.values_list("exclusive", flat=True)) == {None}


def test_delivery_without_an_order_is_kept_too(
    listen: Listening, checkout_deliver: Deliver, settings: Any
) -> None:
    """A decision about a customer belongs to no order."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RECEIVERS_RUN": "worker"}
    gate = Gate()
    heard = listen(user_validated, gate)
    checkout_deliver(event="user.validate")
    with at_work(1, flows.run_due):
        try:
            gate.await_inside(1)
            first = end()
            await_true(lambda: end() != first)
            await_true(lambda: datetime.now(UTC) > first)
            assert flows.run_due().run == 0
        finally:
            gate.open()
    assert (len(heard), ReceiverRun.objects.get().attempts) == (1, 1)


def test_dead_process_loses_its_delivery(listen: Listening) -> None:
    """Nobody renews; when the lease is over the next one takes the run, and not before."""
    heard = listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    fan_out()
    next(claims())
    claimed_at = datetime.now(UTC)
    await_true(lambda: flows.run_due().run == 1)
    assert datetime.now(UTC) - claimed_at > SHORT - timedelta(seconds=0.5)
    assert [each["attempt"] for each in heard] == [2]


def test_lease_that_was_lost_is_not_renewed(listen: Listening) -> None:
    """Another process has taken over: its lease is its own."""
    listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    fan_out()
    run = next(claims())
    with renewed(run):
        first = end()
        await_true(lambda: end() != first)
        ReceiverRun.objects.update(fence="of-another")
        before = end()
        await_true(lambda: datetime.now(UTC) > before + SHORT)
        assert end() == before


def test_nothing_is_left_running(listen: Listening) -> None:
    """The thread that renews ends with its receiver."""
    listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert not [each for each in threading.enumerate() if each.name == "checkout-lease"]
    assert not OutboxMessage.objects.filter(state="new").exists()
