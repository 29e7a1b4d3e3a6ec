"""How much a trial does: everything is in proportion to its minutes."""

from __future__ import annotations

from dataclasses import dataclass

FULL_MINUTES = 10.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The least that a trial of so many minutes has to have done."""

    minutes: float
    seed: int
    kills: int
    database_crashes: int
    broker_kills: int
    failovers: int
    repeats: int
    acknowledged: int

    @classmethod
    def of(cls, minutes: float, seed: int) -> Plan:
        """Return the plan: ten minutes are the full trial."""
        share = minutes / FULL_MINUTES
        return cls(
            minutes=minutes,
            seed=seed,
            kills=max(1, round(300 * share)),
            database_crashes=max(1, round(10 * share)),
            broker_kills=max(1, round(5 * share)),
            failovers=max(1, round(2 * share)),
            repeats=max(1, min(20, round(20 * share))),
            acknowledged=round(20_000 * share),
        )

    @property
    def seconds(self) -> float:
        """How long notifications are sent."""
        return self.minutes * 60
