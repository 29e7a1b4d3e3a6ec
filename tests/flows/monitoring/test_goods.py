"""Health names goods that nobody delivers: a receiver that no process knows, and payments that no receiver was there for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from checkout_integration.flows import operations
from checkout_integration.flows.monitoring.finding import Finding
from checkout_integration.flows.outbox import receivers
from checkout_integration.models import Checkout
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.releases import Process, Shop

pytestmark = pytest.mark.django_db
PAID = "checkout_paid"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Shop]:
    """A shop of several processes; a webhook only stores."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    yield Shop(monkeypatch)
    receivers.this_process = receivers.ThisProcess()


def pay(web: Process) -> None:
    """A web process accepts a payment."""
    with web.works():
        assert Deliver()(order=order_document_for(CheckoutFactory())).status_code == 200


def finding(name: str) -> Finding:
    """What health says."""
    (found,) = [each for each in operations.health().findings if each.name == name]
    return found


def test_a_receiver_that_no_worker_knows_is_failing_after_five_minutes(shop: Shop) -> None:
    """By its name, with its customers; it is well again when a process with it has run it."""
    stale = shop.process({"deliver": PAID})
    web = shop.process({"deliver": PAID, "shop.letter": PAID}, runs=False)
    stale.record()
    for _ in range(3):
        pay(web)
    stale.run()
    web.record()
    assert finding("receivers_unknown").severity == "ok"
    shop.later(minutes=6)
    web.record()
    for process in (stale, stale):
        found = finding("receivers_unknown")
        assert (found.severity, found.figures["customers"]) == ("failing", 3)
        assert "shop.letter of checkout_paid (customers: 3, for 6 min)" in found.text
        assert "deliver" not in str(found.figures["receivers"])
        process.record()
    assert (found.link.endswith("receiverrun/?state=unknown"), found.figures["runs"]) == (True, 3)
    new = shop.process({"deliver": PAID, "shop.letter": PAID})
    new.run()
    assert finding("receivers_unknown").severity == "ok"
    assert [name for name, _ in shop.done].count("shop.letter") == 3


def test_a_closed_grant_asks_nobody(shop: Shop) -> None:
    """The money went back, so there is nothing to deliver."""
    from tests.support.flows.shop import notification

    stale, web = shop.process(), shop.process({"deliver": PAID}, runs=False)
    pay(web)
    stale.run()
    with stale.works():
        document = order_document_for(Checkout.objects.get(), status="refunded")
        assert Deliver()(notification("payment.refund", document)).status_code == 200
    stale.run()
    shop.later(minutes=6)
    assert finding("receivers_unknown").severity == "ok"


def test_a_payment_without_any_receiver_is_failing_and_in_a_queue(shop: Shop) -> None:
    """At once, in all places; until a receiver is connected and has got it."""
    process = shop.process()
    pay(process)
    process.run()
    found = finding("undelivered")
    assert (found.severity, found.figures["orders"]) == ("failing", 1)
    assert [each.count for each in operations.staff_queues() if each.name == "undelivered"] == [1]
    late = shop.process({"deliver": PAID})
    with late.works():
        from checkout_integration.flows import outbox

        assert outbox.replay_events(outbox.ReplaySelection(receiver="deliver")) == 1
    late.run()
    assert len(shop.done) == 1
    assert finding("undelivered").severity == "ok"
    assert [each.count for each in operations.staff_queues() if each.name == "undelivered"] == [0]


@pytest.mark.parametrize("why", ["pull", "payment_success"])
def test_a_shop_that_delivers_otherwise_is_well(shop: Shop, settings: Any, why: str) -> None:
    """It says so, or has a receiver of the bare fact."""
    if why == "pull":
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "GOODS": "pull"}
    process = shop.process({} if why == "pull" else {"deliver": "payment_success"})
    pay(process)
    process.run()
    assert finding("undelivered").severity == "ok"
    assert [each.count for each in operations.staff_queues() if each.name == "undelivered"] == [0]
