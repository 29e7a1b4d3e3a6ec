"""Whole crowds of messages at the same time, from processes and threads: nothing is lost, nothing done twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum

from checkout_integration import flows
from checkout_integration.models import Incident, Notification, Order, OutboxMessage, Transition
from checkout_integration.models.order import state_of
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.order import parse_order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.concurrency import at_once, deadlocks, in_processes, innodb_deadlocks
from tests.support.flows.shop import row_of
from tests.support.policy.histories import generated
from tests.support.policy.observations import known
from tests.support.scale import times

PROCESSES = times(3, 8)
ORDERS = times(6, 500)
EVENTS = 16
AT_A_TIME = 8
SEED = 20240503


def stories() -> Iterator[list[Observation]]:
    """Of each order sixteen messages: its events, at attempts of every number, most of them more than once."""
    chance = random.Random(SEED)
    for history in generated(SEED):
        messages = [each for each in history.observations if each.source is Source.NOTIFICATION]
        if messages:
            yield [*messages, *chance.choices(messages, k=EVENTS)][:EVENTS]


def of_order(number: int, observation: Observation) -> Observation:
    """The same observation of another order; all orders have the same customer."""
    own = {"id": f"order-{number}", "transaction": f"t-{number}"}
    return replace(observation, order=parse_order({**observation.order.document, **own}))


def observations_by_order() -> dict[str, list[Observation]]:
    """Return the observations of each order, the same in every process."""
    return {
        f"order-{number}": [of_order(number, each) for each in story]
        for number, story in enumerate(islice(stories(), ORDERS))
    }


def arrivals(process: int) -> list[Observation]:
    """All of it as it arrives at one process: shuffled among a few orders at a time, so that all meet at the same ones."""
    chance, orders = random.Random(SEED + process), list(observations_by_order().values())
    arriving = []
    for begin in range(0, len(orders), AT_A_TIME):
        together = [each for story in orders[begin : begin + AT_A_TIME] for each in story]
        arriving += chance.sample(together, len(together))
    return arriving


def deliver_all(process: int) -> Counter[int]:
    """Deliver all the messages from one process and count the statuses."""
    deliver = Deliver()
    return Counter(deliver(row_of(each)).status_code for each in arrivals(process))


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_processes_that_meet_at_the_same_orders(
    settings: Any, record_property: Callable[[str, object], None]
) -> None:
    """Every response is 200, and each order ends as the merge of its observations: rows, facts and history once each."""
    accepted = {"UNBOUND_ORDERS": "accept", "ACCEPT_TEST_PAYMENTS": False}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **accepted}
    before, before_on_mariadb = deadlocks(), innodb_deadlocks()
    answers = in_processes(deliver_all, range(PROCESSES))
    assert sum(answers, Counter()) == {200: PROCESSES * ORDERS * EVENTS}
    met = deadlocks() - before + innodb_deadlocks() - before_on_mariadb
    share = 10_000 * met / (PROCESSES * ORDERS * EVENTS)
    record_property(f"Deadlocks per 10,000 notifications on {connection.display_name}", f"{share:.1f}")
    assert deadlocks() == before
    stories = observations_by_order()
    rows = {row.order_id: row for row in Order.objects.select_related("personal_data")}
    assert rows.keys() == stories.keys()
    for order_id, story in stories.items():
        assert state_of(rows[order_id]) == known(*story), story
        assert rows[order_id].status == known(*story).status
    events = [(order_id, each.event) for order_id, story in stories.items() for each in story] * PROCESSES
    rows_of = Notification.objects.values_list("object_id", "event").annotate(Sum("receipts")).order_by()
    assert {(order_id, event): count for order_id, event, count in rows_of} == Counter(events)
    assert_history_is_whole()


def assert_history_is_whole() -> None:
    """Each order's transitions lead from nothing to its status without a gap or a repetition; each fact was said once."""
    for order in Order.objects.prefetch_related("transitions"):
        steps = [(each.from_status, each.to_status) for each in order.transitions.all()]
        assert (steps[0][0], steps[-1][1]) == ("", order.status)
        assert all(first[1] == second[0] for first, second in pairwise(steps))
        assert all(begin != end for begin, end in steps)
    facts = OutboxMessage.objects.filter(signal__startswith="payment_").exclude(signal="payment_review")
    assert set(Counter(facts.values_list("order", "signal")).values()) <= {1}
    assert OutboxMessage.objects.filter(signal="order_changed").count() == Transition.objects.count()
    assert not Incident.objects.filter(kind="not_applied").exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_sqlite_takes_every_one_of_many_writers(checkout_deliver: Deliver) -> None:
    """Sixteen threads, each with its own connection and its own orders: none fails with "database is locked"."""
    if connection.vendor != "sqlite":
        pytest.skip("looks at SQLite only")
    threads, each = 16, times(8, 40)

    def deliver() -> int:
        return max(checkout_deliver(order=OrderDocumentFactory()).status_code for _ in range(each))

    assert at_once([deliver] * threads) == [200] * threads
    flows.inbox.apply_due()
    assert Order.objects.filter(status="processed").count() == threads * each
