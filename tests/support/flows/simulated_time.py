"""Simulated time for the shop and the sandbox together, in which lanes are read when they are due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

import time_machine

from checkout_integration import flows
from checkout_integration.sandbox import Sandbox

HOUR: Final = timedelta(hours=1)


class SimulatedTime:
    """The time of the shop, and of the sandbox if there is one; it runs, and can be moved forward."""

    def __init__(self, shop: time_machine.Traveller, sandbox: Sandbox | None) -> None:
        self._shop, self._sandbox = shop, sandbox

    def advance(self, step: timedelta) -> None:
        """Move both clocks, and read the lanes that are due then."""
        self._shop.shift(step)
        if self._sandbox is not None:
            self._sandbox.clock.advance(step.total_seconds())
        sync_due()

    def hours_until(self, condition: Callable[[], bool], most: int) -> int:
        """Return after how many hours the condition is true; ``most`` if it is not before."""
        for hour in range(1, most):
            self.advance(HOUR)
            if condition():
                return hour
        return most


def sync_due() -> list[str]:
    """Read the lanes that are due, each to its end; return their names."""
    lanes = flows.sync.lanes_due()
    for lane in lanes:
        assert flows.sync.sync_transactions(lane=lane).state == "complete"
    return lanes


@contextmanager
def simulated_time(sandbox: Sandbox | None = None) -> Iterator[SimulatedTime]:
    """Let time be moved."""
    with time_machine.travel(datetime.now(UTC), tick=True) as shop:
        yield SimulatedTime(shop, sandbox)
