"""The pace of calls that several processes share."""

from __future__ import annotations

from typing import Final, Protocol

LONGEST_SHARED_PAUSE: Final = 60
"""Of a Retry-After, for those who share a pace: they have more time than one call."""


class Pace(Protocol):
    """How fast requests may follow each other, where several processes share a limit of the service."""

    def wait(self) -> None:
        """Return when the next request may be sent."""

    def slow_down(self, seconds: float) -> None:
        """Let nobody send a request for so long: the service has responded with 429."""
