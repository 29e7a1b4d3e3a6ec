"""The run log: requests in both directions with their responses, for the operator.

Of the headers only the version is stored, since others contain secrets. Bodies are the sandbox's own test data.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

_LONGEST_BODY: Final = 16_384
_LONGEST_VERSION: Final = 32
_ENTRIES: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One exchange.

    Attributes:
        number: counts up over the life of the process.
        at: virtual time, RFC 3339.
        direction: `in` for a request to the sandbox, `out` for a request to the merchant.
        status: HTTP status of the response; 0 when there was none.
        request, answer: the bodies; watchers see them whole, the log keeps their beginning.
        note: a fault, a connection error, the event.
        version: the version header of a request, "" when it had none (VER-02).
    """

    number: int = 0
    at: str = ""
    direction: str
    method: str
    url: str
    status: int
    request: bytes = b""
    answer: bytes = b""
    note: str = ""
    version: str = ""

    @property
    def line(self) -> str:
        """The exchange in one line for a terminal, without its bodies."""
        way = "->" if self.direction == "out" else "<-"
        return " ".join(
            filter(None, (way, self.method, self.url, str(self.status or "no response"), self.note))
        )

    def document(self) -> dict[str, Any]:
        """Return its form in the control API."""
        bodies = {name: getattr(self, name).decode("utf-8", "replace") for name in ("request", "answer")}
        return asdict(self) | bodies


class RunLog:
    """The last exchanges, oldest first; thread-safe and bounded."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._entries: deque[Exchange] = deque(maxlen=_ENTRIES)
        self._count = 0
        self._watchers: list[Callable[[Exchange], None]] = []

    def subscribe(self, watcher: Callable[[Exchange], None]) -> None:
        """Call `watcher` with every exchange from now on, bodies complete, in the thread that records it."""
        self._watchers.append(watcher)

    def record(self, exchange: Exchange) -> None:
        """Add one exchange; long bodies are cut."""
        for watcher in self._watchers:
            watcher(exchange)
        with self._lock:
            self._count += 1
            entry = replace(
                exchange,
                number=self._count,
                request=exchange.request[:_LONGEST_BODY],
                answer=exchange.answer[:_LONGEST_BODY],
                version=exchange.version[:_LONGEST_VERSION],
            )
            self._entries.append(entry)

    def entries(self) -> list[Exchange]:
        """Return the stored exchanges, oldest first."""
        with self._lock:
            return list(self._entries)
