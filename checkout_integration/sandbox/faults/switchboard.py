"""The fault switchboard: what goes wrong on demand, seeded and therefore repeatable.

Every place of the sandbox where something can go wrong calls `draw` and acts on the result; this module only decides.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any

from checkout_integration.sandbox.faults.catalogue import KINDS, STATUSES, SUBJECTS, FaultKind, FaultPoint
from checkout_integration.sandbox.wire.addresses import is_loopback


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One rule of the switchboard; `KINDS` says which settings a kind uses.

    Attributes:
        point, kind: where and what.
        subject: `tokens`, `order`, `transactions`, `orders` for the API, an event for notifications; "" is any. All of
            them are in `SUBJECTS`.
        skip: how many matching requests pass before it strikes.
        times: how often it strikes; None is without end.
        probability: chance to strike, drawn from the seed.
        status: HTTP status of `server_error`, `redirect` and `other_success`.
        seconds: of waits, and of Retry-After.
        number: of rows.
        target: where `redirect` leads; on the loopback.
    """

    point: FaultPoint
    kind: FaultKind
    subject: str = ""
    skip: int = 0
    times: int | None = None
    probability: float = 1.0
    status: int = 500
    seconds: float = 0.0
    number: int = 0
    target: str = ""

    def __post_init__(self) -> None:
        """Refuse a rule that could never strike, or that would lead to another machine."""
        if self.point not in set(FaultPoint):
            raise ValueError(f"point must be one of {', '.join(FaultPoint)}")
        object.__setattr__(self, "point", FaultPoint(self.point))
        if self.kind not in {str(kind) for kind in KINDS[self.point]}:
            raise ValueError(f"kind must be one of {', '.join(KINDS[self.point])}")
        object.__setattr__(self, "kind", FaultKind(self.kind))
        self._check_numbers()
        if self.subject and self.subject not in SUBJECTS[self.point]:
            raise ValueError(f"subject must be one of {', '.join(SUBJECTS[self.point])}")
        if self.kind in STATUSES and self.status not in STATUSES[self.kind]:
            raise ValueError(f"{self.kind} answers one of {_words(STATUSES[self.kind])}")
        if self.kind is FaultKind.REDIRECT and not is_loopback(self.target):
            raise ValueError("a redirect has a target on the loopback")

    def _check_numbers(self) -> None:
        """Refuse other types: the control API passes on any JSON, with Decimals for fractions."""
        for name in ("seconds", "probability"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float, Decimal))
                or not 0 <= value < 1e9
            ):
                raise ValueError(f"{name} must be a number, not below zero")
            object.__setattr__(self, name, float(value))
        whole = (self.skip, self.times or 0, self.status, self.number)
        if any(isinstance(value, bool) or not isinstance(value, int) for value in whole):
            raise ValueError("skip, times, status and number must be whole numbers")
        if self.skip < 0 or (self.times is not None and self.times < 0):
            raise ValueError("skip and times must not be below zero")
        if not all(isinstance(getattr(self, name), str) for name in ("subject", "target")):
            raise ValueError("subject and target must be texts")


def _words(statuses: Sequence[int]) -> str:
    if isinstance(statuses, range):
        return f"{statuses.start} to {statuses.stop - 1}"
    return ", ".join(map(str, statuses))


@dataclass(frozen=True, kw_only=True, slots=True)
class Strike:
    """A fault that strikes for the `number`th time, with a `chance` of its own for random choices."""

    fault: Fault
    number: int
    chance: random.Random


class FaultSwitchboard:
    """The rules, and which of them strikes; thread-safe."""

    def __init__(self) -> None:
        """Start without faults."""
        self._lock = threading.Lock()
        self._listeners: list[Callable[[list[Fault]], None]] = []
        self.set([])

    def subscribe(self, listener: Callable[[list[Fault]], None]) -> None:
        """Call `listener` with the new rules each time they are replaced."""
        self._listeners.append(listener)

    def set(self, faults: list[Fault], *, seed: int = 0) -> None:
        """Replace all rules and start the random sequence again from `seed`."""
        # Listeners first: a rule must not strike before its listener has prepared for it.
        for listener in self._listeners:
            listener(faults)
        with self._lock:
            self._seed = seed
            self._random = random.Random(seed)  # noqa: S311 -- repeatable on purpose, nothing secret
            self._faults = list(faults)
            self._seen = [0] * len(faults)
            self._struck = [0] * len(faults)

    def add(self, fault: Fault) -> None:
        """Add a rule after the others, which go on as they are."""
        with self._lock:
            faults = [*self._faults, fault]
        for listener in self._listeners:
            listener(faults)
        with self._lock:
            self._faults.append(fault)
            self._seen.append(0)
            self._struck.append(0)

    def draw(self, point: FaultPoint, subject: str) -> Strike | None:
        """Return the first rule that strikes this request, or None."""
        with self._lock:
            for index, fault in enumerate(self._faults):
                if fault.point == point and fault.subject in {"", subject} and self._strikes(index, fault):
                    chance = random.Random(self._random.random())  # noqa: S311 -- as above
                    return Strike(fault=fault, number=self._struck[index], chance=chance)
        return None

    def _strikes(self, index: int, fault: Fault) -> bool:
        self._seen[index] += 1
        spent = fault.times is not None and self._struck[index] >= fault.times
        if spent or self._seen[index] <= fault.skip or self._random.random() >= fault.probability:
            return False
        self._struck[index] += 1
        return True

    def document(self) -> dict[str, Any]:
        """Return seed and rules, each with how many requests it saw and how many it struck."""
        with self._lock:
            rules = [
                asdict(fault) | {"seen": seen, "struck": struck}
                for fault, seen, struck in zip(self._faults, self._seen, self._struck, strict=True)
            ]
            return {"seed": self._seed, "rules": rules}

    def set_from(self, document: Mapping[str, Any]) -> None:
        """Replace all rules by those of a control request.

        Raises:
            ValueError: when a rule is not one.
        """
        seed, rules = document.get("seed") or 0, document.get("rules") or []
        if set(document) - {"seed", "rules"} or not isinstance(seed, int) or not isinstance(rules, list):
            raise ValueError("rules, an array, and seed, a whole number, are required")
        self.set([read_fault(rule) for rule in rules], seed=seed)


def read_fault(rule: Any) -> Fault:
    """Return the rule of a control request.

    Raises:
        ValueError: it is none.
    """
    try:
        return Fault(**rule)
    except TypeError as error:
        known = ", ".join(setting.name for setting in fields(Fault))
        raise ValueError(f"a rule has point, kind and what else it needs of {known}") from error
