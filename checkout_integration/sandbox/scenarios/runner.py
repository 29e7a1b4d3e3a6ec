"""The runner of scenarios; it writes one line for each step and one for each result."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from checkout_integration.sandbox.scenarios.expectations import expect
from checkout_integration.sandbox.scenarios.scenario_file import Scenario, Step
from checkout_integration.sandbox.scenarios.service import Refused, ScenarioService
from checkout_integration.sandbox.scenarios.steps import Steps

Write = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """The result of a step, with the shop's responses to the requests that were sent meanwhile."""

    number: int
    verb: str
    ok: bool
    seen: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenarioResult:
    """The result of a scenario; `left_out` names missing options, without which it was not run."""

    name: str
    title: str
    ok: bool
    steps: tuple[StepResult, ...] = ()
    left_out: str = ""


def run_scenario(
    scenario: Scenario, service: ScenarioService, options: Namespace, write: Write
) -> ScenarioResult:
    """Run a story to its end, or to the first step that fails.

    Raises:
        Unreachable: the service or the shop does not respond.
        ScenarioError: the project refuses the story's settings.
    """
    write(f"{scenario.name}: {scenario.title}")
    missing = missing_options(scenario, options)
    if scenario.profile and scenario.profile != service.control("GET", "projects")["profile"]:
        missing.append(f"a sandbox of the profile {scenario.profile}")
    if missing:
        left_out = "needs " + ", ".join(missing)
        write(f"  left out: {left_out}\n")
        return ScenarioResult(name=scenario.name, title=scenario.title, ok=True, left_out=left_out)
    steps = Steps(service, scenario, options)
    try:
        steps.set_up()
        results = _run(scenario, steps, write)
    finally:
        steps.end()
    ok = all(result.ok for result in results)
    write(f"  {'as expected' if ok else 'NOT AS EXPECTED'}\n")
    return ScenarioResult(name=scenario.name, title=scenario.title, ok=ok, steps=tuple(results))


def missing_options(scenario: Scenario, options: Namespace) -> list[str]:
    """Return the options that a story needs and that are missing."""
    return ["--" + need.replace("_", "-") for need in sorted(scenario.needs) if not getattr(options, need)]


def _run(scenario: Scenario, steps: Steps, write: Write) -> list[StepResult]:
    results: list[StepResult] = []
    for step in scenario.steps:
        results.append(_result_of(step, steps))
        _write_step(results[-1], write)
        if not results[-1].ok:
            break
    return results


def _result_of(step: Step, steps: Steps) -> StepResult:
    before = steps.service.last_number()
    try:
        seen, ok = expect(steps, step) if step.verb == "expect" else steps.do(step), True
    except (Refused, ValueError) as error:
        seen, ok = str(error), False
    answers = [] if step.verb == "expect" else steps.service.sent(before)
    return StepResult(
        number=step.number, verb=step.verb, ok=ok, seen=seen, answers=tuple(map(_words, answers))
    )


def _words(entry: dict[str, Any]) -> str:
    event = entry["message"].get("event") or entry["note"]
    return f"{event} answered {entry['status']}" if entry["status"] else f"{entry['note']}: no answer"


def _write_step(result: StepResult, write: Write) -> None:
    word = ("ok" if result.ok else "NOT") if result.verb == "expect" or not result.ok else ""
    write(f"  {result.number:>3} {word:3} {result.verb:13} {result.seen}")
    for response in result.answers:
        write(f"{'':22}→ {response}")
