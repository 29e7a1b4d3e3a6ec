"""Steps that are run, timed and printed, one line each."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TextIO, TypeVar

Value = TypeVar("Value")
PATIENCE = 20.0
"""Seconds within which what is awaited must happen."""


class Failed(Exception):
    """A check has failed; the text says which."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """How a step went. ``detail`` is what was seen, or why it failed."""

    name: str
    ok: bool
    seconds: float
    detail: str


@dataclass(kw_only=True)
class Report:
    """The steps so far; each is printed to ``stream`` as it ends."""

    stream: TextIO = field(default_factory=lambda: sys.stdout)
    steps: list[Step] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every step went well."""
        return all(step.ok for step in self.steps)

    def run(self, name: str, action: Callable[[], str]) -> None:
        """Run a step, which returns what it saw; an exception is its failure and does not stop the next step."""
        started_at = time.monotonic()
        try:
            ok, detail = True, action()
        except Exception as error:  # noqa: BLE001 -- printed below, and the other journeys go on
            ok, detail = False, f"{type(error).__name__}: {error}"
        self.add(Step(name=name, ok=ok, seconds=round(time.monotonic() - started_at, 3), detail=detail))

    def add(self, step: Step) -> None:
        """Add a step and print it."""
        self.steps.append(step)
        word = "ok" if step.ok else "FAILED"
        print(f"{word:7}{step.seconds:6.2f} s  {step.name}: {step.detail}", file=self.stream, flush=True)

    def as_json(self) -> str:
        """Return ``{"ok", "steps"}``."""
        return json.dumps({"ok": self.ok, "steps": [asdict(step) for step in self.steps]})


def await_value(what: str, look: Callable[[], Value | None]) -> Value:
    """Return the first true value of `look`. Raises Failed when that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.1)


def expect(what: str, seen: object, expected: object) -> None:
    """Raise Failed unless the two are equal."""
    if seen != expected:
        raise Failed(f"{what} is {seen!r}, not {expected!r}")
