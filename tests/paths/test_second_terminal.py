"""The sandbox of the running example, from a second terminal: each event and case of the page, and each story."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import requests

from checkout_integration.protocol.vocabulary import Event, TestingCase
from checkout_integration.sandbox.scenarios.scenario_file import shipped_scenarios
from checkout_integration.sandbox.scenarios.verbs import ACTS, WITHOUT_ORDER
from tests.support.documents import ROOT
from tests.support.paths.example import Example, environment

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+) \| (created|processed|–) \| `(do [^`]+)` \|$", PAGE, re.MULTILINE)
"""What the shop gets, the state of the order before, and the command."""


def in_second_terminal(example: Example, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the shop's command as a person does beside the running example."""
    return subprocess.run(
        [sys.executable, "-m", "example_project.manage", "checkout_sandbox", "--shop", example.shop, *words],
        cwd=ROOT,
        env=environment(EXAMPLE_SHOP=example.shop, EXAMPLE_SERVICE=example.service),
        capture_output=True,
        text=True,
        check=False,
    )


def control(example: Example, path: str) -> Any:
    """Return what the control API says."""
    return requests.get(f"{example.service}/_sandbox/{path}", timeout=10).json()


def ordered(example: Example, state: str) -> None:
    """Make an order at the service, paid where that is asked for."""
    document = {"project": "brightwick", "type": "simple", "amount": 9.99, "currency": "USD"}
    created = requests.post(f"{example.service}/api/v1/order", json=document, timeout=10).json()
    if state == "processed":
        address = f"{example.service}/_sandbox/orders/{created['id']}/pay"
        requests.post(address, json={}, timeout=10).raise_for_status()
        requests.post(f"{example.service}/_sandbox/deliver", json={}, timeout=10).raise_for_status()


def test_the_page_has_every_event_and_case() -> None:
    """Twelve rows, and every verb of the command elsewhere on it."""
    assert len(ROWS) == 12
    text = " ".join(what for what, _, _ in ROWS)
    assert [name for name in (*Event, *TestingCase) if f"`{name}`" not in text] == []
    assert [verb for verb in (*ACTS, *WITHOUT_ORDER) if verb not in PAGE] == []


@pytest.mark.parametrize(("what", "state", "command"), ROWS, ids=[row[0] for row in ROWS])
def test_each_event_and_case_is_one_command(what: str, state: str, command: str, example: Example) -> None:
    """The shop gets it, and what it answers is acknowledged, or is the answer that the case expects."""
    mode = "pre_approval" if "do set mode" in what else "default"
    assert in_second_terminal(example, "do", "set", f"mode={mode}").returncode == 0
    if state != "–":
        ordered(example, state)
    before = len(control(example, "log")["entries"])
    done = in_second_terminal(example, *shlex.split(command))
    assert done.returncode == 0, done.stdout + done.stderr
    (name,) = re.findall(r"`([a-z_]+(?:\.[a-z]+)?)`", what)[:1]
    if name in set(TestingCase):
        assert "passed: True" in done.stdout, done.stdout
        return
    entries = control(example, "log")["entries"][before:]
    sent = [entry for entry in entries if entry["direction"] == "out" and entry["note"].startswith(name)]
    assert sent, (done.stdout, entries)
    assert "\x1b" not in done.stdout


def test_every_story_is_played_to_the_example(example: Example) -> None:
    """In one command; the log is on stderr, and the result is JSON."""
    done = in_second_terminal(example, "play", "scenarios/", "--", "--json")
    result = json.loads(done.stdout)
    failed = [each["name"] for each in result["scenarios"] if not each["ok"] and not each["left_out"]]
    assert failed == [], done.stderr
    assert result["played"] + result["left_out"] == len(shipped_scenarios())
