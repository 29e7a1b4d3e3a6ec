"""The goals, and the arithmetic that compares rounds with them.

A round gives each measurement's figures; a goal compares two of them in the same round, so that a machine that is busy for a
while slows both. The median of the rounds' ratios is what is claimed.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

WORDS: Final = ("ingest", "chain", "receivers", "reading")

BARE: Final = "bare view"
FORGED: Final = "forgeries, refused"
INSERT: Final = "verify + one ORM INSERT"
PEER: Final = "dj-stripe, one handler"
ACCEPT: Final = "accept"
HALF: Final = "accept, half of its highest load"
DEFAULT: Final = "default mode, one receiver"
CHAIN: Final = "whole chain, one receiver"
INSERT_CPU: Final = "in process: verify + one ORM INSERT"
PEER_CPU: Final = "in process: dj-stripe, one handler"
ACCEPT_CPU: Final = "in process: accept"
APPLY_1: Final = "in process: apply one at a time"
APPLY_100: Final = "in process: apply in batches of 100"
APPLY_500: Final = "in process: apply in batches of 500"
RUN_1: Final = "in process: run a receiver, one at a time"
RUN_MANY: Final = "in process: run a receiver, in batches"
READING: Final = "slowest kinds of JSON"

MEASURED: Final[Mapping[str, tuple[str, ...]]] = {
    "ingest": (
        *(BARE, FORGED, INSERT, PEER, ACCEPT, HALF),
        *(INSERT_CPU, PEER_CPU, ACCEPT_CPU, APPLY_1, APPLY_100, APPLY_500),
    ),
    "chain": (PEER, CHAIN, DEFAULT),
    "receivers": (INSERT_CPU, RUN_1, RUN_MANY),
    "reading": (READING,),
}
"""The measurements of each word; what several words need is measured once."""

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


def judge(rounds: Sequence[Round], words: Sequence[str] = WORDS) -> list[Outcome]:
    """Return the outcome of every goal, also of those whose word was not asked for."""
    return [
        Outcome(
            goal=goal,
            ratios=tuple(goal.ratios(rounds)) if goal.word in words else (),
            also=tuple(goal.ratios(rounds, goal.also)) if goal.also and goal.word in words else (),
        )
        for goal in GOALS
    ]


def median_of(rounds: Sequence[Round], measurement: str, name: str) -> float | None:
    """Return the median of a figure, None where no round measured it."""
    values = [value for figures in rounds if (value := Figure(measurement, name).of(figures)) is not None]
    return statistics.median(values) if values else None


GOALS: Final = (
    Goal(
        word="ingest",
        title="accept, requests/s beside dj-stripe",
        figure=Figure(ACCEPT, "rate"),
        beside=Figure(PEER, "rate"),
        must=12,
        ambition=15,
        at_least=True,
    ),
    Goal(
        word="ingest",
        title="accept, requests/s beside verify + one ORM INSERT",
        figure=Figure(ACCEPT, "rate"),
        beside=Figure(INSERT, "rate"),
        must=0.9,
        ambition=1.05,
        at_least=True,
    ),
    Goal(
        word="ingest",
        title="accept at half of its highest load, p99 beside its median",
        figure=Figure(HALF, "p99"),
        beside=Figure(HALF, "p50"),
        must=3,
    ),
    Goal(
        word="ingest",
        title="apply in batches of 100, first success, CPU beside that INSERT's",
        figure=Figure(APPLY_100, "python"),
        beside=Figure(INSERT_CPU, "python"),
        must=3,
        ambition=2,
        also="total",
    ),
    Goal(
        word="ingest",
        title="apply one at a time, CPU beside dj-stripe's",
        figure=Figure(APPLY_1, "python"),
        beside=Figure(PEER_CPU, "python"),
        must=1 / 3,
        ambition=1 / 4,
        also="total",
    ),
    Goal(
        word="ingest",
        title="forgeries refused, requests/s beside a bare view",
        figure=Figure(FORGED, "rate"),
        beside=Figure(BARE, "rate"),
        must=0.6,
        at_least=True,
    ),
    Goal(
        word="receivers",
        title="run one no-op receiver, in batches, CPU beside that INSERT's",
        figure=Figure(RUN_MANY, "python"),
        beside=Figure(INSERT_CPU, "python"),
        must=2.5,
        ambition=1.5,
        also="total",
    ),
    Goal(
        word="receivers",
        title="run one no-op receiver, one at a time, CPU beside that INSERT's",
        figure=Figure(RUN_1, "python"),
        beside=Figure(INSERT_CPU, "python"),
        must=5,
        ambition=3,
        also="total",
    ),
    Goal(
        word="chain",
        title="accept, apply and one receiver, all processes' CPU beside dj-stripe's",
        figure=Figure(CHAIN, "total"),
        beside=Figure(PEER, "total"),
        must=1 / 4,
        ambition=1 / 6,
    ),
    Goal(
        word="chain",
        title="default mode, one payment with one receiver, CPU beside dj-stripe's",
        figure=Figure(DEFAULT, "python"),
        beside=Figure(PEER, "python"),
        must=1 / 2,
        ambition=1 / 3,
        also="total",
    ),
    Goal(
        word="chain",
        title="default mode, payments/s beside dj-stripe",
        figure=Figure(DEFAULT, "rate"),
        beside=Figure(PEER, "rate"),
        must=1.8,
        ambition=2.5,
        at_least=True,
    ),
    Goal(
        word="chain",
        title="one worker, payments/s beside what two web workers accept",
        figure=Figure(CHAIN, "worker rate"),
        beside=Figure(CHAIN, "accept rate"),
        must=0.3,
        ambition=0.5,
        at_least=True,
    ),
    Goal(
        word="reading",
        title="milliseconds for 100 kB of the slowest kind of JSON",
        figure=Figure(READING, "milliseconds"),
        beside=None,
        must=50,
    ),
    Goal(
        word="reading",
        title="time for four times the size, beside the time for the size",
        figure=Figure(READING, "growth"),
        beside=None,
        must=6,
    ),
)
