"""The line of progress of a long command, on a terminal only."""

from __future__ import annotations

import time
from typing import Final

from django.core.management.base import OutputWrapper

WIDTH: Final = 78


class ProgressLine:
    """A line that is written anew: how many are done, how many each second, and the time that is left."""

    def __init__(self, stream: OutputWrapper, unit: str) -> None:
        self._stream, self._unit = stream, unit
        self._begun, self._written = time.monotonic(), False

    def show(self, name: str, done: int, expected: int = 0) -> None:
        """Write the line; ``expected`` is how many there are in all, 0 if that is not known."""
        if not self._stream.isatty():
            return
        rate = done / max(time.monotonic() - self._begun, 0.001)
        left = max(expected - done, 0) / max(rate, 0.001)
        about = f", about {_duration(left)} left" if left else ""
        line = f"{name}: {done} {self._unit}, {rate:.0f} {self._unit}/s{about}"
        self._stream.write(f"\r{line:<{WIDTH}}", ending="")
        self._written = True

    def end(self) -> None:
        """Clear the line."""
        if self._written:
            self._stream.write(f"\r{'':<{WIDTH}}\r", ending="")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
