"""The arithmetic that compares rounds with goals.

A round gives each measurement's figures; a goal compares two of them in the same round, so that a machine that is busy for a
while slows both. The median of the rounds' ratios is what is claimed.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Figures = Mapping[str, float]
Round = Mapping[str, Figures]


@dataclass(frozen=True)
class Figure:
    """A figure of a measurement, such as `rate`, `p99`, or `python` for microseconds of Python."""

    measurement: str
    name: str

    def of(self, figures: Round) -> float | None:
        """Return it as one round measured it, None where it did not."""
        return figures.get(self.measurement, {}).get(self.name)


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A ratio that must be reached, and one that we would like to reach.

    Without `beside` the figure itself is judged. `also` is a second figure of the same two measurements whose ratio is shown
    and not judged: processor time with the database's.
    """

    word: str
    title: str
    figure: Figure
    beside: Figure | None
    must: float
    ambition: float | None = None
    at_least: bool = False
    also: str = ""

    def ratios(self, rounds: Sequence[Round], name: str = "") -> list[float]:
        """Return the ratio of each round that measured both sides, of the figure `name` where one is given."""
        sides = [Figure(side.measurement, name or side.name) for side in (self.figure, self.beside) if side]
        values = [[side.of(figures) for side in sides] for figures in rounds]
        measured = [[value for value in row if value is not None] for row in values]
        complete = [row for row in measured if len(row) == len(sides) and (len(row) == 1 or row[1] > 0)]
        return [row[0] / row[1] if len(row) == 2 else row[0] for row in complete]

    def reaches(self, ratio: float, bound: float) -> bool:
        """Tell whether a ratio is as good as this bound."""
        return ratio >= bound if self.at_least else ratio <= bound


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a goal: the ratios of the rounds, none where it was not measured."""

    goal: Goal
    ratios: tuple[float, ...] = ()
    also: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """The ratio that is claimed."""
        return statistics.median(self.ratios)

    @property
    def verdict(self) -> str:
        """One of `not measured`, `MISSED`, `met`, `ambition met`."""
        if not self.ratios:
            return "not measured"
        if not self.goal.reaches(self.median, self.goal.must):
            return "MISSED"
        reached = self.goal.ambition is not None and self.goal.reaches(self.median, self.goal.ambition)
        return "ambition met" if reached else "met"


def median_of(rounds: Sequence[Round], measurement: str, name: str) -> float | None:
    """Return the median of a figure, None where no round measured it."""
    values = [value for figures in rounds if (value := Figure(measurement, name).of(figures)) is not None]
    return statistics.median(values) if values else None
