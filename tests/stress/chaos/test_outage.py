"""Ten minutes without a broker, at fifty notifications a second, with real processes. In the full run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.stress.chaos.places import ROOT
from tests.support.scale import FULL


@pytest.mark.skipif(not FULL, reason="in the full run")
def test_broker_is_away_for_ten_minutes() -> None:
    """All accepted, each receiver run once, and drained within five minutes of its return."""
    command = [sys.executable, "-m", "tests.stress.chaos.outage", "--seconds", "600", "--rate", "50"]
    ended = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    assert json.loads(ended.stdout)["problems"] == []
    assert ended.returncode == 0
