"""`python3 -m example_project --check`: every journey over real sockets, without a browser."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.paths.example import ROOT, environment

pytestmark = pytest.mark.slow

JOURNEYS = {
    "start",
    "buy gems",
    "buy a game key",
    "buy a virtual item",
    "give a gift, and refund it",
    "buy as a guest, and claim it",
    "pay by token",
    "user.validate approved",
    "user.validate refused",
    "decline and try again",
    "cancel",
    "lost notification, then sync",
    "refund takes back",
    "chargeback takes back",
    "staff see the order",
    "staff accept a payment without a checkout",
    "staff erase the customer",
}


def check(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the environment at hand."""
    command = [sys.executable, "-m", "example_project.check.command", "--json", *options]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("profile", ["field", "spec"])
def test_every_journey_goes_well(profile: str) -> None:
    """Exit code 0, and a JSON report with each step, whichever way the service behaves."""
    done = check("--profile", profile)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert report["steps"][0]["detail"] == f"shop, service ({profile}) and worker"
    assert {step["name"] for step in report["steps"]} >= JOURNEYS
    assert all(set(step) == {"name", "ok", "seconds", "detail"} for step in report["steps"])


def test_a_broken_part_is_named() -> None:
    """Exit code 1 when a process does not come up: the service refuses a secret that could be a real one."""
    done = check(CHECKOUT_SECRET_KEY="not-a-secret-of-the-sandbox")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["ok"] is False
    assert "service ended" in report["steps"][-1]["detail"]
