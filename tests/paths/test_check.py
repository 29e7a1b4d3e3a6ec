"""`python3 -m example_project --check`: every journey over real sockets, without a browser."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.paths.example import ROOT, environment

JOURNEYS = {
    "start",
    "buy gems",
    "buy a game key",
    "buy a virtual item",
    "pay by token",
    "user.validate approved",
    "user.validate refused",
    "decline and try again",
    "cancel",
    "lost notification, then sync",
    "refund takes back",
    "chargeback takes back",
    "staff see the order",
}


def check(**variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the environment at hand."""
    command = [sys.executable, "-m", "example_project.check.command", "--json"]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_every_journey_goes_well() -> None:
    """Exit code 0, and a JSON report with each step."""
    done = check()
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert {step["name"] for step in report["steps"]} >= JOURNEYS
    assert all(set(step) == {"name", "ok", "seconds", "detail"} for step in report["steps"])


def test_a_broken_part_is_told() -> None:
    """Exit code 1 when a process does not come up: the service refuses a secret that could be a real one."""
    done = check(CHECKOUT_SECRET_KEY="not-a-secret-of-the-sandbox")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["ok"] is False
    assert "service ended" in report["steps"][-1]["detail"]
