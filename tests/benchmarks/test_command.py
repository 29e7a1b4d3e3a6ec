"""The command as a whole, by the smallest run there is: it must not rot between two measurements."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.goals import APPLY_1, APPLY_100, APPLY_500, GOALS, MEASURED, PEER, PEER_CPU
from tests.documents import ROOT, block
from tests.hosts.running import KIND

NOT_HERE = {PEER, PEER_CPU, APPLY_1, APPLY_100, APPLY_500}
"""The peer is not in the environment of the tests; applying is no step of its own as long as the webhook applies."""

# It reads processor time; comes with a server's wheel, and with the environment of the benchmarks.
pytest.importorskip("psutil")


def test_the_command_of_the_page_measures(tmp_path: Path) -> None:
    """Everything but the peer, which the environment of the tests has not, is measured in every round."""
    shown = block(
        "docs/benchmarks.md",
        "$ python3 -m benchmarks ingest chain receivers --json figures.json --svg figures.svg",
    )
    documented = shown.strip().removeprefix("$ python3 -m benchmarks ")
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.command", *shlex.split(documented), *smallest()],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    expected = {name for word in ("ingest", "chain", "receivers") for name in MEASURED[word]}
    (measured,) = figures["rounds"]
    assert set(measured) | set(figures["not_measured"]) == expected
    assert set(figures["not_measured"]) <= NOT_HERE
    assert [goal["title"] for goal in figures["goals"]] == [goal.title for goal in GOALS]
    for goal in GOALS:
        assert goal.title in ended.stdout
    assert ET.parse(tmp_path / "figures.svg").getroot().tag.endswith("svg")


def smallest() -> list[str]:
    """Return the options of the smallest run, on the database of the tests."""
    return ["--quick", "--rounds", "1", "--database", KIND]


@pytest.mark.parametrize(
    "arguments", [["--assert", "--database", "sqlite"], ["--assert", "--quick"], ["--rounds", "0"]]
)
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    """Goals are judged on PostgreSQL and by a real run, or not at all."""
    command = [sys.executable, "-m", "benchmarks.command", "ingest", *arguments]
    ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 2
    assert arguments[0] in ended.stderr
