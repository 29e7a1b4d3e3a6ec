"""What is small on the wire stays small in memory: receiver and client refuse it, and grow by 16 MB at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.bombs import JSON_BOMBS, MIB

ROOT = Path(__file__).parents[2]
LARGEST = 16 * MIB


@pytest.fixture(scope="module")
def measured() -> dict[str, tuple[str, int]]:
    """Outcome and growth of each bomb."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("this system does not tell how much memory a process held")
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.bombs"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, tuple[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_memory_grows_by_sixteen_megabytes_at_most(measured: dict[str, tuple[str, int]]) -> None:
    """Whatever arrives."""
    assert {name: growth for name, (_, growth) in measured.items() if growth > LARGEST} == {}


def test_the_receiver_refuses_what_would_grow(measured: dict[str, tuple[str, int]]) -> None:
    """Compressed 400; JSON beyond our limits is kept as bytes and acknowledged."""
    told = {name: outcome for name, (outcome, _) in measured.items() if name.startswith("receiver")}
    assert {told.pop(f"receiver: {name}") for name in ("gzip", "gzip of gzip", "gzip twice")} == {"400"}
    assert set(told) == {f"receiver: {name}" for name in JSON_BOMBS}
    assert set(told.values()) == {"200"}


def test_the_client_raises_its_own_error(measured: dict[str, tuple[str, int]]) -> None:
    """Never an error of a library, and no data but where one number costs its field only."""
    told = {name: outcome for name, (outcome, _) in measured.items() if name.startswith("client")}
    assert told.pop("client, list: a number of nine bytes") == "data"
    assert set(told.values()) == {"AnswerUnreadable"}
