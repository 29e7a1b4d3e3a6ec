"""Statuses other than success: the right exception, and the right retries."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from checkout_integration.client import Client, errors
from checkout_integration.protocol.listing import TransactionFilter
from tests.client.conftest import MakeClient
from tests.support.client.calls import CALLS, ERROR, PAGE, every_call, failure, good_answer
from tests.support.client.stub import http, running

DOCUMENTED = [
    pytest.param(400, errors.BadRequest, marks=pytest.mark.spec("HTT-05", "EP1-23", "EP2-17", "EP3-12")),
    pytest.param(401, errors.BadCredentials, marks=pytest.mark.spec("HTT-06", "AUT-05")),
    pytest.param(402, errors.LiveModeInactive, marks=pytest.mark.spec("HTT-07")),
    pytest.param(403, errors.Forbidden, marks=pytest.mark.spec("HTT-08")),
    pytest.param(404, errors.NotFound, marks=pytest.mark.spec("HTT-09", "EP1-23")),
    pytest.param(406, errors.FormatNotSupported, marks=pytest.mark.spec("HTT-10", "SVC-08")),
    pytest.param(409, errors.Conflict, marks=pytest.mark.spec("HTT-11")),
    pytest.param(422, errors.Unprocessable, marks=pytest.mark.spec("HTT-12")),
    pytest.param(429, errors.TooManyRequests, marks=pytest.mark.spec("HTT-13", "LIM-03")),
    pytest.param(500, errors.InternalError, marks=pytest.mark.spec("HTT-14", "EP1-23", "EP2-17", "EP3-12")),
    pytest.param(502, errors.BadGateway, marks=pytest.mark.spec("HTT-14")),
    pytest.param(503, errors.ServiceUnavailable, marks=pytest.mark.spec("HTT-14")),
    pytest.param(504, errors.GatewayTimeout, marks=pytest.mark.spec("HTT-14")),
    pytest.param(418, errors.ErrorResponse, marks=pytest.mark.spec("SVC-06")),
    pytest.param(507, errors.ServiceFailed, marks=pytest.mark.spec("SVC-06")),
]


@every_call
@pytest.mark.parametrize(("status", "kind"), DOCUMENTED)
@pytest.mark.spec("ERR-01", "ERR-02", "ERR-03", "HTT-01", "SVC-05")
def test_each_status_has_its_exception(
    client_of: MakeClient, call: Callable[[Client], Any], status: int, kind: type[errors.ErrorResponse]
) -> None:
    """It has the service's code, message and details, without credentials that a service may repeat.

    Its text has the code alone: the service's message may contain personal data.
    """
    if status == 500 and call is CALLS["list"]:
        kind = errors.ListFailed
    with running(http(status, ERROR, Retry_After="0")) as stub:
        error = failure(client_of(stub), call)
    assert type(error) is kind
    assert isinstance(error, errors.ErrorResponse)
    assert (error.status, error.error.code, error.error.message) == (status, "zz000001", "no ***")
    assert error.error.details == "***"
    assert f"answered {status} (zz000001); {kind.advice}" in str(error)
    others = [each.advice for each in errors.ErrorResponse.__subclasses__() if not issubclass(kind, each)]
    assert kind.advice and kind.advice not in others
    assert "***" not in f"{error!s}{error!r}{error.error!r}"


@pytest.mark.parametrize(("status", "kind"), DOCUMENTED)
@pytest.mark.parametrize("code", ["ma000022", "co000005", "fm000048"])
def test_a_code_of_bad_credentials_changes_no_other_status(
    client_of: MakeClient, status: int, kind: type[errors.ErrorResponse], code: str
) -> None:
    """Only a 400 needs it, which says nothing of itself."""
    kind = errors.BadCredentials if status == 400 else kind
    body = json.dumps({"code": code, "message": "x"}).encode()
    with running(http(status, body, Retry_After="0")) as stub:
        error = failure(client_of(stub), CALLS["order"])
    assert type(error) is kind


@pytest.mark.parametrize("code", ["ma000022", "co000005", "fm000048"])
@pytest.mark.spec("AUT-05")
def test_bad_credentials_that_answer_400_are_recognised(client_of: MakeClient, code: str) -> None:
    """Deployed services send 400 with one of three codes where the specification says 401."""
    with running(http(400, json.dumps({"code": code, "message": "x"}).encode())) as stub:
        error = failure(client_of(stub), CALLS["order"])
    assert isinstance(error, errors.BadCredentials)
    assert error.status == 400
    assert not error.outcome_unknown


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("token", 400, errors.BadRequest),
        ("token", 404, errors.NotFound),
        ("token", 500, errors.InternalError),
        ("order", 400, errors.BadRequest),
        ("order", 500, errors.InternalError),
        ("list", 400, errors.BadRequest),
        ("list", 500, errors.InternalError),
    ],
)
@pytest.mark.spec("HTT-15", "EP1-23", "EP2-17", "EP3-12")
def test_what_an_operation_documents_says_what_can_be_done(
    client_of: MakeClient, name: str, status: int, kind: type[errors.ErrorResponse]
) -> None:
    """After a 4xx nothing was done; after a 500 an order may exist, and the other calls may be sent again."""
    with running(http(status, ERROR, Retry_After="0")) as stub:
        error = failure(client_of(stub), CALLS[name])
    assert isinstance(error, kind)
    assert (error.outcome_unknown, error.retry_is_safe) == (
        status == 500 and name == "order",
        status == 500 and name != "order",
    )


@every_call
@pytest.mark.parametrize("code", ["fm000001", "fm000002"])
@pytest.mark.parametrize("status", [400, 401, 404])
@pytest.mark.spec("ERR-01", "AUT-05")
def test_an_unknown_project_is_not_a_wrong_request(
    client_of: MakeClient, call: Callable[[Client], Any], code: str, status: int
) -> None:
    """The message names the setting to correct."""
    body = json.dumps({"code": code, "message": "x"}).encode()
    with running(http(status, body)) as stub:
        error = failure(client_of(stub), call)
    assert type(error) is errors.UnknownProject
    assert isinstance(error, errors.BadCredentials)
    assert "correct the project identifier" in str(error)


@pytest.mark.spec("AUT-05", "HTT-14", "EP3-12")
def test_a_list_that_fails_may_mean_an_unknown_project(client_of: MakeClient) -> None:
    """Deployed services send 500 for one: the message names both possibilities, and only there."""
    sentences = {}
    for name, call in CALLS.items():
        with running(http(500, b"", Retry_After="0")) as stub:
            sentences[name] = str(failure(client_of(stub), call))
    assert "correct the project identifier if it is wrong, else wait" in sentences["list"]
    assert "project" not in sentences["token"] + sentences["order"]


@pytest.mark.spec("HTT-01", "HTT-14")
@every_call
def test_an_error_body_may_be_anything(client_of: MakeClient, call: Callable[[Client], Any]) -> None:
    """HTML of a gateway gives the status alone."""
    with running(http(404, b"<html>")) as stub:
        assert "answered 404 (no code)" in str(failure(client_of(stub), call))


@every_call
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.spec("AUT-02")
def test_redirects_are_refused(client_of: MakeClient, call: Callable[[Client], Any], status: int) -> None:
    """The target, another host that would receive the secret, sees no request at all."""
    with running(http(200, PAGE)) as target, running(http(status, b"", Location=target.url)) as stub:
        error = failure(client_of(stub), call)
        assert target.connections == 0
    assert isinstance(error, errors.RedirectRefused)
    assert len(stub.received) == 1


REPEATED = [429, 500, 502, 503, 504]


@pytest.mark.parametrize("status", REPEATED)
@pytest.mark.parametrize("name", ["token", "list"])
@pytest.mark.spec("HTT-13", "HTT-14")
def test_what_is_repeatable_is_repeated(client_of: MakeClient, name: str, status: int) -> None:
    """Tokens and lists are requested again after the service's Retry-After."""
    bad = http(status, ERROR, Retry_After="0")
    with running(bad, bad, good_answer(name)) as stub:
        CALLS[name](client_of(stub))
    assert len(stub.received) == 3
    assert len({request.body for request in stub.received}) == 1


