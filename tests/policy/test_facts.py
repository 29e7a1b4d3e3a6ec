"""Facts and stamps as the JSON of an order's row: writing, reading, and complete slots."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkout_integration.policy.events import facts_of
from checkout_integration.policy.facts import NOTHING, Decision, Facts, Slot, decide, from_json, join, to_json
from checkout_integration.policy.fields import Stamp, stamps_from_json, stamps_to_json
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation
from checkout_integration.protocol.vocabulary import OrderStatus
from tests.support.policy.observations import TIMING, at, message, row, written

SLOTS = {
    "refunded/notification": Slot(at="2025", own="2023", reread=True),
    "processed/notification": Slot(at="2024", attempt=3),
    "created/creation": Slot(),
}
DECIDED = Facts(
    slots=SLOTS,
    decision=Decision(
        status=OrderStatus.CANCELED,
        at="2026",
        known=frozenset({"processed/notification", "created/creation"}),
    ),
)
STORED: dict[str, Any] = {
    "slots": {
        "created/creation": {},
        "processed/notification": {"at": "2024", "attempt": 3},
        "refunded/notification": {"at": "2025", "own": "2023", "reread": True},
    },
    "decision": {
        "status": "canceled",
        "at": "2026",
        "known": ["created/creation", "processed/notification"],
    },
}


def test_facts_are_written_without_what_is_empty_and_in_one_order() -> None:
    """The same facts are the same text, whichever came first."""
    assert json.dumps(to_json(DECIDED)) == json.dumps(STORED)
    assert json.dumps(to_json(Facts(slots=SLOTS))) == json.dumps({"slots": STORED["slots"]})


def test_stamps_are_written_by_time_and_source() -> None:
    """Most fields share one, which is written without them; those of others stand in one order, whichever came first."""
    paid = Stamp(at="2024", source="notification", settled=True)
    created = Stamp(at="", source="creation")
    stamps = {"id": created, "currency": paid, "amount": paid, "country": paid._replace(settled=False)}
    stored = {"": "2024 notification settled", "2024 notification": ["country"], " creation": ["id"]}
    assert json.dumps(stamps_to_json(stamps)) == json.dumps(stored)
    assert stamps_from_json(stored, stamps) == stamps
    assert stamps_from_json(stored, ["amount"]) == {"amount": paid}
    assert stamps_from_json(stamps_to_json({}), ["amount"]) == {}


def test_settled_stamps_stand_beside_others_of_their_time() -> None:
    """The most frequent one names no fields."""
    open_stamp = Stamp(at="2024", source="notification")
    paid, listed = open_stamp._replace(settled=True), open_stamp._replace(source="list")
    stamps = {
        "amount": paid,
        "charge_amount": open_stamp,
        "country": open_stamp,
        "id": open_stamp,
        "tax": listed,
    }
    stored = {"": "2024 notification", "2024 notification settled": ["amount"], "2024 list": ["tax"]}
    assert json.dumps(stamps_to_json(stamps)) == json.dumps(stored)
    assert stamps_from_json(stored, stamps) == stamps


def test_what_was_written_is_read() -> None:
    """Omitted parts are read as empty."""
    assert from_json(STORED) == DECIDED
    assert from_json({"slots": STORED["slots"]}) == Facts(slots=SLOTS)


@pytest.mark.parametrize("stored", [{}, {"slots": {}}, {"slots": None, "decision": None}])
def test_an_empty_row_tells_nothing(stored: dict[str, object]) -> None:
    """A row that was just made has an empty document."""
    assert from_json(stored) == NOTHING


@pytest.mark.spec("EVT-03", "EVT-05", "STA-02", "STA-03", "STA-06")
@pytest.mark.parametrize(
    ("observation", "slots"),
    [
        (
            message("payment.success", 100, delivery_try=10, status="chargeback"),
            {
                "processed/notification": Slot(at=stamp(at(0)), attempt=10),
                "chargeback/notification": Slot(at=stamp(at(100)), reread=True),
            },
        ),
        (
            message("payment.cancel", 30, delivery_try=2, status="refunded", refunded_at=written(at(20))),
            {
                "canceled/notification": Slot(at=stamp(at(10)), attempt=2),
                "refunded/notification": Slot(
                    at=stamp(at(30)), own=stamp(at(20)), reread=True, latest=stamp(at(20))
                ),
            },
        ),
        (
            message("payment.refund", 30, status="refunded", refunded_at=written(at(20))),
            {"refunded/notification": Slot(at=stamp(at(30)), own=stamp(at(20)), latest=stamp(at(20)))},
        ),
        (
            row("canceled", 60, canceled_at=written(at(3))),
            {"canceled/list": Slot(at=stamp(at(45)))},
        ),
    ],
)
def test_an_observation_tells_these_slots_and_no_decision(
    observation: Observation, slots: dict[str, Slot]
) -> None:
    """Each part of a slot, and not its time alone."""
    found = facts_of(observation, TIMING)
    assert (found.slots, found.decision) == (slots, None)


@pytest.mark.parametrize(
    ("key", "left", "right", "joined"),
    [
        ("refunded/list", Slot(at="1"), Slot(at="2"), Slot(at="2")),
        ("refunded/notification", Slot(at="2"), Slot(at="1"), Slot(at="1")),
        ("refunded/notification", Slot(at="2", attempt=1), Slot(at="1", attempt=2), Slot(at="2", attempt=1)),
        (
            "refunded/notification",
            Slot(at="1", reread=True),
            Slot(at="2", attempt=9),
            Slot(at="2", attempt=9),
        ),
        ("refunded/notification", Slot(at="1", own="8"), Slot(at="2", own="7"), Slot(at="1", own="7")),
        ("refunded/notification", Slot(), Slot(at="2"), Slot(at="2")),
    ],
)
def test_two_slots_are_joined_to_one(key: str, left: Slot, right: Slot, joined: Slot) -> None:
    """The nearest of two, whole, but for the earliest of their own times; whichever comes first."""
    first, second = Facts(slots={key: left}), Facts(slots={key: right})
    assert join(first, second) == join(second, first) == Facts(slots={key: joined})


def test_a_decision_notes_what_was_known() -> None:
    """By the keys of the slots, at its moment."""
    decision = decide(Facts(slots=SLOTS), OrderStatus.REFUNDED, at(5)).decision
    assert decision == Decision(status=OrderStatus.REFUNDED, at=stamp(at(5)), known=frozenset(SLOTS))


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ((OrderStatus.PROCESSED, "1", {"b"}), (OrderStatus.CANCELED, "2", {"a"})),
        ((OrderStatus.CANCELED, "1", {"b"}), (OrderStatus.PROCESSED, "1", {"a"})),
        ((OrderStatus.CANCELED, "1", {"a", "c"}), (OrderStatus.CANCELED, "1", {"b"})),
    ],
)
def test_of_two_decisions_one_stands_whatever_their_order(
    smaller: tuple[OrderStatus, str, set[str]], larger: tuple[OrderStatus, str, set[str]]
) -> None:
    """The later one; on a tie the choice is arbitrary, but always the same."""
    less, more = (
        Facts(slots={}, decision=Decision(status=status, at=moment, known=frozenset(known)))
        for status, moment, known in (smaller, larger)
    )
    assert join(less, more) == join(more, less) == more
