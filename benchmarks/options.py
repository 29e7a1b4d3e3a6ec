"""The options of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.goals import WORDS

DATABASES = ("postgres", "mariadb", "sqlite")


@dataclass(frozen=True, kw_only=True)
class Options:
    """A run: what to measure, how often, on which database, and what to write."""

    words: tuple[str, ...]
    rounds: int = 7
    database: str = "postgres"
    orders: int | None = None
    quick: bool = False
    must_hold: bool = False
    json: Path | None = None


def parse(arguments: Sequence[str]) -> Options:
    """Return the options; end the process with a message where they make no sense."""
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks",
        description="Measure this app beside dj-stripe, one INSERT through the ORM and a bare view, in alternating rounds.",
    )
    parser.add_argument(
        "words", nargs="+", choices=WORDS, metavar="WORD", help=f"one or more of: {', '.join(WORDS)}"
    )
    parser.add_argument(
        "--rounds", type=int, default=Options.rounds, help="measured rounds (7); one more warms up"
    )
    parser.add_argument("--database", choices=DATABASES, default=Options.database)
    parser.add_argument(
        "--orders",
        type=int,
        metavar="N",
        help="how many orders the longer list of `sync` has (100000), and the large shop of `admin` (1000000)",
    )
    parser.add_argument(
        "--assert", dest="must_hold", action="store_true", help="exit 1 where a goal is missed"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a few requests each: shows that it runs, measures nothing"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure of every round")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.orders is not None and options.orders < 1:
        parser.error("--orders must be at least 1")
    if options.must_hold and options.database != "postgres":
        parser.error("the goals are stated for PostgreSQL: --assert needs --database postgres")
    if options.must_hold and options.quick:
        parser.error("--quick measures nothing: leave out --assert")
    return Options(**{**vars(options), "words": tuple(dict.fromkeys(options.words))})
