"""Virtual time: it can be moved forward, so that 48 hours of retries take no real time, and back again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9000, 1, 1, tzinfo=UTC)


class VirtualClock:
    """A clock that runs with real time, or stands still, and that can be advanced and turned back; thread-safe."""

    def __init__(self, start: datetime | None = None, *, running: bool = True) -> None:
        """Start at `start` (aware; now when None); a clock that is not `running` moves by hand only."""
        self._lock = threading.Lock()
        self._anchor = start if start is not None else datetime.now(UTC)
        self._anchor_real = time.monotonic()
        self._running = running
        self._listeners: list[Callable[[], None]] = []

    @property
    def running(self) -> bool:
        """Whether real time moves this clock."""
        return self._running

    def now(self) -> datetime:
        """Return the present virtual time, aware, in UTC."""
        with self._lock:
            return self._now()

    def _now(self) -> datetime:
        if not self._running:
            return self._anchor
        return self._anchor + timedelta(seconds=time.monotonic() - self._anchor_real)

    def advance(self, seconds: float) -> datetime:
        """Move the clock forward, wake the threads that wait for a time, and return the new time.

        Raises:
            ValueError: the new time is out of range.
        """
        return self._move(max(0.0, seconds))

    def turn_back(self, seconds: float) -> datetime:
        """Move the clock back, and return the new time; `Sandbox.turn_back` moves waiting notifications too.

        Raises:
            ValueError: the new time is out of range.
        """
        return self._move(-max(0.0, seconds))

    def _move(self, seconds: float) -> datetime:
        with self._lock:
            now = self._now()
            if seconds > (_LAST - now).total_seconds():
                raise ValueError(f"the clock ends with the year {_LAST.year - 1}")
            if -seconds > (now - _FIRST).total_seconds():
                raise ValueError(f"the clock begins with the year {_FIRST.year}")
            self._set(now + timedelta(seconds=seconds))
        self._tell()
        return self.now()

    def ahead(self) -> timedelta:
        """Return how far the clock is ahead of real time; negative when it is behind."""
        return self.now() - datetime.now(UTC)

    def set_running(self, running: bool) -> None:
        """Let the clock run with real time, or stop it where it stands."""
        with self._lock:
            self._set(self._now())
            self._running = running
        self._tell()

    def restore(self, moment: datetime, *, running: bool) -> None:
        """Take over the time of a stored state, unless this clock is already later."""
        with self._lock:
            self._set(max(moment, self._now()))
            self._running = running

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change by hand: an advance, a turn back, a stop or a start."""
        self._listeners.append(listener)

    def _set(self, moment: datetime) -> None:
        self._anchor = moment
        self._anchor_real = time.monotonic()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
