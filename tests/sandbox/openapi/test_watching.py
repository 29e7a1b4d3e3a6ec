"""The comparison of every response of the suite with openapi.yaml finds breaches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkout_integration.sandbox import Fault, FaultKind, FaultPoint, Sandbox
from checkout_integration.sandbox.wire.run_log import Exchange
from tests.support.sandbox.openapi_watching import contract, watched
from tests.support.sandbox.service import Service

LIST = "/merchant/s2s/api/v1/order"


def answer(document: Any, status: int = 200, *, url: str = LIST) -> Exchange:
    """Return a response of the list."""
    body = json.dumps(document).encode()
    return Exchange(direction="in", method="GET", url=url, status=status, request=b"", answer=body)


def notification(document: Any) -> Exchange:
    """Return a notification."""
    body = json.dumps(document).encode()
    return Exchange(direction="out", method="POST", url="", status=200, request=body, answer=b"")


@pytest.mark.parametrize(
    ("profile", "wrong", "breach"),
    [
        ("spec", answer({"count": "1", "items": None}), "/count"),
        ("spec", answer({"count": 1}), "items"),
        ("field", answer({"count": 0, "items": []}), "/items"),
        ("spec", answer({"message": "Unauthorized"}, 401), "code"),
        ("spec", answer({}, 418), "418"),
        ("field", notification({"type": "note"}), "/type"),
    ],
)
def test_a_breach_is_reported(profile: str, wrong: Exchange, breach: str) -> None:
    """The message names the place or the word that is wrong."""
    assert any(breach in found for found in contract(profile).breaches(wrong))


def test_what_is_not_json_is_a_breach() -> None:
    """A response of the API is JSON whatever happened."""
    wrong = Exchange(direction="in", method="GET", url=LIST, status=500, request=b"", answer=b"oops")
    assert contract("spec").breaches(wrong) == ["the body is not JSON"]


@pytest.mark.parametrize(
    "fine",
    [
        answer({"count": 0, "items": None}, url=LIST + "?limit=1"),
        answer({"message": "Unauthorized"}, 401),
        answer({}, url="/api/v1/unknown"),
    ],
)
def test_what_the_field_does_is_no_breach(fine: Exchange) -> None:
    """The differences of the field are described; undescribed parts are ignored."""
    assert contract("field").breaches(fine) == []


def test_every_field_of_an_order_is_described(service: Service) -> None:
    """An order of the running sandbox passes whole, and fails without any one of its fields."""
    service.paid()
    page = service.listed().json()
    description = contract(service.sandbox.profile.name)
    assert description.breaches(answer(page)) == []
    (order,) = page["items"]
    for name in order:
        lacking = {key: value for key, value in order.items() if key != name}
        assert description.breaches(answer({**page, "items": [lacking]})), name


def record_nonsense(sandbox: Sandbox) -> None:
    """Record a response that a sandbox never sends."""
    sandbox.log.record(
        Exchange(direction="in", method="GET", url=LIST, status=200, answer=b'{"count": -1, "items": null}')
    )


def test_a_test_with_a_breach_fails() -> None:
    """The block ends with the exchange and the reason."""
    breach = r"GET /merchant/\S+ answered 200: /count"
    with Sandbox() as sandbox, pytest.raises(AssertionError, match=breach), watched(sandbox):
        record_nonsense(sandbox)


def test_faults_are_no_breach() -> None:
    """Breaches by the switchboard are intended."""
    with Sandbox() as sandbox, watched(sandbox):
        sandbox.faults.set([Fault(point=FaultPoint.API, kind=FaultKind.SERVER_ERROR)])
        record_nonsense(sandbox)
