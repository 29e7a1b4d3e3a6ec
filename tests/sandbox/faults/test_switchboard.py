"""The rules of the fault switchboard: impossible ones are refused with the possible values, and a seed repeats."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from checkout_integration.sandbox import Fault, FaultKind, FaultPoint
from checkout_integration.sandbox.faults.switchboard import FaultSwitchboard
from tests.sandbox.faults.test_faults import switch
from tests.support.sandbox.service import Service


@pytest.mark.parametrize(
    "rule",
    [
        {"point": "moon", "kind": "drop"},
        {"point": "api", "kind": "drop"},
        {"point": "api"},
        {"kind": 1, "colour": 2},
        {"point": "list", "kind": "slow"},
        {"point": "api", "kind": "slow", "seconds": "long"},
        {"point": "api", "kind": "slow", "seconds": -1},
        {"point": "api", "kind": "slow", "times": True},
        {"point": "api", "kind": "slow", "subject": 7},
        {"point": "list", "kind": "lying_count", "number": 1.5},
        {"point": "api", "kind": "redirect", "status": 302, "target": "http://example.com/"},
        {"point": "api", "kind": "redirect", "status": 200, "target": "http://127.0.0.1:1/"},
        {"point": "api", "kind": "server_error", "status": 99},
        {"point": "api", "kind": "server_error", "status": 9999},
        {"point": "api", "kind": "other_success"},
        {"point": "api", "kind": "slow", "subject": "ordre"},
        {"point": "notification", "kind": "drop", "subject": "user.validate"},
        {"point": "validation", "kind": "reorder"},
        {"point": "api", "kind": "slow", "times": -1},
        {"point": "api", "kind": "slow", "skip": -1},
    ],
)
def test_a_rule_that_cannot_strike_is_refused(field: Service, rule: dict[str, Any]) -> None:
    """Unknown places, kinds and settings are a 400."""
    answer = requests.put(f"{field.url}/_sandbox/faults", json={"rules": [rule]}, timeout=10)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"rulez": []}, "rules, an array"),
        ({"seed": "x"}, "a whole number"),
        ({"rules": 5}, "rules, an array"),
        ({"rules": [5]}, "a rule has point, kind"),
        (
            {"rules": [{"point": "api", "kind": "slwo"}]},
            "kind must be one of too_many_requests, server_error",
        ),
        ({"rules": [{"point": "apy", "kind": "slow"}]}, "point must be one of api, list, notification"),
    ],
)
def test_an_unknown_word_is_refused(field: Service, document: Any, words: str) -> None:
    """An unknown value is refused with the known ones, and the rules stay as they were."""
    switch(field, {"point": "api", "kind": "slow"})
    answer = requests.put(f"{field.url}/_sandbox/faults", json=document, timeout=10)
    assert (answer.status_code, words in answer.json()["details"]) == (400, True), answer.text
    assert len(field.sandbox.faults.document()["rules"]) == 1


def test_a_seed_repeats() -> None:
    """The same seed strikes the same requests; `skip` lets the first ones pass."""
    fault = Fault(point=FaultPoint.API, kind=FaultKind.SLOW, probability=0.5, skip=3)

    def strikes(seed: int) -> list[bool]:
        board = FaultSwitchboard()
        board.set([fault], seed=seed)
        return [board.draw(FaultPoint.API, "order") is not None for _ in range(50)]

    assert strikes(7) == strikes(7) != strikes(8)
    assert strikes(7)[:3] == [False] * 3
