"""One total deadline for a call: its connections, attempts, pauses and responses together.

Socket time-outs alone do not bound a call: each of them starts anew with every byte that drips in, and
urllib3 starts its own anew with every attempt.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from functools import lru_cache
from typing import Any, Self

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, Timeout

_SHORTEST_WAIT = 0.001  # zero would make a socket non-blocking
_current = threading.local()


class Deadline:
    """While entered, cuts the connections that this thread waits on as soon as the time is over."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._watched: socket.socket | None = None

    def remaining(self) -> float:
        """Return seconds that are left, never below zero."""
        return max(0.0, self._end - time.monotonic())

    def is_over(self) -> bool:
        """Return whether the time is over."""
        return self.remaining() <= 0.0

    def watch(self, connection: socket.socket) -> None:
        """Cut this connection, and no other, when the time is over."""
        with self._lock:
            self._watched = connection
        if self.is_over():
            self._cut()

    def _cut(self) -> None:
        with self._lock, suppress(OSError):
            if self._watched is not None:
                # The method of the plain socket: that of a TLS socket also resets the state that the
                # waiting thread is using. Shutting down wakes it; closing would not.
                socket.socket.shutdown(self._watched, socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self._timer.start()
        _current.deadline = self
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        self._timer.join()  # no thread is left behind
        _current.deadline = None
        with self._lock:  # from here on the connection may serve another call
            self._watched = None


class DeadlineTimeout(Timeout):
    """Socket time-outs that shrink with the deadline instead of starting anew with each attempt."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def clone(self) -> DeadlineTimeout:
        """Return a fresh state for the next attempt, with the same deadline."""
        return DeadlineTimeout(self._deadline)

    @property
    def connect_timeout(self) -> float:
        """Seconds left for connecting, and for a response."""
        return max(self._deadline.remaining(), _SHORTEST_WAIT)

    read_timeout = connect_timeout


def watching_pool() -> PoolManager:
    """Return a pool class whose connections report to their thread's deadline when they begin to wait for a response."""
    pool = PoolManager()
    pool.pool_classes_by_scheme = {
        "http": _watching(HTTPConnectionPool),
        "https": _watching(HTTPSConnectionPool),
    }
    return pool


def is_calling() -> bool:
    """Return whether this thread is inside a call with a deadline."""
    return getattr(_current, "deadline", None) is not None


def _watch(connection: Any) -> None:
    deadline: Deadline | None = getattr(_current, "deadline", None)
    # A recorder's connection has no socket, or something that only looks like one.
    if deadline is not None and isinstance(connection.sock, socket.socket):
        deadline.watch(connection.sock)


@lru_cache(maxsize=16)
def _watched(base: type[Any]) -> type[Any]:
    """Return the class of connections that report to their thread's deadline."""

    class Watched(base):  # type: ignore[misc]  # a class of urllib3, or what vcrpy puts in its place
        def getresponse(self, *args: Any, **options: Any) -> Any:
            _watch(self)
            return super().getresponse(*args, **options)

    return Watched


def _watching(pool: type[Any]) -> type[Any]:
    """Return a class of pools whose new connections are of the class that this one has now: recorders replace it there."""

    class Watching(pool):  # type: ignore[misc]
        ConnectionCls = property(lambda self: _watched(pool.ConnectionCls))

    return Watching
