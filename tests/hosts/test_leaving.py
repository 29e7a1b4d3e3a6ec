"""Clients that leave before they are answered, or send what cannot be read to its end."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.shop import notification
from tests.hosts.flood import request_bytes
from tests.hosts.running import Running
from tests.views import wire


def send_and_leave(host: Running, request: bytes) -> None:
    """Closes the connection as soon as this is sent."""
    parts = urlsplit(host.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(request)


def test_a_client_that_leaves_does_no_harm(host: Running) -> None:
    """In the middle of its body, or after it: what it sends again is stored once, and its receivers run."""
    order = OrderDocumentFactory()
    told = notification(order=order)
    body = wire.body_of(told)
    request = request_bytes(f"{host.host.prefix}/checkout/webhook/", body, wire.signature(body))
    send_and_leave(host, request[:-100])
    send_and_leave(host, request)
    assert host.deliver(told).status == 200
    stored = host.await_stored(lambda stored: set(stored["runs"]) == {"done"})
    kept = [each["state"] for each in stored["notifications"] if each["object_id"] == order["id"]]
    assert kept == ["applied"]


def test_a_body_that_cannot_be_read_is_a_bad_request(host: Running) -> None:
    """A chunk whose size is no number; nothing raises."""
    answer = host.post(
        b"zz\r\n{}\r\n0\r\n\r\n", "Signature x", length=None, headers={"Transfer-Encoding": "chunked"}
    )
    assert answer.status == 400
