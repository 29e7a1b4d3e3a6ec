"""Ports of this machine: can one be listened on, and which one can."""

from __future__ import annotations

import socket


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
                    f"Port {port} cannot be used ({error}). Name another one, for example --port {free_pair()}."
                ) from None


def free_pair() -> int:
    """Return a free port n for which port n + 1 is free too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
