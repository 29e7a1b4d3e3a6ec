"""The load: requests over a few connections that stay open, from a process of its own that loads nothing but Python.

`send` starts it; the requests travel through its standard input, ready as bytes, and the figures come back as JSON. Without a
rate each connection sends its next request as soon as its response is there. With one, requests are due at fixed times, and a
response is late from the moment its request was due: a server that stalls cannot hide it.
"""

from __future__ import annotations

import gc
import json
import select
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

CONNECTIONS = 8
PATIENCE = 60.0


@dataclass(frozen=True, kw_only=True)
class Load:
    """What came back: the number of responses by status, and how long they took."""

    seconds: float
    statuses: dict[str, int]
    p50: float
    p99: float


class Failed(Exception):
    """The load could not be sent as it should."""


def send(port: int, requests: Sequence[bytes], rate: float = 0.0) -> Load:
    """Send these requests to a port of this machine from another process; return what came back (latencies in ms)."""
    command = [sys.executable, "-m", "benchmarks.load", str(port), str(rate)]
    framed = b"".join(struct.pack("<I", len(request)) + request for request in requests)
    ended = subprocess.run(command, input=framed, capture_output=True, check=False)
    if ended.returncode:
        raise Failed(ended.stderr.decode()[-2000:])
    return Load(**json.loads(ended.stdout))


def main() -> None:
    """Send what stands in the standard input, and print what came back."""
    port, rate = int(sys.argv[1]), float(sys.argv[2])
    requests = list(_framed(sys.stdin.buffer))
    gc.disable()
    connections = [
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        for _ in range(min(CONNECTIONS, len(requests)))
    ]
    for connection in connections:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    seconds, latencies, statuses = _send_all(connections, requests, rate)
    latencies.sort()
    json.dump(
        {
            "seconds": seconds,
            "statuses": statuses,
            "p50": latencies[len(latencies) // 2] * 1000,
            "p99": latencies[len(latencies) * 99 // 100] * 1000,
        },
        sys.stdout,
    )


def _framed(stream: BinaryIO) -> Iterator[bytes]:
    while size := stream.read(4):
        yield stream.read(*struct.unpack("<I", size))


def _send_all(
    connections: list[socket.socket], requests: list[bytes], rate: float
) -> tuple[float, list[float], Counter[str]]:
    """Return the seconds it took, each response's seconds, and the number of responses by status."""
    latencies: list[float] = []
    statuses: Counter[str] = Counter()
    idle, due_at = list(connections), dict.fromkeys(connections, 0.0)
    sent, begun = 0, time.perf_counter()
    while len(latencies) < len(requests):
        now = time.perf_counter()
        while idle and sent < len(requests) and (not rate or begun + sent / rate <= now):
            connection = idle.pop()
            due_at[connection] = begun + sent / rate if rate else time.perf_counter()
            connection.sendall(requests[sent])
            sent += 1
        waits = bool(rate and idle and sent < len(requests))
        timeout = max(0.0, begun + sent / rate - time.perf_counter()) if waits else PATIENCE
        busy = [connection for connection in connections if connection not in idle]
        readable, _, _ = select.select(busy, [], [], timeout)
        if not readable and not waits:
            raise Failed(f"no response within {PATIENCE:.0f} s")
        for connection in readable:
            statuses[_status(connection)] += 1
            latencies.append(time.perf_counter() - due_at[connection])
            idle.append(connection)
    return time.perf_counter() - begun, latencies, statuses


def _status(connection: socket.socket) -> str:
    """Read one response whole; return its status."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    left = int(head.lower().partition(b"\r\ncontent-length:")[2].split(b"\r\n")[0]) - len(body)
    while left > 0:
        left -= len(_more(connection))
    return head[9:12].decode()


def _more(connection: socket.socket) -> bytes:
    received = connection.recv(65536)
    if not received:
        raise Failed("the server closed a connection")
    return received


if __name__ == "__main__":
    main()
