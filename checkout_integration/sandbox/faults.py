"""The fault switchboard: what goes wrong on demand, seeded and therefore repeatable.

Every place of the sandbox where something can go wrong asks `draw` and acts on the answer; this module only decides.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class FaultPoint(StrEnum):
    """Where a fault strikes."""

    API = "api"
    NOTIFICATION = "notification"


class FaultKind(StrEnum):
    """What goes wrong."""

    TOO_MANY_REQUESTS = "too_many_requests"
    SERVER_ERROR = "server_error"
    SLOW = "slow"
    LOST_AFTER_COMMIT = "lost_after_commit"
    DROP = "drop"
    DUPLICATE = "duplicate"
    BAD_SIGNATURE = "bad_signature"


_KINDS = {
    FaultPoint.API: {
        FaultKind.TOO_MANY_REQUESTS,
        FaultKind.SERVER_ERROR,
        FaultKind.SLOW,
        FaultKind.LOST_AFTER_COMMIT,
    },
    FaultPoint.NOTIFICATION: {FaultKind.DROP, FaultKind.DUPLICATE, FaultKind.BAD_SIGNATURE, FaultKind.SLOW},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One rule of the switchboard.

    Attributes:
        point, kind: where and what.
        subject: `tokens`, `order`, `transactions` for the API, an event for notifications; "" is any.
        skip: how many matching requests pass before it strikes.
        times: how often it strikes; None is without end.
        probability: chance to strike, drawn from the seed.
        status: HTTP status of `server_error`.
        seconds: length of `slow`; `Retry-After` of `too_many_requests`, 0 sends none.
    """

    point: FaultPoint
    kind: FaultKind
    subject: str = ""
    skip: int = 0
    times: int | None = None
    probability: float = 1.0
    status: int = 500
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what could never strike."""
        object.__setattr__(self, "point", FaultPoint(self.point))
        object.__setattr__(self, "kind", FaultKind(self.kind))
        if self.kind not in _KINDS[self.point]:
            raise ValueError(f"{self.kind} is no fault of {self.point}")


class FaultSwitchboard:
    """Holds the rules and decides which of them strikes; thread-safe."""

    def __init__(self) -> None:
        """Start without faults."""
        self._lock = threading.Lock()
        self.set([])

    def set(self, faults: list[Fault], *, seed: int = 0) -> None:
        """Replace all rules and start the random sequence again from `seed`."""
        with self._lock:
            self._seed = seed
            self._random = random.Random(seed)  # noqa: S311 -- repeatable on purpose, nothing secret
            self._faults = list(faults)
            self._seen = [0] * len(faults)
            self._struck = [0] * len(faults)

    def draw(self, point: FaultPoint, subject: str) -> Fault | None:
        """Return the fault that strikes this request, or None."""
        with self._lock:
            for index, fault in enumerate(self._faults):
                if fault.point == point and fault.subject in {"", subject} and self._strikes(index, fault):
                    return fault
        return None

    def _strikes(self, index: int, fault: Fault) -> bool:
        self._seen[index] += 1
        spent = fault.times is not None and self._struck[index] >= fault.times
        if spent or self._seen[index] <= fault.skip or self._random.random() >= fault.probability:
            return False
        self._struck[index] += 1
        return True

    def document(self) -> dict[str, Any]:
        """Return seed and rules, each with how often it struck."""
        with self._lock:
            rules = [
                asdict(fault) | {"struck": struck}
                for fault, struck in zip(self._faults, self._struck, strict=True)
            ]
            return {"seed": self._seed, "rules": rules}

    def set_from(self, document: Mapping[str, Any]) -> None:
        """Replace all rules by those of a control request.

        Raises:
            ValueError: when a rule is not one.
        """
        try:
            faults = [Fault(**rule) for rule in document.get("rules") or []]
            self.set(faults, seed=int(document.get("seed") or 0))
        except TypeError as error:
            raise ValueError("a rule has point, kind and optional settings") from error
