"""The measurements by their names, and the goals that compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.ratios import Figure, Goal, Outcome, Round

WORDS: Final = ("ingest", "chain", "receivers", "reading", "size", "backlog", "sync", "admin")

BARE: Final = "bare view"
FORGED: Final = "forgeries, refused"
INSERT: Final = "verify + one ORM INSERT"
PEER: Final = "dj-stripe, one handler"
ACCEPT: Final = "accept"
HALF: Final = "accept, half of its highest load"
BARE_HALF: Final = "bare view, half of its highest load"
INSERT_HALF: Final = "verify + one ORM INSERT, half of its highest load"
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
SIZE: Final = "size of a payment"
BACKLOG: Final = "backlog, drained by two workers"
ADMIN: Final = "admin of a large shop"
PEER_FIRST: Final = "dj-stripe, first sync"
PEER_AGAIN: Final = "dj-stripe, unchanged"
FIRST: Final = "first pass"
AGAIN: Final = "unchanged pass"
CHANGED: Final = "pass with a tenth refunded"
OLD: Final = "first pass, all from before the installation"
COPY: Final = "COPY into a plain table"
MANY_FIRST, MANY_AGAIN, MANY_CHANGED, MANY_COPY = (
    f"{name}, many orders" for name in (FIRST, AGAIN, CHANGED, COPY)
)
PASSES: Final = (FIRST, AGAIN, CHANGED)
PASSES_OF_MANY: Final = (MANY_FIRST, MANY_AGAIN, MANY_CHANGED)

MEASURED: Final[Mapping[str, tuple[str, ...]]] = {
    "ingest": (
        *(BARE, FORGED, INSERT, PEER, ACCEPT, HALF, BARE_HALF, INSERT_HALF),
        *(INSERT_CPU, PEER_CPU, ACCEPT_CPU, APPLY_1, APPLY_100, APPLY_500),
    ),
    "chain": (PEER, ACCEPT, CHAIN, DEFAULT),
    "receivers": (INSERT_CPU, RUN_1, RUN_MANY),
    "reading": (READING,),
    "size": (SIZE,),
    "backlog": (BACKLOG,),
    "admin": (ADMIN,),
    "sync": (PEER_FIRST, PEER_AGAIN, *PASSES, OLD, COPY, *PASSES_OF_MANY, MANY_COPY),
}
"""The measurements of each word; what several words need is measured once."""


def judge(rounds: Sequence[Round], words: Sequence[str] = WORDS) -> list[Outcome]:
    """Return the outcome of every goal, including those that were not measured."""
    return [
        Outcome(
            goal=goal,
            ratios=tuple(goal.ratios(rounds)) if goal.word in words else (),
            also=tuple(goal.ratios(rounds, goal.also)) if goal.also and goal.word in words else (),
        )
        for goal in GOALS
    ]


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
        must=0.85,
        ambition=1,
        at_least=True,
    ),
    Goal(
        word="ingest",
        title="accept at half of its highest load, p99 beside that INSERT's",
        figure=Figure(HALF, "p99"),
        beside=Figure(INSERT_HALF, "p99"),
        must=1.3,
        ambition=1.1,
    ),
    Goal(
        word="ingest",
        title="apply in batches of 100, first success, CPU beside that INSERT's",
        figure=Figure(APPLY_100, "python"),
        beside=Figure(INSERT_CPU, "python"),
        must=3.3,
        ambition=2.5,
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
        ambition=1 / 5,
    ),
    Goal(
        word="chain",
        title="default mode, one receiver, CPU with the database beside dj-stripe's",
        figure=Figure(DEFAULT, "total"),
        beside=Figure(PEER, "total"),
        must=0.65,
        ambition=0.4,
    ),
    Goal(
        word="chain",
        title="default mode, payments/s beside dj-stripe",
        figure=Figure(DEFAULT, "rate"),
        beside=Figure(PEER, "rate"),
        must=1.6,
        ambition=3,
        at_least=True,
    ),
    Goal(
        word="chain",
        title="default mode, p50 of the answer beside accept's",
        figure=Figure(DEFAULT, "p50"),
        beside=Figure(ACCEPT, "p50"),
        must=2,
        ambition=1.3,
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
    Goal(
        word="size",
        title="bytes of a payment of two items, with one receiver",
        figure=Figure(SIZE, "bytes"),
        beside=None,
        must=12_000,
        ambition=10_000,
    ),
    Goal(
        word="backlog",
        title="notifications applied each second, last quarter of a backlog beside its first",
        figure=Figure(BACKLOG, "applied evenly"),
        beside=None,
        must=0.8,
        at_least=True,
    ),
    Goal(
        word="backlog",
        title="receivers run each second, last quarter of a backlog beside its first",
        figure=Figure(BACKLOG, "run evenly"),
        beside=None,
        must=0.8,
        at_least=True,
    ),
    Goal(
        word="backlog",
        title="milliseconds of the status, the slowest while a backlog is drained",
        figure=Figure(BACKLOG, "status"),
        beside=None,
        must=50,
    ),
    Goal(
        word="backlog",
        title="milliseconds that a web process works for others, with a budget of 200",
        figure=Figure(BACKLOG, "others"),
        beside=None,
        must=220,
    ),
    Goal(
        word="sync",
        title="first pass, orders/s beside dj-stripe",
        figure=Figure(FIRST, "rate"),
        beside=Figure(PEER_FIRST, "rate"),
        must=3.5,
        ambition=8,
        at_least=True,
    ),
    Goal(
        word="sync",
        title="unchanged pass, orders/s beside dj-stripe",
        figure=Figure(AGAIN, "rate"),
        beside=Figure(PEER_AGAIN, "rate"),
        must=35,
        ambition=100,
        at_least=True,
    ),
    Goal(
        word="sync",
        title="unchanged pass, orders/s beside the first pass",
        figure=Figure(AGAIN, "rate"),
        beside=Figure(FIRST, "rate"),
        must=10,
        ambition=20,
        at_least=True,
    ),
    *(
        Goal(
            word="sync",
            title=f"{few}, orders/s of many orders beside few",
            figure=Figure(many, "rate"),
            beside=Figure(few, "rate"),
            must=0.8,
            at_least=True,
        )
        for few, many in zip(PASSES, PASSES_OF_MANY, strict=True)
    ),
    *(
        Goal(
            word="sync",
            title=f"megabytes of memory, {name}",
            figure=Figure(name, "memory"),
            beside=None,
            must=120,
        )
        for name in (*PASSES, *PASSES_OF_MANY)
    ),
    *(
        Goal(
            word="admin",
            title=f"admin: {what}, the slowest of a large shop beside the same of 10,000 orders",
            figure=Figure(ADMIN, name),
            beside=None,
            must=1.5,
        )
        for name, what in {
            "lists": "lists",
            "filters": "filtered lists",
            "searches": "searches",
            "rows": "pages of a row",
        }.items()
    ),
    Goal(
        word="admin",
        title="admin: pages that read a big table through",
        figure=Figure(ADMIN, "read through"),
        beside=None,
        must=0,
    ),
    *(
        Goal(
            word="admin",
            title=f"admin: seconds of the page about the money of a {period}, by day",
            figure=Figure(ADMIN, period),
            beside=None,
            must=2,
        )
        for period in ("month", "quarter", "year")
    ),
    Goal(
        word="admin",
        title="admin: milliseconds of health, with 100,000 notifications and 100,000 receiver runs due",
        figure=Figure(ADMIN, "health"),
        beside=None,
        must=50,
    ),
)
