"""The fault switchboard: each fault, and that a seed repeats."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from checkout_integration.sandbox import Fault, FaultKind, FaultPoint
from checkout_integration.sandbox.faults import FaultSwitchboard
from tests.sandbox.service import SECRET, Service


def switch(service: Service, *rules: dict[str, Any]) -> None:
    """Set the switchboard by the control API."""
    answer = requests.put(
        f"{service.url}/_sandbox/faults", json={"seed": 1, "rules": list(rules)}, timeout=10
    )
    assert answer.status_code == 200, answer.text


@pytest.mark.spec("HTT-13", "LIM-03")
@pytest.mark.parametrize(("seconds", "header"), [(0, None), (3, "3")])
def test_too_many_requests(field: Service, seconds: int, header: str | None) -> None:
    """429 with and without Retry-After, and no order is made."""
    switch(field, {"point": "api", "kind": "too_many_requests", "seconds": seconds, "times": 1})
    answer = field.create()
    assert (answer.status_code, answer.headers.get("Retry-After")) == (429, header)
    assert field.listed_ids() == []


@pytest.mark.spec("HTT-14", "SVC-06")
def test_a_server_error_strikes_its_operation_alone(field: Service) -> None:
    """Only the named operation fails, as often as said, with the named status."""
    switch(field, {"point": "api", "kind": "server_error", "subject": "order", "status": 503, "times": 1})
    assert field.listed().status_code == 200
    assert [field.create().status_code for _ in range(2)] == [503, 200]


def test_an_answer_is_lost_after_the_order_was_made(field: Service) -> None:
    """The connection ends without an answer, and the order exists."""
    switch(field, {"point": "api", "kind": "lost_after_commit", "times": 1})
    with pytest.raises(requests.ConnectionError):
        field.create()
    assert field.listed().json()["count"] == 1


def test_a_slow_answer_arrives_late(field: Service) -> None:
    """A client with less patience than the fault's seconds gets nothing."""
    switch(field, {"point": "api", "kind": "slow", "seconds": 1, "times": 1})
    with pytest.raises(requests.Timeout):
        requests.get(f"{field.url}/merchant/s2s/api/v1/order", timeout=0.2)


def test_a_message_is_lost(field: Service) -> None:
    """A dropped message never arrives, and is not tried again."""
    switch(field, {"point": "notification", "kind": "drop", "times": 1})
    field.paid()
    field.advance(600)
    assert field.receiver.received == []


def test_a_message_comes_twice(field: Service) -> None:
    """A duplicate is the same notification again."""
    switch(field, {"point": "notification", "kind": "duplicate", "subject": "payment.success"})
    field.paid()
    first, second = field.receiver.received
    assert first.document["id"] == second.document["id"]


def test_a_message_is_signed_wrongly(field: Service) -> None:
    """The signature does not fit the project's secret; the retry's does."""
    switch(field, {"point": "notification", "kind": "bad_signature", "times": 1})
    field.receiver.answers = [401]
    field.paid()
    field.advance(600)
    assert [each.is_signed_with(SECRET) for each in field.receiver.received] == [False, True]


@pytest.mark.parametrize(
    "rule",
    [
        {"point": "moon", "kind": "drop"},
        {"point": "api", "kind": "drop"},
        {"point": "api"},
        {"kind": 1, "colour": 2},
    ],
)
def test_a_rule_that_cannot_strike_is_refused(field: Service, rule: dict[str, Any]) -> None:
    """Unknown places, kinds and settings are a 400."""
    answer = requests.put(f"{field.url}/_sandbox/faults", json={"rules": [rule]}, timeout=10)
    assert answer.status_code == 400


def test_a_seed_repeats() -> None:
    """The same seed strikes the same requests; `skip` lets the first ones pass."""
    fault = Fault(point=FaultPoint.API, kind=FaultKind.SLOW, probability=0.5, skip=3)

    def strikes(seed: int) -> list[bool]:
        board = FaultSwitchboard()
        board.set([fault], seed=seed)
        return [board.draw(FaultPoint.API, "order") is not None for _ in range(50)]

    assert strikes(7) == strikes(7) != strikes(8)
    assert strikes(7)[:3] == [False] * 3
