"""One total deadline for a call."""

from __future__ import annotations

import socket

from checkout_integration.client.deadline import Deadline, DeadlineTimeout
from checkout_integration.protocol.listing import TransactionFilter
from tests.client.conftest import MakeClient
from tests.support.client.calls import PAGE
from tests.support.client.stub import Received, http, running


def test_socket_time_outs_shrink_with_the_deadline() -> None:
    """Each attempt gets the remaining time, and never zero, which would mean "do not wait at all"."""
    timeout = DeadlineTimeout(Deadline(0.0)).clone()
    assert 0 < timeout.connect_timeout < 0.1
    assert 0 < timeout.read_timeout < 0.1


def test_an_endless_error_is_not_read_before_the_next_attempt(client_of: MakeClient) -> None:
    """The body of a discarded response may drip for ever: its connection is closed."""

    def endless(connection: socket.socket, _request: Received) -> None:
        connection.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 100000\r\n\r\n")
        stub.stopped.wait(20)

    with running(endless, http(200, PAGE)) as stub:
        assert client_of(stub, timeout=2.0).list_transactions(TransactionFilter()).count == 2


def test_a_connection_that_comes_too_late_is_cut_at_once() -> None:
    """When the time is over before the wait begins, there is no wait."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Deadline(0.0).watch(ours)
        assert theirs.recv(1) == b""
