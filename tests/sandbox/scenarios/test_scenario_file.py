"""Scenario files: the shipped ones, the format, and the errors of invalid files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkout_integration.sandbox.scenarios.command import AS_EXPECTED, main
from checkout_integration.sandbox.scenarios.scenario_file import (
    VERBS,
    ScenarioError,
    find_scenarios,
    read_scenario,
    shipped_scenarios,
    span_of,
)

SCENARIOS = shipped_scenarios()
FIELD_NOTES = set(
    "success_with_status_created refund_before_success late_retry_after_refund decline_and_try_again cancel_after_success"
    " refund_is_a_second_item chargeback_says_refunded duplicate_with_new_delivery_try rotated_secret testing_cases"
    " refused_for_48_hours zero_times_and_odd_shapes order_by_a_stranger".split()
)


def test_the_field_notes_are_shown() -> None:
    """Every behaviour of deployed services that a merchant should see once is a scenario."""
    assert {scenario.name for scenario in SCENARIOS} >= FIELD_NOTES


def test_the_shipped_ones_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, with the title; the way the README writes a name finds it."""
    assert main(["--list"]) == AS_EXPECTED
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [scenario.name for scenario in SCENARIOS]
    assert find_scenarios("scenarios/rotated_secret.yaml") == find_scenarios("rotated_secret")
    assert find_scenarios("scenarios/") == SCENARIOS


def test_the_page_names_every_step_and_setting() -> None:
    """docs/scenarios.md is the reference for writing one."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "scenarios.md").read_text("utf-8")
    names = {name for verb, (_, settings) in VERBS.items() for name in (verb, *settings) if verb != "fault"}
    assert {name for name in names if f"`{name}`" not in page} == {"why"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- a list", "a title and a list of steps"),
        ("title: [", "x.yaml"),
        ("title: x\nsteps: []\ncolour: red", "unknown: colour"),
        ("title: x\nneeds: [moon]\nsteps: []", "unknown: moon"),
        ("title: x\nsteps: [{fly: first}]", "step 1: unknown verb 'fly'"),
        ("title: x\nsteps: [{pay: first, refund: first}]", "step 1: a step is one verb"),
        ("title: x\nsteps: [sync, {pay: {order: first, tip: 3}}]", "step 2: pay has no tip"),
        ("title: x\nsteps: [{pay: {order: first, 5: 3, tip: 3}}]", "step 1: pay has no 5, tip"),
        ("title: x\nsteps: [pay]", "step 1: pay needs order"),
        ("title: x\nsteps: [{advance: {times: 3}}]", "step 1: advance needs by"),
        ("title: x\nsteps: [{create: {order: a, with: 5}}]", "step 1: with of create is names with their"),
        ("title: x\nsteps: [{create: {order: a, with: {user: 5}}}]", "step 1: user and metadata of create"),
        ("title: x\nsteps: [{advance: {by: 1h, times: often}}]", "step 1: times of advance is a whole"),
        ("title: x\nsteps: [{advance: soon}]", "x.yaml, step 1: 'soon' is no length of time"),
        (
            "title: x\nsteps: [{expect: {order: a, notification: null}}]",
            "step 1: notification of expect is names",
        ),
        ("title: x\nseed: abc\nsteps: []", "x.yaml: seed is a whole number"),
        ("title: x\nproject: often\nsteps: []", "x.yaml: seed is .*, project names with their values"),
        ("title: 2026-13-45\nsteps: []", "x.yaml: month must be in"),
    ],
)
def test_a_file_that_is_no_scenario(text: str, complaint: str) -> None:
    """The message names the file, the step and the mistake."""
    with pytest.raises(ScenarioError, match=complaint):
        read_scenario(text, "x.yaml")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """The message names it, alone and in its folder."""
    file = tmp_path / "picture.yaml"
    file.write_bytes(b"\x89PNG\xff")
    for name in (file, tmp_path):
        with pytest.raises(ScenarioError, match=r"picture\.yaml: a scenario is a text in UTF-8"):
            find_scenarios(str(name))


@pytest.mark.parametrize(
    ("text", "seconds"), [(5, 5), ("90s", 90), ("10m", 600), ("48h", 172800), ("30d", 2592000)]
)
def test_lengths_of_time(text: Any, seconds: float) -> None:
    """Numbers are seconds."""
    assert span_of(text) == seconds


def test_no_length_of_time() -> None:
    """A text that is none."""
    with pytest.raises(ValueError, match="90s"):
        span_of("soon")
