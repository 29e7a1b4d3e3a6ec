"""What a run says: a table of figures and a table of goals, as text and as JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import chain

from benchmarks.options import Options
from benchmarks.ratios import Figure, Outcome, Round

COLUMNS = {
    "rate": "each second",
    "p50": "p50 ms",
    "p99": "p99 ms",
    "python": "Python us",
    "database": "database us",
}
OTHERS = {
    "accept rate": "accepted each second",
    "worker rate": "applied and run each second by one worker",
    "web": "us of the web workers",
    "worker": "us of the worker",
    "left": "left for a later request",
    "milliseconds": "ms for 100 kB",
    "growth": "times as long for 4 times the size",
    "bytes": "bytes in all tables and indexes",
    "applied evenly": "of the first quarter's rate of applying in the last",
    "run evenly": "of the first quarter's rate of receivers in the last",
    "status": "ms for the slowest status",
    "median status": "ms for a status, the median",
    "late statuses": "of 1,000 statuses took over 50 ms",
    "bare statement": "ms for the slowest bare statement",
    "status works": "ms of the processor for it, at most",
    "others": "ms for others in a request",
    "idle": "ms for a look while only what waits is left",
    "lists": "times as long for the slowest list",
    "filters": "times as long for the slowest filter",
    "searches": "times as long for the slowest search",
    "rows": "times as long for the slowest page of a row",
    "read through": "pages that read a big table through",
    "month": "s for the money of a month",
    "quarter": "s for the money of a quarter",
    "year": "s for the money of a year",
    "health": "ms for health",
    "seconds": "seconds for all of it",
    "orders": "orders",
    "processes": "processes",
    "memory": "MB of memory",
}
PLACES = dict.fromkeys(
    [
        *("p50", "p99", "milliseconds", "growth", "idle"),
        *("status", "median status", "late statuses", "bare statement", "status works"),
    ],
    1,
)
PLACES |= dict.fromkeys(("applied evenly", "run evenly"), 2)
PLACES |= dict.fromkeys(("lists", "filters", "searches", "rows", "month", "quarter", "year"), 2)
"""Decimal places, where there are any."""
PACKAGES = ("django", "dj-stripe", "gunicorn")


@dataclass(frozen=True, kw_only=True)
class Where:
    """What was measured on."""

    database: str
    rounds: int
    cores: int
    load_before: float
    python: str
    packages: dict[str, str]
    quick: bool

    @classmethod
    def here(cls, options: Options, load: float) -> Where:
        """Return this machine, while the database is connected."""
        from django.db import connection

        connection.ensure_connection()
        name = getattr(connection, "display_name", connection.vendor)
        return cls(
            database=f"{name} {'.'.join(map(str, connection.get_database_version()))}",
            rounds=options.rounds,
            cores=os.cpu_count() or 0,
            load_before=load,
            python=platform.python_version(),
            packages={package: found for package in PACKAGES if (found := _version(package))},
            quick=options.quick,
        )

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        return f"{self.database}, {self.rounds} rounds, {self.cores} cores, Python {self.python}, {packages}"


def text(
    where: Where,
    names: Sequence[str],
    rounds: Sequence[Round],
    reasons: Mapping[str, str],
    outcomes: Sequence[Outcome],
) -> str:
    """Return the report as people read it."""
    lines = [str(where)]
    if where.quick:
        lines.append("A quick run: these figures mean nothing.")
    elif where.load_before > 0.5:
        lines.append(
            f"The machine was busy before the run (load {where.load_before:.1f}): take the figures as rough."
        )
    lines += ["", "Medians (min–max) of the rounds", *_table(_figures(names, rounds))]
    lines += list(chain.from_iterable(_others(name, rounds) for name in names))
    lines += [f"not measured: {name}: {reason}" for name, reason in reasons.items()]
    lines += ["", "Goals: medians (min–max) of the ratios of the rounds", *_table(_goals(outcomes))]
    return "\n".join(lines)


def document(
    where: Where, rounds: Sequence[Round], reasons: Mapping[str, str], outcomes: Sequence[Outcome]
) -> str:
    """Return everything that was measured as JSON."""
    content = {
        "where": asdict(where),
        "rounds": rounds,
        "not_measured": reasons,
        "goals": [
            {
                "word": outcome.goal.word,
                "title": outcome.goal.title,
                "at_least": outcome.goal.at_least,
                "must": outcome.goal.must,
                "ambition": outcome.goal.ambition,
                "ratios": outcome.ratios,
                "median": outcome.median if outcome.ratios else None,
                "verdict": outcome.verdict,
            }
            for outcome in outcomes
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def _figures(names: Iterable[str], rounds: Sequence[Round]) -> list[list[str]]:
    rows = [["", *COLUMNS.values()]]
    for name in names:
        cells = [_spread(Figure(name, column), rounds) for column in COLUMNS]
        if any(cells):
            rows.append([name, *cells])
    return rows


def _others(name: str, rounds: Sequence[Round]) -> list[str]:
    measured = {label: _spread(Figure(name, figure), rounds) for figure, label in OTHERS.items()}
    said = [f"{value} {label}" for label, value in measured.items() if value.strip("0 (–)")]
    return [f"{name}: {'; '.join(said)}"] if said else []


def _spread(figure: Figure, rounds: Sequence[Round]) -> str:
    values = [value for each in rounds if (value := figure.of(each)) is not None]
    return _median(values, PLACES.get(figure.name, 0))


def _goals(outcomes: Sequence[Outcome]) -> list[list[str]]:
    rows = [["", "must", "ambition", "measured", "with the database", ""]]
    for outcome in outcomes:
        sign = "≥" if outcome.goal.at_least else "≤"
        bounds = [
            f"{sign} {_bound(each)}" if each else "" for each in (outcome.goal.must, outcome.goal.ambition)
        ]
        ratios = [_median(outcome.ratios, 2), _median(outcome.also, 2)]
        rows.append([f"{outcome.goal.word}: {outcome.goal.title}", *bounds, *ratios, outcome.verdict])
    return rows


def _bound(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _median(values: Sequence[float], places: int) -> str:
    if not values:
        return ""
    shown = [f"{value:,.{places}f}" for value in (statistics.median(values), min(values), max(values))]
    return f"{shown[0]} ({shown[1]}–{shown[2]})" if len(values) > 1 else shown[0]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    first, *others = widths
    return ["  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]).rstrip() for row in rows]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
