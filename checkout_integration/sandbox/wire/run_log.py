"""The run log: requests in both directions with their responses, for the operator.

Of the headers only the version is stored, since others contain secrets. Bodies are the sandbox's own test data.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

_LONGEST_BODY: Final = 16_384
_LONGEST_VERSION: Final = 32
_ENTRIES: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One exchange.

    Attributes:
        number: counts up over the life of the process.
        at: virtual time, RFC 3339.
        direction: `in` for a request to the sandbox, `out` for a request to the merchant.
        status: HTTP status of the response; 0 when there was none.
        note: a fault, a connection error, the event.
        version: the version header of a request, "" when it had none (VER-02).
    """

    number: int
    at: str
    direction: str
    method: str
    url: str
    status: int
    request: str
    answer: str
    note: str
    version: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One exchange as watchers see it: as in `Entry`, with both bodies complete."""

    direction: str
    method: str
    url: str
    status: int
    request: bytes
    answer: bytes
    note: str = ""

    @property
    def line(self) -> str:
        """The exchange in one line for a terminal, without its bodies."""
        way = "->" if self.direction == "out" else "<-"
        return " ".join(
            filter(None, (way, self.method, self.url, str(self.status or "no response"), self.note))
        )


class RunLog:
    """The last exchanges, oldest first; thread-safe and bounded."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=_ENTRIES)
        self._count = 0
        self._watchers: list[Callable[[Exchange], None]] = []

    def subscribe(self, watcher: Callable[[Exchange], None]) -> None:
        """Call `watcher` with every exchange from now on, bodies complete, in the thread that records it."""
        self._watchers.append(watcher)

    def record(
        self,
        *,
        at: str,
        direction: str,
        method: str,
        url: str,
        status: int,
        request: bytes = b"",
        answer: bytes = b"",
        note: str = "",
        version: str = "",
    ) -> None:
        """Add one exchange; long bodies are cut."""
        for watcher in self._watchers:
            watcher(
                Exchange(
                    direction=direction,
                    method=method,
                    url=url,
                    status=status,
                    request=request,
                    answer=answer,
                    note=note,
                )
            )
        with self._lock:
            self._count += 1
            self._entries.append(
                Entry(
                    number=self._count,
                    at=at,
                    direction=direction,
                    method=method,
                    url=url,
                    status=status,
                    request=request[:_LONGEST_BODY].decode("utf-8", "replace"),
                    answer=answer[:_LONGEST_BODY].decode("utf-8", "replace"),
                    note=note,
                    version=version[:_LONGEST_VERSION],
                )
            )

    def entries(self) -> list[Entry]:
        """Return the stored exchanges, oldest first."""
        with self._lock:
            return list(self._entries)

    def documents(self) -> list[dict[str, Any]]:
        """Return the stored exchanges as plain values."""
        return [asdict(entry) for entry in self.entries()]
