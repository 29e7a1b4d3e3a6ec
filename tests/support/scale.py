"""How much a run tries: a little in every run, all of it in the full run (`CHECKOUT_FULL=1 python3 -m tests --all`).

The everyday run (`python3 -m tests`) tries less: fewer examples of hypothesis, and a sample of long tables of
cases that need a database or a sandbox. `--rest` is what it has left out; on a server it has a sample of long tables too,
outside the folders whose promises are kept by the database. `--all` leaves out nothing.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import pytest

RUN: Final = "CHECKOUT_RUN"
"""The variable by which `python3 -m tests` says what it runs; unset where tests are named."""
EVERYDAY, ALL, REST = "everyday", "all", "rest"
THIS_RUN = os.environ.get(RUN, "")
FULL = os.environ.get("CHECKOUT_FULL", "") not in {"", "0"}
QUICK = THIS_RUN == EVERYDAY
ON_SERVER = os.environ.get("CHECKOUT_TEST_DATABASE", "sqlite") != "sqlite"
GUARANTEES: Final = tuple(
    f"tests/flows/{room}" for room in ("checkout", "inbox", "ledger", "outbox", "sync", "webhook")
)
"""What of the tests the everyday run repeats on PostgreSQL: where its locks and isolation keep a promise."""
SCHEMATHESIS: Final = ("tests/sandbox/openapi", "tests/api/test_conformance.py")
"""Tests that need this plug-in; to collect the first takes 15 seconds in each process."""
NEVER_EVERYDAY: Final = ("tests/stress", *SCHEMATHESIS)
WHOLE_ON_SERVERS: Final = {
    "postgres": ("tests/flows", "tests/stress"),
    "mariadb": (*GUARANTEES, "tests/flows/database", "tests/flows/accounting"),
}
ALIKE: Final = ("tests/languages", "tests/admin/test_words.py", "tests/stress/hostile/test_json_suite.py")
ALIKE_ON_SERVERS: Final = {
    "postgres": ALIKE,
    "mariadb": (*ALIKE, "tests/stress/hostile", "tests/stress/hosts", "tests/stress/releases"),
}
"""Slow tests of what no database changes, or of what another server has shown: samples of their tables too."""
MOST_CASES: Final = 4
MOST_ON_SERVERS: Final = 1
"""Cases of a table outside `WHOLE_ON_SERVERS`, in a run on a server."""
SEED: Final = 12


def times(every_run: int, full_run: int, quick_run: int | None = None) -> int:
    """Return how many times to try in this run."""
    if QUICK and quick_run is not None:
        return quick_run
    return full_run if FULL else every_run


def sample_of(cases: Sequence[pytest.Item], most: int = MOST_CASES) -> set[pytest.Item]:
    """Return some cases of each table, as the everyday run has them: at most so many of each test, always the same ones."""
    tables: dict[str, list[pytest.Item]] = defaultdict(list)
    for case in cases:
        tables[case.nodeid.partition("[")[0]].append(case)
    return {
        case
        for name, table in tables.items()
        for case in random.Random(f"{SEED} {name}").sample(table, min(most, len(table)))
    }


def left_out(cases: Sequence[pytest.Item], dear: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the cases that are not part of this run; `dear` are those with a database or a sandbox, and not slow."""
    if QUICK:
        return set(dear) - sample_of(dear)
    spared = set[pytest.Item]()
    if ON_SERVER and not FULL and THIS_RUN == REST:
        database = os.environ["CHECKOUT_TEST_DATABASE"]
        tables = [case for case in dear if not _is_in(case, WHOLE_ON_SERVERS[database])]
        seen = set(tables)
        tables += [case for case in cases if case not in seen and _is_in(case, ALIKE_ON_SERVERS[database])]
        spared = set(tables) - sample_of(tables, MOST_ON_SERVERS)
    if THIS_RUN == REST:
        spared |= {case for case in _everyday(cases, dear) if not _tries_more(case)}
    return spared


def _everyday(cases: Sequence[pytest.Item], dear: Sequence[pytest.Item]) -> set[pytest.Item]:
    part = [case for case in cases if not (case.get_closest_marker("slow") or _is_in(case, NEVER_EVERYDAY))]
    if ON_SERVER:
        first = os.environ["CHECKOUT_TEST_DATABASE"] == "postgres"
        part = [case for case in part if first and _is_in(case, GUARANTEES)]
    return set(part) - (set(dear) - sample_of(dear))


def _tries_more(case: pytest.Item) -> bool:
    """Return whether this case has more examples than in the everyday run."""
    module = getattr(case, "module", None)
    return hasattr(getattr(case, "obj", None), "hypothesis") or getattr(module, "times", None) is times


def _is_in(case: pytest.Item, places: Sequence[str]) -> bool:
    return case.nodeid.startswith(tuple(place if place.endswith(".py") else f"{place}/" for place in places))
