"""Many requests over one connection, as a forger sends them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from tests.stress.hosts.running import Running

FORGED = "Signature " + "0" * 64


def request_bytes(path: str, body: bytes, authorization: str = FORGED) -> bytes:
    """A request that leaves the connection open."""
    head = [
        f"POST {path} HTTP/1.1",
        "Host: shop.example.com",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"Authorization: {authorization}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def flood(host: Running, requests: Iterable[bytes]) -> set[bytes]:
    """Send one after the other and read each response whole; return the statuses."""
    parts = urlsplit(host.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        return {_exchange(connection, request) for request in requests}


def _exchange(connection: socket.socket, request: bytes) -> bytes:
    connection.sendall(request)
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head.split()[1]


def worker_of(host: Running) -> int:
    """Return the process that responds: gunicorn's only child."""
    (child,) = _read(f"/proc/{host.process.pid}/task/{host.process.pid}/children").split()
    return int(child)


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process."""
    return int(_read(f"/proc/{process}/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(process: int) -> float:
    """Time that a process has worked."""
    fields = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:  # noqa: PTH123  # of the kernel's, not of a folder
        return file.read()
