"""How much a test tries: a little in every run, all of it in the full run (`CHECKOUT_FULL=1 python3 -m tests`).

The everyday run (`python3 -m tests --quick`) tries less: fewer examples of hypothesis, and a sample of long tables of
cases that need a database or a sandbox.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import pytest

QUICK_RUN: Final = "CHECKOUT_QUICK"
"""The variable by which the everyday run names itself."""
FULL = os.environ.get("CHECKOUT_FULL", "") not in {"", "0"}
QUICK = os.environ.get(QUICK_RUN, "") not in {"", "0"}
MOST_CASES: Final = 4
SEED: Final = 12


def times(every_run: int, full_run: int, quick_run: int | None = None) -> int:
    """Return how many times to try in this run."""
    if QUICK and quick_run is not None:
        return quick_run
    return full_run if FULL else every_run


def sample_of(cases: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the cases that the everyday run has of a table: at most `MOST_CASES` of each test, always the same ones."""
    tables: dict[str, list[pytest.Item]] = defaultdict(list)
    for case in cases:
        tables[case.nodeid.partition("[")[0]].append(case)
    return {
        case
        for name, table in tables.items()
        for case in random.Random(f"{SEED} {name}").sample(table, min(MOST_CASES, len(table)))
    }
