"""Broken and endless connections: bounded time, and a known or unknown outcome."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from checkout_integration.client import Client, errors
from tests.client.conftest import SECRET, MakeClient, config_for
from tests.support.client.calls import ACCOUNT, BASIC, CALLS, ERROR, every_call, failure, good_answer
from tests.support.client.stub import Answering, Received, Stub, http, running


def hang_up(connection: socket.socket, _request: Received) -> None:
    """Close without a response: the request has arrived."""
    connection.shutdown(socket.SHUT_RDWR)


def test_a_lost_answer_leaves_the_outcome_of_an_order_unknown(client_of: MakeClient) -> None:
    """The request arrived once, and its outcome is unknown."""
    with running(hang_up) as stub:
        error = failure(client_of(stub), CALLS["order"])
    assert isinstance(error, errors.ServiceUnreachable)
    assert error.outcome_unknown and not error.retry_is_safe
    assert len(stub.received) == 1


@pytest.mark.parametrize("name", ["token", "list"])
def test_a_lost_response_is_requested_again(client_of: MakeClient, name: str) -> None:
    """Repeating these requests has no effect."""
    with running(hang_up, good_answer(name)) as stub:
        CALLS[name](client_of(stub))
    assert len(stub.received) == 2


@every_call
def test_a_refused_connection_leaves_nothing_unknown(call: Callable[[Client], Any]) -> None:
    """The request cannot have arrived, so the checkout may be tried again."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        with Client(config_for(f"http://127.0.0.1:{reserved.getsockname()[1]}", timeout=0.5)) as client:
            error = failure(client, call)
    assert isinstance(error, errors.ServiceUnreachable)
    assert error.retry_is_safe and not error.outcome_unknown
    assert "check the address" in str(error)


def dripping(head: bytes, drop: bytes, stub_of: list[Stub]) -> Answering:
    """A response that comes a byte at a time and never ends."""

    def answer(connection: socket.socket, _request: Received) -> None:
        connection.sendall(head)
        while not stub_of[0].stopped.wait(0.05):
            connection.sendall(drop)

    return answer


DRIPS = {
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "until-close": (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b" "),
    "headers": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
    "status": (b"", b"H"),
    "error": (b"HTTP/1.1 503 Busy\r\nContent-Length: 100000\r\n\r\n", b" "),
}


@pytest.mark.slow
@every_call
@pytest.mark.parametrize(("head", "drop"), DRIPS.values(), ids=DRIPS)
def test_a_dripping_answer_meets_the_deadline(
    client_of: MakeClient, call: Callable[[Client], Any], head: bytes, drop: bytes
) -> None:
    """Each byte would start a socket time-out anew; the total deadline does not care."""
    stubs: list[Stub] = []
    with running(dripping(head, drop, stubs)) as stub:
        stubs.append(stub)
        error = failure(client_of(stub, timeout=0.5), call)
        assert not stub.stopped.is_set()
    assert isinstance(error, errors.DeadlineExceeded)
    assert error.outcome_unknown is (call is CALLS["order"])


@pytest.mark.slow
def test_a_silent_service_meets_the_deadline_over_all_attempts(client_of: MakeClient) -> None:
    """Attempts share one deadline instead of having one each."""

    def silent(_connection: socket.socket, _request: Received) -> None:
        stub.stopped.wait(20)

    with running(silent) as stub:
        error = failure(client_of(stub, timeout=0.5), CALLS["list"])
    assert isinstance(error, errors.DeadlineExceeded)
    assert len(stub.received) == 1


def test_the_log_of_the_http_library_names_no_customer(
    client_of: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    """It logs every retried URL, and queries contain identifiers of customers."""
    caplog.set_level("DEBUG")
    with running(hang_up, http(503, ERROR, Retry_After="0"), good_answer("list")) as stub:
        CALLS["list"](client_of(stub))
    assert "Retrying" in caplog.text
    assert "/merchant/s2s/api/v1/order" in caplog.text
    for text in (ACCOUNT, SECRET, BASIC):
        assert text not in caplog.text
