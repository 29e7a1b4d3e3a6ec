"""A merchant's webhook receiver for the tests: stores what arrives and responds as configured."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request as it came over the socket."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The body as JSON, numbers exact."""
        document: dict[str, Any] = json.loads(self.body, parse_float=Decimal)
        return document

    def is_signed_with(self, secret_key: str) -> bool:
        """Whether the Authorization header is the hash of body and secret (AUT-04)."""
        expected = hashlib.sha256(self.body + secret_key.encode()).hexdigest()
        return self.headers.get("Authorization") == f"Signature {expected}"


class Receiver:
    """A server on the loopback while its `with` block runs.

    Attributes:
        received: every request so far.
        answers: statuses of the next responses; 200 when there is none left.
        location: `Location` header of redirects.
        meanwhile: called before each response, for events while the service waits.
        body: body of the responses.
        promised: `Content-Length` of the responses, when it is not the body's.
    """

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answers: list[int] = []
        self.location = ""
        self.body = b""
        self.promised = 0
        self.meanwhile: Callable[[], None] = lambda: None
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def _take(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                receiver.received.append(
                    Received(
                        method=self.command,
                        path=self.path,
                        headers=dict(self.headers.items()),
                        body=self.rfile.read(length),
                    )
                )
                receiver.meanwhile()
                status = receiver.answers.pop(0) if receiver.answers else 200
                self.send_response(status)
                if receiver.location and 300 <= status < 400:
                    self.send_header("Location", receiver.location)
                self.send_header("Content-Length", str(receiver.promised or len(receiver.body)))
                self.end_headers()
                self.wfile.write(receiver.body)

            do_POST = do_GET = _take  # noqa: N815 -- the names that the standard library asks for

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/webhook/"

    @property
    def events(self) -> list[str]:
        """The events of everything received, in the order of arrival."""
        return [each.document["event"] for each in self.received]

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
