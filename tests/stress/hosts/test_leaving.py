"""Clients that leave before they are answered, or send what cannot be read to its end."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit

from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.stress.hosts.flood import request_bytes
from tests.stress.hosts.running import Running
from tests.support import wire
from tests.support.flows.shop import notification


def send_and_leave(host: Running, request: bytes) -> None:
    """Closes the connection as soon as this is sent."""
    parts = urlsplit(host.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(request)


def test_a_client_that_leaves_does_no_harm(host: Running) -> None:
    """In the middle of its body, or after it: the repetition is stored once, and its receivers run.

    A server may drop the response, and with it the work after the response: then the next requests do that work.
    """
    order = OrderDocumentFactory()
    message = notification(order=order)
    body = wire.body_of(message)
    request = request_bytes(f"{host.host.prefix}/checkout/webhook/", body, wire.signature(body))
    send_and_leave(host, request[:-100])
    send_and_leave(host, request)
    assert host.deliver(message).status == 200

    def done(stored: Any) -> bool:
        states = [each["state"] for each in stored["notifications"] if each["object_id"] == order["id"]]
        return states == ["applied"] and set(stored["runs"]) == {"done"}

    host.await_stored(lambda stored: done(stored) or host.deliver(message).status != 200)


def test_a_body_that_cannot_be_read_is_a_bad_request(host: Running) -> None:
    """A chunk with a size that is no number; nothing raises."""
    answer = host.post(
        b"zz\r\n{}\r\n0\r\n\r\n", "Signature x", length=None, headers={"Transfer-Encoding": "chunked"}
    )
    assert answer.status == 400
