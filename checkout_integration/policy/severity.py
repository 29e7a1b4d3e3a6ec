"""The levels of a finding of health, and which of them end a command with the exit code 1."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is, from the best to the worst.

    ``ok``: nothing to do; ``unknown``: nothing was seen so far that could show it; ``warning``: somebody should look at it,
    one customer may wait; ``failing``: goods or money of several customers are stopped, or have been stopped for minutes.
    """

    OK = "ok"
    UNKNOWN = "unknown"
    WARNING = "warning"
    FAILING = "failing"

    @property
    def rank(self) -> int:
        """Its place in the sequence: a greater one is worse."""
        return list(Severity).index(self)

    @property
    def level(self) -> int:
        """Its number for monitors: 2 failing, 1 warning, 0 ok, -1 not known yet."""
        return {"unknown": -1, "ok": 0, "warning": 1, "failing": 2}[self.value]

    @property
    def is_urgent(self) -> bool:
        """Whether somebody has to do something."""
        return self in {Severity.WARNING, Severity.FAILING}

    def fails(self, at_least: Severity) -> bool:
        """Return whether a command that looks for this level, or a worse one, ends with the exit code 1."""
        return self.rank >= at_least.rank
