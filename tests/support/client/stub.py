"""A tiny HTTP service on a real socket that sends exactly a test's bytes and records the requests."""

from __future__ import annotations

import gzip
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Answering: TypeAlias = "Callable[[socket.socket, Received], None]"
"""Writes a response to the connection, complete or not."""


@dataclass(slots=True)
class Stub:
    """The service: responses in sequence, the last one for ever."""

    answers: list[bytes | Answering]
    port: int = 0
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def next_answer(self, request: Received) -> bytes | Answering:
        """Record a request and return the next response."""
        self.received.append(request)
        return self.answers[min(len(self.received), len(self.answers)) - 1]


def http(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A complete response; header names with underscores for dashes."""
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def gzipped(body: bytes) -> bytes:
    """A complete response with a gzip body."""
    return http(200, gzip.compress(body), Content_Encoding="gzip")


@contextmanager
def running(*answers: bytes | Answering) -> Iterator[Stub]:
    """The service on a free port of this machine."""
    stub = Stub(list(answers))

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            stub.connections += 1
            while (request := _read(self.rfile)) is not None:
                answer = stub.next_answer(request)
                if callable(answer):
                    answer(self.connection, request)
                    return
                self.connection.sendall(answer)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: object, client_address: object) -> None:
            """The client may leave at any time: that is what many tests are about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        stub.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield stub
        finally:
            stub.stopped.set()
            server.shutdown()
            thread.join()


def _read(stream: object) -> Received | None:
    line = stream.readline().decode("latin-1")  # type: ignore[attr-defined]
    if not line.strip():
        return None
    method, target, _ = line.split(" ", 2)
    headers: dict[str, str] = {}
    while name := stream.readline().decode("latin-1").strip():  # type: ignore[attr-defined]
        key, _, value = name.partition(":")
        headers[key.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", "0")))  # type: ignore[attr-defined]
    return Received(method=method, target=target, headers=headers, body=body)
