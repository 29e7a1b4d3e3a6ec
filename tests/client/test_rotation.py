"""Several keys: a refused one is followed by each other one, once, and only where the refusal did nothing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from checkout_integration.client import errors
from checkout_integration.protocol.values import Secret
from tests.client.conftest import SECRET, MakeClient
from tests.support.client.calls import CALLS, failure, good_answer
from tests.support.client.stub import Received, http, running

NEW, OLDEST = "sk-canary-of-the-new-key", "sk-canary-of-the-oldest-key"
OTHERS = (Secret(NEW), Secret(OLDEST))
REFUSED = http(401, b'{"message":"Unauthorized"}')
every_name = pytest.mark.parametrize("name", CALLS)


def key_of(request: Received) -> str:
    """The key that a request was made with."""
    if signature := request.headers.get("x-api-signature"):
        return signature
    return (
        base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode().partition(":")[2]
    )


def coded(status: int, code: str) -> bytes:
    """An error object with a code."""
    return http(status, json.dumps({"code": code, "message": NEW}).encode())


@every_name
@pytest.mark.spec("AUT-02", "AUT-03", "EP1-02", "EP2-02", "EP3-02")
def test_another_key_is_tried_where_one_is_refused(
    client_of: MakeClient, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The call succeeds; the log names the setting to change and contains no key."""
    with running(REFUSED, good_answer(name)) as stub:
        CALLS[name](client_of(stub, other_keys=OTHERS))
    assert [key_of(request) for request in stub.received] == [SECRET, NEW]
    assert "accepted number 1 of PREVIOUS_SECRET_KEYS" in caplog.text
    assert SECRET not in caplog.text and NEW not in caplog.text


@pytest.mark.parametrize("name", ["token", "order"])
@pytest.mark.parametrize("code", ["ma000022", "co000005", "fm000048"])
@pytest.mark.spec("AUT-05")
def test_a_refusal_may_be_a_400(client_of: MakeClient, name: str, code: str) -> None:
    """With one of the codes by which deployed services say that the key is wrong."""
    with running(coded(400, code), good_answer(name)) as stub:
        CALLS[name](client_of(stub, other_keys=OTHERS))
    assert [key_of(request) for request in stub.received] == [SECRET, NEW]


@pytest.mark.parametrize("name", ["token", "order"])
@pytest.mark.parametrize("code", ["key_unknown", "E-17"])
@pytest.mark.spec("AUT-05", "HTT-16")
def test_another_service_has_other_codes(client_of: MakeClient, name: str, code: str) -> None:
    """The codes are not listed: those of the configuration mean that the key is wrong, and no others do."""
    codes = frozenset({"key_unknown", "E-17"})
    with running(coded(400, code), good_answer(name)) as stub:
        CALLS[name](client_of(stub, other_keys=OTHERS, credential_codes=codes))
    assert [key_of(request) for request in stub.received] == [SECRET, NEW]
    with running(coded(400, code)) as stub:
        caught = failure(client_of(stub, credential_codes=codes), CALLS[name])
    assert isinstance(caught, errors.BadCredentials)
    with running(coded(400, "fm000048")) as stub:
        caught = failure(client_of(stub, other_keys=OTHERS, credential_codes=codes), CALLS[name])
    assert type(caught) is errors.BadRequest
    assert len(stub.received) == 1


@pytest.mark.spec("AUT-05")
@pytest.mark.parametrize(
    "answer", [coded(400, "co000002"), coded(400, "fm000002"), coded(403, "fm000048"), coded(500, "fm000048")]
)
def test_an_order_is_not_sent_again_after_anything_else(client_of: MakeClient, answer: bytes) -> None:
    """It may have been created."""
    with running(answer, good_answer("order")) as stub:
        failure(client_of(stub, other_keys=OTHERS), CALLS["order"])
    assert len(stub.received) == 1


@pytest.mark.spec("AUT-05")
@every_name
def test_each_key_is_tried_once(client_of: MakeClient, name: str) -> None:
    """Where all are refused the first refusal is the error, without any key in it."""
    with running(coded(401, "first"), coded(401, "second"), coded(401, "third")) as stub:
        error = failure(client_of(stub, other_keys=OTHERS), CALLS[name])
    assert [key_of(request) for request in stub.received] == [SECRET, NEW, OLDEST]
    assert isinstance(error, errors.BadCredentials)
    assert (error.error.code, error.error.message) == ("first", "***")


@pytest.mark.spec("AUT-02", "AUT-05")
@every_name
def test_what_the_other_key_is_answered_counts(client_of: MakeClient, name: str) -> None:
    """It was accepted: the failure is about the request."""
    with running(REFUSED, coded(404, "gone"), good_answer(name)) as stub:
        error = failure(client_of(stub, other_keys=OTHERS), CALLS[name])
    assert isinstance(error, errors.NotFound)
    assert len(stub.received) == 2


@every_name
def test_the_accepted_key_comes_first_in_the_next_call(
    client_of: MakeClient, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A sync of a thousand pages is refused once, and says so once."""
    with running(REFUSED, good_answer(name)) as stub:
        client = client_of(stub, other_keys=OTHERS)
        for _ in range(3):
            CALLS[name](client)
    assert [key_of(request) for request in stub.received] == [SECRET, NEW, NEW, NEW]
    assert caplog.text.count("PREVIOUS_SECRET_KEYS") == 1


def test_one_deadline_covers_all_keys(client_of: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second try has what the first one left."""
    times = iter([0.0, 0.0, 7.0, 7.0])
    given: list[float] = []
    with running(REFUSED, good_answer("order")) as stub:
        client = client_of(stub, other_keys=OTHERS)
        exchange = client._transport.exchange

        def note(*arguments: Any, seconds: float, **more: Any) -> Any:
            given.append(seconds)
            return exchange(*arguments, seconds=seconds, **more)

        monkeypatch.setattr(client._transport, "exchange", note)
        monkeypatch.setattr("checkout_integration.client.client.monotonic", lambda: next(times))
        CALLS["order"](client)
    assert given == [10.0, 3.0]


@pytest.mark.parametrize("other", ["", " ", "schl\xfcssel"])
def test_another_key_that_cannot_travel_is_left_out(client_of: MakeClient, other: str) -> None:
    """A callable may have no older key any more."""
    with running(REFUSED, good_answer("order")) as stub:
        CALLS["order"](client_of(stub, other_keys=(Secret(other), Secret(NEW))))
    assert [key_of(request) for request in stub.received] == [SECRET, NEW]
