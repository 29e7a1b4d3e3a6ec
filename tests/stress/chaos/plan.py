"""How much a trial does: everything is in proportion to its minutes."""

from __future__ import annotations

from dataclasses import dataclass

FULL_MINUTES = 10.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a trial of so many minutes does."""

    minutes: float
    seed: int
    kills: int
    database_crashes: int
    broker_kills: int
    failovers: int
    repeats: int
    acknowledged: int
    """What the pace aims at. A trial shorter than the full one goes at half its pace, and may fall behind."""

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
            acknowledged=round((20_000 if minutes >= FULL_MINUTES else 10_000) * share),
        )

    @property
    def is_full(self) -> bool:
        """Whether the figures of the full trial have to be reached."""
        return self.minutes >= FULL_MINUTES

    @property
    def seconds(self) -> float:
        """How long notifications are sent."""
        return self.minutes * 60
