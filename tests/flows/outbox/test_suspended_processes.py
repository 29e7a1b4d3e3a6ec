"""Processes that are suspended at each step by turns: events of one order reach a receiver in their order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.models import Checkout, Notification, ReceiverRun
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.stress.chaos.shop.crash_points import APPLY, WEB, WORKER, CrashPoint
from tests.support.flows.arrival_orders import AGREEMENT
from tests.support.flows.shop import meet_more, notification, sell_more
from tests.support.flows.suspended_processes import HEARD, Suspended, heard
from tests.support.scale import FULL

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
Document = dict[str, Any]
PLACES = {"worker": (*APPLY, *WORKER), "request": (*WEB[2:], *APPLY, *WORKER)}
"""Behind the commit of a notification: what is not stored yet has not come."""
ALL_IN_ORDER = [signal.name for signal in HEARD]
WITHOUT_GOODS = [name for name in ALL_IN_ORDER if name.startswith("payment_")]
"""Where the refund is known before the goods are granted."""


def pairs(runner: str) -> list[tuple[CrashPoint, CrashPoint]]:
    """Return where the first process is suspended, and where the second one: each with each in the full run."""
    places = PLACES[runner]
    return list(product(places, places)) if FULL else [*zip(places, places[5:] + places[:5], strict=True)]


CASES = [
    pytest.param(runner, *pair, number % 2 == 0, id=f"{runner}-{pair[0].fuse}-{pair[1].fuse}")
    for runner in PLACES
    for number, pair in enumerate(pairs(runner))
]


def paid(renews: bool) -> Document:
    """Return the order of a checkout's payment, or of a renewal of a checkout that was paid before."""
    checkout: Checkout = CheckoutFactory()
    if not renews:
        return order_document_for(checkout)
    Deliver()(order=order_document_for(checkout, **AGREEMENT))
    flows.run_due()
    return order_document_for(
        checkout, id=f"{checkout.order_id}-renewal", transaction="tx-renewal", **AGREEMENT
    )


def working(runner: str, message: Document) -> Callable[[], object]:
    """Return the work of a process that applies this: a web process gets it, a worker finds it."""
    if runner == "request":
        return partial(Deliver(), message)
    Deliver()(message)
    return flows.run_due


@pytest.mark.parametrize(("runner", "first_place", "second_place", "renews"), CASES)
def test_events_of_an_order_are_heard_in_their_order(
    settings: Any, runner: str, first_place: CrashPoint, second_place: CrashPoint, renews: bool
) -> None:
    """The payment's process is suspended, then the refund's; other orders go on, and nothing is left in the end."""
    sell_more()
    meet_more()
    written = settings.CHECKOUT_INTEGRATION
    settings.CHECKOUT_INTEGRATION = {**written, "RUNNER": "worker"}
    order, other = paid(renews), paid(renews=False)
    settings.CHECKOUT_INTEGRATION = {**written, "RUNNER": runner, "REQUEST_BUDGET": 0}
    back = notification("payment.refund", {**order, "status": "refunded", "refunded": True})

    first = Suspended(working(runner, notification(order=order)), first_place)
    assert first.await_stop()
    second = Suspended(working(runner, back), second_place)
    second.await_stop()
    Suspended(working(runner, notification(order=other))).end()
    assert heard(other["id"]) == ["payment_success", "checkout_paid"]

    processes = (second, first) if renews else (first, second)
    for process in processes:
        process.go_on()
    for process in processes:
        process.end()
    assert heard(order["id"]) in (ALL_IN_ORDER, WITHOUT_GOODS)
    assert set(Notification.objects.values_list("state", flat=True)) == {"applied"}
    assert set(ReceiverRun.objects.values_list("state", flat=True)) <= {"done", "superseded"}
