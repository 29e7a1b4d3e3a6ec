"""Running scenarios: one line for each step, one for each end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from checkout_integration.sandbox.scenario_expect import expect
from checkout_integration.sandbox.scenario_file import Scenario, Step
from checkout_integration.sandbox.scenario_service import Refused, ScenarioService
from checkout_integration.sandbox.scenario_steps import Given, Steps

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepEnd:
    """How a step ended: what was seen, and the answers of the shop to what was sent meanwhile."""

    number: int
    verb: str
    ok: bool
    seen: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenarioEnd:
    """How a scenario ended; `left_out` says what it needed and did not get."""

    name: str
    title: str
    ok: bool
    steps: tuple[StepEnd, ...] = ()
    left_out: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def run_scenario(scenario: Scenario, service: ScenarioService, given: Given, tell: Tell) -> ScenarioEnd:
    """Run a story to its end, or to the first step that does not end as it should.

    Raises:
        Unreachable: nobody answers at the service or at an address of the shop.
        ScenarioError: the project refuses the story's settings.
    """
    tell(f"{scenario.name}: {scenario.title}")
    missing = missing_options(scenario, given)
    if missing:
        left_out = "needs " + ", ".join(missing)
        tell(f"  left out: {left_out}\n")
        return ScenarioEnd(name=scenario.name, title=scenario.title, ok=True, left_out=left_out)
    steps = Steps(service, scenario, given)
    steps.begin()
    try:
        steps.set_up()
        ends = _run(scenario, steps, tell)
    finally:
        steps.end()
    ok = all(end.ok for end in ends)
    tell(f"  {'as expected' if ok else 'NOT AS EXPECTED'}\n")
    return ScenarioEnd(name=scenario.name, title=scenario.title, ok=ok, steps=tuple(ends))


def missing_options(scenario: Scenario, given: Given) -> list[str]:
    """Return the options that a story needs and did not get."""
    return ["--" + need.replace("_", "-") for need in sorted(scenario.needs) if not given.has(need)]


def _run(scenario: Scenario, steps: Steps, tell: Tell) -> list[StepEnd]:
    ends: list[StepEnd] = []
    for step in scenario.steps:
        ends.append(_end_of(step, steps))
        _tell(ends[-1], tell)
        if not ends[-1].ok:
            break
    return ends


def _end_of(step: Step, steps: Steps) -> StepEnd:
    before = steps.service.last_number()
    try:
        seen, ok = expect(steps, step) if step.verb == "expect" else steps.do(step), True
    except (Refused, ValueError) as error:
        seen, ok = str(error), False
    answers = [] if step.verb == "expect" else steps.service.sent(before)
    return StepEnd(number=step.number, verb=step.verb, ok=ok, seen=seen, answers=tuple(map(_words, answers)))


def _words(entry: dict[str, Any]) -> str:
    event = entry["message"].get("event") or entry["note"]
    return f"{event} answered {entry['status']}" if entry["status"] else f"{entry['note']}: no answer"


def _tell(end: StepEnd, tell: Tell) -> None:
    word = ("ok" if end.ok else "NOT") if end.verb == "expect" or not end.ok else ""
    tell(f"  {end.number:>3} {word:3} {end.verb:13} {end.seen}")
    for answer in end.answers:
        tell(f"{'':22}→ {answer}")
