"""Every order of arrival of a checkout's events ends in one state, and in one set of goods."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, Final

import pytest
from django.db import transaction
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import Checkout, Grant, Order, ReceiverRun
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory
from checkout_integration.testing.orderings import orderings_of
from tests.support.flows.arrival_orders import EVENTS, Arrival, Story
from tests.support.flows.goods import Goods
from tests.support.flows.shop import record_listed
from tests.support.scale import times

SETS: Final = times(5, 150)  # of events, on each database
ORDERS: Final = times(4, 24)  # of arrival, for each set
SEED: Final = 20261122
AT_ONCE, LATE, FAILING = "at once", "late", "failing"
Case = tuple[tuple[str, bool], ...]


def cases() -> Iterator[Case]:
    """Sets of up to five events, each as a notification or listed (True), by chance."""
    source = random.Random(SEED)  # repeatable on purpose
    every = [events for size in range(1, 6) for events in combinations(EVENTS, size)]
    for _ in range(SETS):
        yield tuple((event, source.random() < 0.5) for event in source.choice(every))


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("receivers", [AT_ONCE, LATE, FAILING])
def test_every_order_of_arrival_ends_alike(checkout_deliver: Deliver, settings: Any, receivers: str) -> None:
    """The statuses of order and checkout, and the granted goods, depend only on the set of observations."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    source = random.Random(SEED)  # repeatable on purpose
    for case in cases():
        story = Story(CheckoutFactory(order_id=f"order-{source.random()}"))
        arrivals = [story.listed(event) if listed else story.notified(event) for event, listed in case]
        ends = {
            order: end_of(checkout_deliver, [arrivals[position] for position in order], receivers)
            for order in orderings_of(len(arrivals), limit=ORDERS, seed=SEED)
        }
        assert len(set(ends.values())) == 1, (case, ends)


def end_of(deliver: Deliver, arrivals: Sequence[Arrival], receivers: str) -> tuple[object, ...]:
    """Return state and goods after all observations arrived and every receiver has run."""
    failures = iter([True, False, True])
    goods = Goods(fails=(lambda name: next(failures, False)) if receivers == FAILING else lambda name: False)
    goods.connect()
    try:
        with transaction.atomic():
            for arrival in arrivals:
                let_arrive(deliver, arrival)
                if receivers != LATE:
                    flows.run_due()
            run_everything()
            ended = (*known(), *owned(goods.balances()))
            transaction.set_rollback(True)
    finally:
        goods.disconnect()
    return ended


def let_arrive(deliver: Deliver, arrival: Arrival) -> None:
    """A notification through the webhook, a row as a page of the list."""
    if arrival.listed_at:
        record_listed([arrival.document], at=arrival.listed_at)
    else:
        assert deliver(arrival.document).status_code == 200


def run_everything() -> None:
    """Run receivers until none waits for another attempt."""
    for _ in range(5):
        ReceiverRun.objects.filter(state=ReceiverRun.State.DUE).update(due_at=timezone.now())
        flows.run_due()
    assert not ReceiverRun.objects.filter(state__in=("due", "running", "failed")).exists()


def known() -> tuple[object, ...]:
    """Status and verdict of every order, and the checkout's status and payer."""
    orders = Order.objects.order_by("order_id").values_list("order_id", "status", "verdict")
    paid = (
        Checkout.objects.filter(orders__isnull=False).distinct().values_list("status", "paid_order__order_id")
    )
    return tuple(orders), tuple(paid)


def owned(balances: tuple[int, int, int]) -> tuple[object, ...]:
    """The goods, which there are as many of as open grants."""
    grants = Grant.objects.filter(state=Grant.State.OPEN).count()
    assert balances[:2] == (grants, grants), (balances, grants)
    return (*balances[:2], grants)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("events", "status", "granted"),
    [
        (["success"], "paid", 1),
        (["success", "success of try again"], "paid", 1),
        (["success", "success of try again", "refund"], "paid", 1),
        (["success", "refund"], "reversed", 0),
        (["success", "chargeback", "refund"], "reversed", 0),
        (["success", "first partial refund"], "paid", 1),
        (["success", "first partial refund", "second partial refund"], "reversed", 0),
        (["success", "renewal"], "paid", 2),
        (["success", "renewal", "chargeback"], "paid", 1),
        (["success", "cancel"], "paid", 1),
        (["cancel"], "cancelled", 0),
        (["cancel", "success of try again"], "paid", 1),
    ],
)
@pytest.mark.parametrize("way", [Story.notified, Story.listed])
def test_the_end_of_a_story(
    checkout_deliver: Deliver,
    settings: Any,
    events: list[str],
    status: str,
    granted: int,
    way: Callable[[Story, str], Arrival],
) -> None:
    """In every order of arrival, by notification and by the list, which also shows lost ones."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    story = Story(CheckoutFactory())
    arrivals = [way(story, event) for event in events]
    for order in orderings_of(len(arrivals), limit=6, seed=SEED):
        end = end_of(checkout_deliver, [arrivals[position] for position in order], AT_ONCE)
        assert end[1] == ((status, end[1][0][1]),), (order, end)  # type: ignore[index]
        assert end[-1] == granted, (order, end)
