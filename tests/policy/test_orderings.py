"""The trial of orderings: one end for each set of news, equal to the service's own ledger (G3, G5).

The full run tries a million orders of arrival.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkout_integration.policy.facts import DOUBLE_LOSS, LISTED_CANCELED_THOUGH_PAID, PAID_AND_CANCELED
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.state import LISTED_REJECTED_WITH_TRANSACTION, OrderState
from tests.policy.histories import (
    ORDERS,
    History,
    history,
    told_by_creation,
    told_by_list,
    told_by_message,
    trial,
)
from tests.policy.naive_rules import RULES, Rule, strict_state_machine
from tests.policy.news import known
from tests.scale import times

COUNT = times(2_000, 1_000_000)
SEED = 20240501

PAID = history("pay", 1)
CANCELED = history("cancel", 1)
DECLINED = history("decline", 1)
REFUNDED = history("pay refund", 1, 500)
REFUNDED_AT_ONCE = history("pay refund", 1, 1.5)
CHARGED_BACK = history("pay chargeback", 1, 90000)
REFUNDED_AND_CHARGED_BACK = history("pay refund chargeback", 1, 500, 900)
CHARGED_BACK_AND_REFUNDED = history("pay chargeback refund", 1, 500, 900)
PAID_AND_CANCELED_LATER = history("pay cancel", 1, 500)
CANCELED_AND_PAID_LATER = history("cancel pay", 1, 500)
DECLINED_AND_PAID_LATER = history("decline pay", 1, 500)


def sent(told: History, number: int, *attempts: int, reread: bool = False) -> list[Observation]:
    """The message of the history's first, second, ... happening, at these attempts."""
    return [told_by_message(told, told.happenings[number], attempt=each, reread=reread) for each in attempts]


def listed(told: History, minutes: float, stale: float = 0, **change: Any) -> list[Observation]:
    """The order's row, read so many minutes after the order was made."""
    return [told_by_list(told, told.happenings[0].at + timedelta(minutes=minutes), stale=stale, **change)]


MADE = [told_by_creation()]
TURNED: dict[str, Any] = {"status": "rejected"}
HISTORIES: dict[str, tuple[History, list[Observation], set[str]]] = {
    "nothing but our own call": (history(""), [*MADE, *listed(history(""), 5)], set()),
    "paid": (PAID, [*MADE, *sent(PAID, 1, 0, 0), *listed(PAID, 0.5), *listed(PAID, 60)], set()),
    "paid, every answer lost": (PAID, [*MADE, *sent(PAID, 1, 0, 1, 2, 3, 4)], set()),
    "paid, first told after two days": (PAID, [*MADE, *sent(PAID, 1, 288, 287), *listed(PAID, 0)], set()),
    "paid, the list still says created": (PAID, [*MADE, *sent(PAID, 1, 0), *listed(PAID, 9, 590)], set()),
    "paid, known from the list only": (PAID, [*MADE, *listed(PAID, 0.5), *listed(PAID, 30)], set()),
    "paid, turned rejected by the service": (
        PAID,
        [
            *sent(PAID, 1, 0, 288),
            *listed(PAID, 30),
            *listed(PAID, 2900, **TURNED),
            *listed(PAID, 9999, **TURNED),
        ],
        {LISTED_CANCELED_THOUGH_PAID, LISTED_REJECTED_WITH_TRANSACTION},
    ),
    "canceled": (
        CANCELED,
        [*MADE, *sent(CANCELED, 1, 0, 5), *listed(CANCELED, 0), *listed(CANCELED, 60)],
        set(),
    ),
    "declined": (DECLINED, [*MADE, *sent(DECLINED, 1, 0, 0, 7), *listed(DECLINED, 60)], set()),
    "refunded, the success is late": (
        REFUNDED,
        [*MADE, *sent(REFUNDED, 1, 288, 100), *sent(REFUNDED, 2, 0, 1)],
        set(),
    ),
    "refunded, the success read again": (
        REFUNDED,
        [
            *sent(REFUNDED, 1, 0),
            *sent(REFUNDED, 1, 60, reread=True),
            *sent(REFUNDED, 2, 0),
            *listed(REFUNDED, 505, 590),
        ],
        set(),
    ),
    "refunded, the success is lost": (
        REFUNDED,
        [*MADE, *sent(REFUNDED, 2, 3), *listed(REFUNDED, 600)],
        set(),
    ),
    "refunded within seconds": (
        REFUNDED_AT_ONCE,
        [*sent(REFUNDED_AT_ONCE, 1, 0, 3), *sent(REFUNDED_AT_ONCE, 2, 0), *listed(REFUNDED_AT_ONCE, 5, 280)],
        set(),
    ),
    "charged back months later": (
        CHARGED_BACK,
        [*MADE, *sent(CHARGED_BACK, 1, 0, 288), *sent(CHARGED_BACK, 2, 0, 2), *listed(CHARGED_BACK, 89000)],
        set(),
    ),
    "refunded, then charged back": (
        REFUNDED_AND_CHARGED_BACK,
        [
            *sent(REFUNDED_AND_CHARGED_BACK, 1, 0),
            *sent(REFUNDED_AND_CHARGED_BACK, 1, 100, reread=True),
            *sent(REFUNDED_AND_CHARGED_BACK, 2, 0, 200),
            *sent(REFUNDED_AND_CHARGED_BACK, 3, 0),
            *listed(REFUNDED_AND_CHARGED_BACK, 905, 590),
        ],
        {DOUBLE_LOSS},
    ),
    "refunded, the chargeback seen in a success read again": (
        REFUNDED_AND_CHARGED_BACK,
        [
            *sent(REFUNDED_AND_CHARGED_BACK, 1, 0),
            *sent(REFUNDED_AND_CHARGED_BACK, 1, 100, reread=True),
            *sent(REFUNDED_AND_CHARGED_BACK, 2, 0, 288),
        ],
        {DOUBLE_LOSS},
    ),
    "charged back, then refunded": (
        CHARGED_BACK_AND_REFUNDED,
        [
            *sent(CHARGED_BACK_AND_REFUNDED, 1, 0),
            *sent(CHARGED_BACK_AND_REFUNDED, 2, 0, 1, 288),
            *sent(CHARGED_BACK_AND_REFUNDED, 3, 0),
            *listed(CHARGED_BACK_AND_REFUNDED, 800),
        ],
        {DOUBLE_LOSS},
    ),
    "paid, then canceled": (
        PAID_AND_CANCELED_LATER,
        [
            *sent(PAID_AND_CANCELED_LATER, 1, 0, 288),
            *sent(PAID_AND_CANCELED_LATER, 2, 0, 2),
            *listed(PAID_AND_CANCELED_LATER, 505, 590),
        ],
        {PAID_AND_CANCELED},
    ),
    "canceled, then paid": (
        CANCELED_AND_PAID_LATER,
        [
            *sent(CANCELED_AND_PAID_LATER, 1, 0, 288),
            *sent(CANCELED_AND_PAID_LATER, 2, 0, 2),
            *listed(CANCELED_AND_PAID_LATER, 300),
        ],
        {PAID_AND_CANCELED},
    ),
    "declined, then paid": (
        DECLINED_AND_PAID_LATER,
        [*sent(DECLINED_AND_PAID_LATER, 1, 0, 200), *sent(DECLINED_AND_PAID_LATER, 2, 0, 2, 5)],
        {PAID_AND_CANCELED},
    ),
}


