"""Threads in place of processes: each has a database connection of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections

PATIENCE = 60.0
"""Seconds after which a test gives up waiting for an event."""


class Gate:
    """An effect that waits in its receiver until the gate is opened, and counts runs inside and runs that passed."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self._opened = threading.Event()
        self._changed = threading.Condition()

    def __call__(self, **arguments: Any) -> None:
        """Enters, and waits."""
        with self._changed:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self._changed.notify_all()
        assert self._opened.wait(PATIENCE)
        with self._changed:
            self.inside -= 1

    def await_inside(self, count: int) -> None:
        """Returns when so many are inside."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.inside >= count, PATIENCE)

    def open(self) -> None:
        """Lets all through, from now on."""
        self._opened.set()


def await_true(holds: Callable[[], bool]) -> None:
    """Return as soon as it is true."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


@contextmanager
def at_work(count: int, work: Callable[[], object]) -> Iterator[None]:
    """Run the work in so many threads during the block and join them; raise the first of their errors."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # raised in the test below
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
