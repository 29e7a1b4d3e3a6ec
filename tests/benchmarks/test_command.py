"""The command as a whole, by the smallest run there is: it must not rot between two measurements."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.goals import (
    ADMIN,
    APPLY_1,
    APPLY_100,
    APPLY_500,
    BACKLOG,
    COPY,
    GOALS,
    MANY_COPY,
    MEASURED,
    PEER,
    PEER_AGAIN,
    PEER_CPU,
    PEER_FIRST,
    SIZE,
)
from tests.stress.hosts.running import KIND
from tests.support.documents import ROOT, block
from tests.support.scale import FULL

NOT_HERE = {PEER, PEER_CPU, APPLY_1, APPLY_100, APPLY_500}
"""The peer is not in the environment of the tests; applying is no step of its own as long as the webhook applies."""

EVEN = [(float(second), 10 * second) for second in range(11)]
SLOWING = [*EVEN[:8], (7.5, 75), (12.5, 100)]

# It reads processor time; comes with a server's wheel, and with the environment of the benchmarks.
pytest.importorskip("psutil")


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="in the full run; .ci/run measures too")
def test_the_command_of_the_page_measures(tmp_path: Path) -> None:
    """Everything but the peer, which the environment of the tests has not, is measured in every round."""
    shown = block(
        "docs/benchmarks.md",
        "$ python3 -m benchmarks ingest chain receivers --json figures.json",
    )
    documented = shown.strip().removeprefix("$ python3 -m benchmarks ")
    printed, figures = run(tmp_path, *shlex.split(documented))
    expected = {name for word in ("ingest", "chain", "receivers") for name in MEASURED[word]}
    (measured,) = figures["rounds"]
    assert set(measured) | set(figures["not_measured"]) == expected
    assert set(figures["not_measured"]) <= NOT_HERE
    assert [goal["title"] for goal in figures["goals"]] == [goal.title for goal in GOALS]
    for goal in GOALS:
        assert goal.title in printed


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="in the full run")
def test_the_size_of_a_payment_is_measured(tmp_path: Path) -> None:
    """On PostgreSQL, for which the goal is stated."""
    _, figures = run(tmp_path, "size", "--json", "figures.json")
    if KIND == "postgres":
        assert figures["rounds"][0][SIZE]["bytes"] > 0
    else:
        assert set(figures["not_measured"]) == {SIZE}


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="in the full run")
def test_a_backlog_is_drained(tmp_path: Path) -> None:
    """By two workers, to its end; what waits behind a receiver that fails is left."""
    _, figures = run(tmp_path, "backlog", "--json", "figures.json")
    measured = figures["rounds"][0][BACKLOG]
    assert {"applied evenly", "run evenly", "status", "others", "idle"} <= set(measured)


@pytest.mark.slow
def test_the_admin_of_two_shops_is_compared(tmp_path: Path) -> None:
    """Every kind of page, money and health, on PostgreSQL."""
    shown = block("docs/benchmarks.md", "$ python3 -m benchmarks admin --json figures.json")
    _, figures = run(tmp_path, *shlex.split(shown.strip().removeprefix("$ python3 -m benchmarks ")))
    if KIND != "postgres":
        assert set(figures["not_measured"]) == {ADMIN}
        return
    compared = {"lists", "filters", "searches", "rows", "read through", "month", "quarter", "year", "health"}
    assert set(figures["rounds"][0][ADMIN]) == compared


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="in the full run")
def test_the_lists_are_read(tmp_path: Path) -> None:
    """By our passes and, on PostgreSQL, by COPY; each reading shows the memory of its process."""
    shown = block("docs/benchmarks.md", "$ python3 -m benchmarks sync --json figures.json")
    _, figures = run(tmp_path, *shlex.split(shown.strip().removeprefix("$ python3 -m benchmarks ")))
    (measured,) = figures["rounds"]
    assert set(measured) | set(figures["not_measured"]) == set(MEASURED["sync"])
    copies = set() if KIND == "postgres" else {COPY, MANY_COPY}
    assert set(figures["not_measured"]) - {PEER_FIRST, PEER_AGAIN} == copies
    shown_by_linux = {"memory"} if Path("/proc/self/status").exists() else set()
    assert all({"rate", "orders"} | shown_by_linux <= set(each) for each in measured.values())


PLAN = {
    "Node Type": "Limit",
    "Plans": [
        {"Node Type": "Index Scan", "Relation Name": "first", "Index Name": "first_key"},
        {
            "Node Type": "Sort",
            "Plans": [
                {"Node Type": "Index Only Scan", "Relation Name": "second", "Index Name": "second_key"},
                {"Node Type": "Index Scan", "Relation Name": "third", "Index Cond": "(id = 1)"},
                {"Node Type": "Seq Scan", "Relation Name": "fourth"},
            ],
        },
    ],
}


def test_what_a_plan_reads_through_is_found() -> None:
    """A table, and an index without a condition; but not where a limit ends the reading."""
    from benchmarks.admin import whole_scans

    assert list(whole_scans(PLAN)) == [
        ("Index Only Scan of second", "second_key"),
        ("Seq Scan of fourth", "fourth"),
    ]


@pytest.mark.parametrize(("progress", "expected"), [(EVEN, 1.0), (SLOWING, 0.5), ([(0.0, 5)] * 2, 1.0)])
def test_evenness_is_the_last_quarter_beside_the_first(progress: Any, expected: float) -> None:
    """Whatever lies between them."""
    from benchmarks.backlog import evenness

    assert evenness(progress) == pytest.approx(expected)


def test_a_series_is_read_once_in_each_round() -> None:
    """Whichever of its readings is measured first."""
    from benchmarks.sync import Series

    reads = iter([{"rate": float(number)}] * 2 for number in range(5))
    first, again = Series(("first", "again"), lambda: next(reads)).measurements().values()
    assert [again(), first(), first(), again()] == [{"rate": 0.0}] * 2 + [{"rate": 1.0}] * 2


def test_a_long_series_is_read_once() -> None:
    """All rounds have its figures."""
    from benchmarks.sync import Series

    reads = iter([[{"rate": 1.0}]])
    (first,) = Series(("first",), lambda: next(reads), once=True).measurements().values()
    assert [first(), first()] == [{"rate": 1.0}] * 2


def run(folder: Path, *arguments: str) -> tuple[str, Any]:
    """Do the smallest run, on the database of the tests; return what it prints, and what it writes as JSON."""
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.command", *arguments),
            *("--quick", "--rounds", "1", "--database", KIND),
        ],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, json.loads((folder / "figures.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [["--assert", "--database", "sqlite"], ["--assert", "--quick"], ["--rounds", "0"], ["--orders", "0"]],
)
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    """Goals are judged on PostgreSQL and by a real run, or not at all."""
    command = [sys.executable, "-m", "benchmarks.command", "ingest", *arguments]
    ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 2
    assert arguments[0] in ended.stderr