def endings(news: Sequence[Observation], state: OrderState | None = None) -> Iterator[OrderState]:
    """The state after each order of arrival; orders that begin alike share the steps they have in common."""
    state = state or OrderState()
    if not news:
        yield state
    for position, first in enumerate(news):
        yield from endings([*news[:position], *news[position + 1 :]], known(first, before=state))


def mistakes(told: History, state: OrderState) -> list[str]:
    """What is wrong about this end; none where it is the truth, and an incident where there is no truth."""
    found = []
    if state.status not in told.possible_ends:
        found.append(f"{state.status} instead of {told.truth}")
    if told.contradicts_itself != bool(state.contradictions):
        found.append(f"contradictions {sorted(state.contradictions)}")
    return found


@pytest.mark.spec("STA-03", "STA-04", "STA-05", "STA-06", "STA-07", "STA-08")
@pytest.mark.parametrize("name", HISTORIES)
def test_every_order_of_arrival_ends_at_the_truth(name: str) -> None:
    """All permutations of up to six messages."""
    told, news, incidents = HISTORIES[name]
    assert len(news) <= 6
    first, *others = endings(news)
    assert (first.status, set(first.contradictions)) == (told.truth, incidents)
    assert all(other == first for other in others)


def assert_one_true_end(told: History, orders: Sequence[Sequence[Observation]]) -> None:
    """Each order of arrival ends alike: at the truth, or as an incident where there is none."""
    first, *others = (known(*arrivals) for arrivals in orders)
    assert mistakes(told, first) == [], told
    assert all(other == first for other in others), told


def test_orderings_from_the_generator_end_at_the_truth() -> None:
    """With attempt times, late retries, stale rows, skew, repetitions and losses."""
    for told, orders in islice(trial(SEED), COUNT // ORDERS):
        assert_one_true_end(told, orders)


@settings(max_examples=2000)
@given(st.integers(0, 2**64))
def test_orderings_from_anywhere_end_at_the_truth(seed: int) -> None:
    """The same, from seeds of Hypothesis' choice."""
    assert_one_true_end(*next(trial(seed)))


@pytest.mark.parametrize("rule", RULES)
def test_naive_rules_fail_the_trial(rule: Rule) -> None:
    """The trial tells good rules from bad ones: each of these ends wrong in one ordering of twenty at least."""
    tried = [(told, arrivals) for told, orders in islice(trial(SEED), 200) for arrivals in orders]
    wrong = [told for told, arrivals in tried if rule(arrivals) not in told.possible_ends]
    assert len(wrong) > len(tried) / 20


@pytest.mark.parametrize("rule", RULES)
def test_naive_rules_fail_where_nothing_contradicts_itself(rule: Rule) -> None:
    """A refund whose success is late, told by six messages, is enough."""
    told, news, _ = HISTORIES["refunded, the success is late"]
    assert {rule(each) for each in permutations(news)} != {told.truth}


def test_a_strict_state_machine_pays_a_refunded_order() -> None:
    """The worst of its ends: goods granted for money that went back."""
    _, news, _ = HISTORIES["refunded, the success is late"]
    assert strict_state_machine([*reversed(news)]) == "processed"
