"""A message to a webhook, as bytes for a socket and as a request within this process."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Message(NamedTuple):
    """A POST: where to, the header that carries the signature, and the signed bytes."""

    path: str
    header: str
    signature: str
    body: bytes

    def as_http(self) -> bytes:
        """Return the request as it travels; the connection stays open."""
        head = [
            f"POST {self.path} HTTP/1.1",
            "Host: 127.0.0.1",
            "Content-Type: application/json",
            f"Content-Length: {len(self.body)}",
            f"{self.header}: {self.signature}",
        ]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + self.body


def handle(application: Callable[..., Iterable[bytes]], message: Message) -> str:
    """Let a WSGI application of this process answer, through all middleware and until it has closed; return the status."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": message.path,
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(message.body)),
        f"HTTP_{message.header.upper().replace('-', '_')}": message.signature,
        "wsgi.input": io.BytesIO(message.body),
        "wsgi.errors": io.StringIO(),
        "wsgi.url_scheme": "http",
        "wsgi.version": (1, 0),
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    statuses: list[str] = []
    response = application(environ, lambda status, headers, exc_info=None: statuses.append(status))
    for _ in response:
        pass
    response.close()  # type: ignore[attr-defined]  # Django's responses have it: receivers may run there
    return statuses[0][:3]
