"""The trial of orderings: one end for each set of observations, equal to the service's own ledger.

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

from checkout_integration.policy.contradictions import (
    DOUBLE_LOSS,
    LISTED_CANCELED_THOUGH_PAID,
    LISTED_REJECTED_WITH_TRANSACTION,
    PAID_AND_CANCELED,
)
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.state import OrderState
from tests.support.policy.histories import (
    ORDERS,
    History,
    creation_response,
    history,
    list_row,
    notification,
    trial,
)
from tests.support.policy.naive_rules import RULES, Rule, strict_state_machine
from tests.support.policy.observations import known
from tests.support.scale import times

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


def sent(actual: History, number: int, *attempts: int, reread: bool = False) -> list[Observation]:
    """The message of the history's first, second, ... happening, at these attempts."""
    return [notification(actual, actual.happenings[number], attempt=each, reread=reread) for each in attempts]


def listed(actual: History, minutes: float, stale: float = 0, **change: Any) -> list[Observation]:
    """The order's row, read so many minutes after the order was made."""
    return [list_row(actual, actual.happenings[0].at + timedelta(minutes=minutes), stale=stale, **change)]


MADE = [creation_response()]
TURNED: dict[str, Any] = {"status": "rejected"}
HISTORIES: dict[str, tuple[History, list[Observation], set[str]]] = {
    "nothing but our own call": (history(""), [*MADE, *listed(history(""), 5)], set()),
    "paid": (PAID, [*MADE, *sent(PAID, 1, 0, 0), *listed(PAID, 0.5), *listed(PAID, 60)], set()),
    "paid, every response lost": (PAID, [*MADE, *sent(PAID, 1, 0, 1, 2, 3, 4)], set()),
    "paid, first notification after two days": (
        PAID,
        [*MADE, *sent(PAID, 1, 288, 287), *listed(PAID, 0)],
        set(),
    ),
    "paid, the list still says created": (PAID, [*MADE, *sent(PAID, 1, 0), *listed(PAID, 9, 590)], set()),
    "paid in the last week, known from the list only": (
        PAID,
        [*MADE, *listed(PAID, 0.5), *listed(PAID, 30)],
        set(),
    ),
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


def endings(observations: Sequence[Observation], state: OrderState | None = None) -> Iterator[OrderState]:
    """The state after each order of arrival; orders that begin alike share the steps they have in common."""
    state = state or OrderState()
    if not observations:
        yield state
    for position, first in enumerate(observations):
        yield from endings(
            [*observations[:position], *observations[position + 1 :]], known(first, before=state)
        )


def mistakes(actual: History, state: OrderState) -> list[str]:
    """Return the mistakes of this end: another status, or contradictions where there are none."""
    found = []
    if state.status not in actual.possible_ends:
        found.append(f"{state.status} instead of {actual.truth}")
    if actual.contradicts_itself != bool(state.contradictions):
        found.append(f"contradictions {sorted(state.contradictions)}")
    return found


@pytest.mark.spec("STA-03", "STA-04", "STA-05", "STA-06", "STA-07", "STA-08")
@pytest.mark.parametrize("name", HISTORIES)
def test_every_order_of_arrival_ends_at_the_truth(name: str) -> None:
    """All permutations of up to six messages."""
    actual, observations, incidents = HISTORIES[name]
    assert len(observations) <= 6
    first, *others = endings(observations)
    assert (first.status, set(first.contradictions)) == (actual.truth, incidents)
    assert all(other == first for other in others)


def assert_one_true_end(actual: History, orders: Sequence[Sequence[Observation]]) -> None:
    """Each order of arrival ends alike: at the truth, or as an incident where there is none."""
    first, *others = (known(*arrivals) for arrivals in orders)
    assert mistakes(actual, first) == [], actual
    assert all(other == first for other in others), actual


def test_orderings_from_the_generator_end_at_the_truth() -> None:
    """With attempt times, late retries, stale rows, skew, repetitions and losses."""
    for actual, orders in islice(trial(SEED), COUNT // ORDERS):
        assert_one_true_end(actual, orders)


@pytest.mark.slow
@settings(max_examples=2000)
@given(st.integers(0, 2**64))
def test_orderings_from_anywhere_end_at_the_truth(seed: int) -> None:
    """The same, from seeds of Hypothesis' choice."""
    assert_one_true_end(*next(trial(seed)))


@pytest.mark.parametrize("rule", RULES)
def test_naive_rules_fail_the_trial(rule: Rule) -> None:
    """The trial tells good rules from bad ones: each of these ends wrong in one ordering of twenty at least."""
    tried = [(actual, arrivals) for actual, orders in islice(trial(SEED), 200) for arrivals in orders]
    wrong = [actual for actual, arrivals in tried if rule(arrivals) not in actual.possible_ends]
    assert len(wrong) > len(tried) / 20


@pytest.mark.parametrize("rule", RULES)
def test_naive_rules_fail_where_nothing_contradicts_itself(rule: Rule) -> None:
    """A refund whose success is late is enough."""
    actual, observations, _ = HISTORIES["refunded, the success is late"]
    assert {rule(each) for each in permutations(observations)} != {actual.truth}


def test_a_strict_state_machine_pays_a_refunded_order() -> None:
    """The worst of its ends: goods granted for money that went back."""
    _, observations, _ = HISTORIES["refunded, the success is late"]
    assert strict_state_machine([*reversed(observations)]) == "processed"
