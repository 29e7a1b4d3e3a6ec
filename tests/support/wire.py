"""Requests and responses as bytes on a socket."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from checkout_integration.protocol import strict_json
from checkout_integration.protocol.signature import Encoding, sign
from checkout_integration.protocol.values import Secret
from checkout_integration.testing.payloads import NotificationDocumentFactory

SECRET = "sandbox_test_secret"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response: status, headers with lower-case names, and every byte after the headers."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> Any:
        """The error object."""
        return strict_json.loads(self.body)


def body_of(document: Mapping[str, Any] | None = None, **changes: Any) -> bytes:
    """A notification's bytes (default: payment.success of an order that is made up)."""
    return strict_json.dumps(document or NotificationDocumentFactory(**changes)).encode()


def signature(body: bytes, secret: str = SECRET, encoding: Encoding = Encoding.HEX) -> str:
    """The value of the Authorization header."""
    return f"Signature {sign(body, Secret(secret), encoding)}"


def post(
    server: str,
    body: bytes = b"",
    *,
    authorization: str | bytes | None = None,
    path: str = "/checkout/webhook/",
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    length: int | None = -1,
    half_close: bool = True,
) -> Answer:
    """Sends one request and reads until the server closes; ``length`` -1 declares the true one, None declares none."""
    lines = [f"{method} {path} HTTP/1.1", "Host: shop.example.com", "Connection: close"]
    lines += ["Content-Type: application/json", "Accept: application/json"]
    if length is not None:
        lines.append(f"Content-Length: {len(body) if length == -1 else length}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    head = "\r\n".join(lines).encode()
    if authorization is not None:
        value = authorization if isinstance(authorization, bytes) else authorization.encode("latin-1")
        head += b"\r\nAuthorization: " + value
    return exchange(server, head + b"\r\n\r\n" + body, half_close=half_close)


def exchange(server: str, request: bytes, *, half_close: bool = True) -> Answer:
    """Sends these bytes, and reads every byte until the server closes.

    ``half_close``: nothing more comes, so a server that waits for it gives up; some take that for a client that left.
    """
    parts = urlsplit(server)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(request)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    pairs = (field.partition(":") for field in fields)
    return Answer(
        status=int(status.split()[1]),
        headers={name.lower(): value.strip() for name, _, value in pairs},
        body=body,
    )
