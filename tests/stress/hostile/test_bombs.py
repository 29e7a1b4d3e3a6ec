"""Bombs stay small in memory: webhook and client refuse them, and grow by 16 MB at most, for a page of the list by 48 MB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stress.hostile.bombs import JSON_BOMBS, MIB

ROOT = Path(__file__).parents[3]
LARGEST = 16 * MIB
LARGEST_OF_A_PAGE = 48 * MIB
"""A page of 7 MB that cannot be read is split into its rows, so that the others can be: as bytes, as text and in parts."""


@pytest.fixture(scope="module")
def measured() -> dict[str, tuple[str, int]]:
    """Outcome and growth of each bomb."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("this system does not tell how much memory a process held")
    done = subprocess.run(
        [sys.executable, "-m", "tests.stress.hostile.bombs"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes: dict[str, tuple[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


def test_memory_grows_within_bounds(measured: dict[str, tuple[str, int]]) -> None:
    """Whatever arrives."""
    bounds = {name: LARGEST_OF_A_PAGE if name.startswith("client, list") else LARGEST for name in measured}
    assert {name: growth for name, (_, growth) in measured.items() if growth > bounds[name]} == {}


def test_the_receiver_refuses_what_would_grow(measured: dict[str, tuple[str, int]]) -> None:
    """400 for compressed ones; JSON beyond our limits is stored as bytes and acknowledged."""
    outcomes = {name: outcome for name, (outcome, _) in measured.items() if name.startswith("receiver")}
    assert {outcomes.pop(f"receiver: {name}") for name in ("gzip", "gzip of gzip", "gzip twice")} == {"400"}
    assert set(outcomes) == {f"receiver: {name}" for name in JSON_BOMBS}
    assert set(outcomes.values()) == {"200"}


def test_the_client_raises_its_own_error(measured: dict[str, tuple[str, int]]) -> None:
    """Never an error of a library, and no data but where one number costs its field only."""
    outcomes = {name: outcome for name, (outcome, _) in measured.items() if name.startswith("client")}
    assert outcomes.pop("client, list: a number of nine bytes") == "data"
    assert set(outcomes.values()) == {"ResponseUnreadable"}
