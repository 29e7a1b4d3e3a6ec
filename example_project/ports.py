"""Ports of this machine: is one free, and which one is."""

from __future__ import annotations

import socket
from collections.abc import Iterable


class PortInUse(Exception):
    """Something else listens there; the text says what to do."""


def free_or_raise(*ports: int) -> None:
    """Raise PortInUse for the first of these ports that cannot be listened on."""
    for port in ports:
        with socket.socket() as probe:
            # As servers do: a connection that was closed a moment ago does not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except (OSError, OverflowError) as error:
                raise PortInUse(
                    f"Port {port} cannot be used ({error}). Name another one, for example --port {_free_pair()}."
                ) from None


def free_ports(count: int) -> list[int]:
    """Return so many free ports."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        return [_bound(each) for each in sockets]
    finally:
        _close(sockets)


def _free_pair() -> int:
    """Return a port that is free together with the next one."""
    for port in range(8010, 9000, 10):
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    return free_ports(1)[0]


def _bound(probe: socket.socket) -> int:
    probe.bind(("127.0.0.1", 0))
    return int(probe.getsockname()[1])


def _close(sockets: Iterable[socket.socket]) -> None:
    for each in sockets:
        each.close()