@pytest.mark.parametrize("status", REPEATED)
@pytest.mark.spec("HTT-13")
def test_order_creation_is_never_repeated(client_of: MakeClient, status: int) -> None:
    """Each request makes another order, even where the response suggests a retry."""
    with running(http(status, ERROR, Retry_After="0")) as stub:
        error = failure(client_of(stub), CALLS["order"])
    assert len(stub.received) == 1
    assert error.outcome_unknown is (status != 429)
    assert error.retry_is_safe is (status == 429)


@pytest.mark.spec("LIM-03")
@pytest.mark.parametrize("name", ["token", "list"])
def test_repetition_is_bounded(client_of: MakeClient, name: str) -> None:
    """Five attempts, then the last response is the exception."""
    with running(http(503, ERROR, Retry_After="0")) as stub:
        error = failure(client_of(stub), CALLS[name])
    assert isinstance(error, errors.ServiceUnavailable)
    assert error.retry_is_safe and not error.outcome_unknown
    assert len(stub.received) == 5


@pytest.mark.spec("HTT-13", "LIM-03")
def test_a_retry_after_beyond_the_deadline_is_not_waited_for(client_of: MakeClient) -> None:
    """The 429 is handed on at once, with time left."""
    with running(http(429, ERROR, Retry_After="3600")) as stub:
        error = failure(client_of(stub, timeout=5.0), CALLS["list"])
    assert isinstance(error, errors.TooManyRequests)
    assert len(stub.received) == 1


@pytest.mark.spec("HTT-13")
def test_an_odd_retry_after_is_ignored(client_of: MakeClient) -> None:
    """It falls back to the client's own pause."""
    with running(http(429, ERROR, Retry_After="soon"), http(200, PAGE)) as stub:
        assert client_of(stub).list_transactions(TransactionFilter()).count == 2


@pytest.mark.spec("SVC-06")
def test_client_errors_are_not_repeated(client_of: MakeClient) -> None:
    """A retry would be refused again."""
    with running(http(404, ERROR)) as stub:
        error = failure(client_of(stub), CALLS["list"])
    assert len(stub.received) == 1
    assert not error.retry_is_safe
