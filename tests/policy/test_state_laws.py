"""The laws that make state a function of the *set* of observations, over arbitrary observations."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy.facts import Decision, Facts, Slot, join
from checkout_integration.policy.fields import from_stored, stamps_from_json, stamps_to_json
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import Event, OrderStatus
from tests.support.policy.observations import at, known, written
from tests.support.scale import times

MOMENTS = [at(minutes) for minutes in (0, 10, 20, 600)] + [datetime(999, 1, 1, tzinfo=UTC)]
# Few values, so that two observations often have the same field at the same time.
MONEY = [Decimal(100), Decimal("100.0"), 100, Decimal("9.99"), "9.99", None, "", "not money", True, 1]
TIMES: list[Any] = [
    written(at(0)),
    "2024-05-01T14:00:00+02:00",
    written(at(30)),
    "",
    None,
    "1970-01-01T00:00:00Z",
    "?",
]
TEXTS: list[Any] = [
    "",
    None,
    "simple",
    "product",
    "products",
    "USD",
    "EUR",
    1,
    True,
    {"a": 1, "b": 2},
    {"b": 2, "a": 1},
    [],
]
USERS = st.dictionaries(
    st.sampled_from(["id", "external_id", "email", "live"]), st.sampled_from(["", None, "x", "y"])
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("amount", "original_amount", "charge_amount"), st.sampled_from(MONEY)),
        **dict.fromkeys(("created_at", "refunded_at", "canceled_at"), st.sampled_from(TIMES)),
        **dict.fromkeys(("type", "currency", "description", "is_production", "live"), st.sampled_from(TEXTS)),
        "user": USERS | st.sampled_from([None, "text", []]),
        "user.external_id": st.just("not the customer's"),
        "status": st.sampled_from([*OrderStatus, "", None, "unheard of"]),
        "transaction": st.sampled_from(["", "t-1", None]),
        "refund": st.sampled_from([None, {}, {"amount": Decimal(5)}]),
    },
)
OBSERVATIONS = st.builds(
    Observation,
    source=st.sampled_from([Source.NOTIFICATION, Source.LIST, Source.CREATION]),
    order=DOCUMENTS.map(parse_order),
    event=st.sampled_from([*Event, "payment.unheard_of"]),
    observed_at=st.sampled_from([None, *MOMENTS]),
    delivery_try=st.integers(-1, 3),
    live=st.sampled_from([None, True, False]),
)
OBSERVATION_LISTS = st.lists(OBSERVATIONS, max_size=5)
STAMPS = st.sampled_from(["", "2024-05-01T12:00:00.000000Z", "2024-05-01T12:10:00.000000Z"])
SLOTS = st.builds(Slot, at=STAMPS, own=STAMPS, attempt=st.integers(0, 2), reread=st.booleans())
# As the rules make them: only a notification has attempts and a time of its own.
LISTED = st.builds(Slot, at=STAMPS)
KINDS = st.sampled_from([OrderStatus.PROCESSED, OrderStatus.REFUNDED, OrderStatus.CANCELED])
DECISIONS = st.builds(
    Decision,
    status=KINDS,
    at=STAMPS,
    known=st.frozensets(st.sampled_from(["processed/list", "refunded/list"])),
)
FACTS = st.builds(
    lambda signed, listed, decision: Facts(
        slots={f"{kind}/notification": slot for kind, slot in signed.items()}
        | {f"{kind}/list": slot for kind, slot in listed.items()},
        decision=decision,
    ),
    st.dictionaries(KINDS, SLOTS),
    st.dictionaries(KINDS, LISTED),
    st.none() | DECISIONS,
)


@given(FACTS, FACTS)
def test_join_is_commutative(left: Facts, right: Facts) -> None:
    """The order of two observations does not matter."""
    assert join(left, right) == join(right, left)


@given(FACTS, FACTS, FACTS)
def test_join_is_associative(first: Facts, second: Facts, third: Facts) -> None:
    """The grouping into batches does not matter."""
    assert join(join(first, second), third) == join(first, join(second, third))


@given(FACTS, FACTS)
def test_join_is_idempotent(left: Facts, right: Facts) -> None:
    """A repetition changes nothing."""
    both = join(left, right)
    assert join(left, left) == left
    assert join(both, right) == join(both, left) == both


@settings(max_examples=times(400, 400, quick_run=40))
@given(st.data(), OBSERVATION_LISTS)
def test_state_is_a_function_of_the_set_of_observations(
    data: st.DataObject, observations: list[Observation]
) -> None:
    """Any order and any number of repetitions ends in the same status, values, stamps and conflicts."""
    again = data.draw(st.lists(st.sampled_from(observations), max_size=4)) if observations else []
    shuffled = data.draw(st.permutations([*observations, *again]))
    expected, state = known(*observations), known(*shuffled)
    assert state == expected
    assert (state.status, state.contradictions) == (expected.status, expected.contradictions)


@given(OBSERVATION_LISTS)
def test_a_stored_state_is_the_state(observations: list[Observation]) -> None:
    """Facts, stamps and document survive the JSON columns of an order's row, and go on merging from there."""
    state = known(*observations)
    facts = fact_rules.from_json(json.loads(json.dumps(fact_rules.to_json(state.facts))))
    stamps = stamps_from_json(
        json.loads(json.dumps(stamps_to_json(state.merged.stamps))), state.merged.values
    )
    document: Any = strict_json.loads(strict_json.dumps(state.merged.document).encode())
    merged = from_stored(document, state.merged.live, stamps, sorted(state.merged.conflicts))
    assert OrderState(facts=facts, merged=merged) == state


@given(OBSERVATION_LISTS, OBSERVATION_LISTS)
def test_the_order_is_what_the_document_says(
    observations: list[Observation], later: list[Observation]
) -> None:
    """Also where most of it was read when it was observed: of a new order, and of one with another past."""
    for state in (known(*observations), known(*later, before=known(*observations))):
        assert state.order == parse_order(state.merged.document)


@given(FACTS)
def test_stored_facts_are_the_facts(facts: Facts) -> None:
    """Decisions of staff included."""
    assert fact_rules.from_json(json.loads(json.dumps(fact_rules.to_json(facts)))) == facts


@given(OBSERVATION_LISTS, OBSERVATION_LISTS)
def test_what_is_known_is_never_forgotten(observations: list[Observation], later: list[Observation]) -> None:
    """Facts, fields and conflicts only ever become more."""
    before = known(*observations)
    after = known(*later, before=before)
    assert before.facts.slots.keys() <= after.facts.slots.keys()
    assert before.merged.values.keys() <= after.merged.values.keys()
    assert before.merged.conflicts <= after.merged.conflicts


@pytest.mark.spec("STA-06", "STA-07")
@given(OBSERVATION_LISTS, OBSERVATION_LISTS)
def test_a_reversed_order_is_never_paid_again(
    observations: list[Observation], later: list[Observation]
) -> None:
    """After a refund or chargeback only staff can change the status."""
    before = known(*observations)
    reversals = (OrderStatus.REFUNDED, OrderStatus.CHARGEBACK)
    assert before.status not in reversals or known(*later, before=before).status in reversals


@given(st.lists(st.datetimes(timezones=st.just(UTC)), min_size=2, max_size=2))
def test_stamps_sort_by_time(moments: list[datetime]) -> None:
    """Slots and stamps are compared as text."""
    earlier, later = sorted(moments)
    assert (stamp(earlier) < stamp(later)) is (earlier < later)
