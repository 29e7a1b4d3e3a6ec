"""Scenario files: a story of the service in YAML, step by step, with the expected results.

The shipped ones are in this folder. A file has `title`, `about`, `steps`, and optionally `seed`, `profile`, `project`
(settings during the story) and `needs` (options without which the story is left out).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from checkout_integration.sandbox.control.control_views import ACTS

SETTINGS: Final = (
    "mode live dynamic_urls retry_interval retry_limit retry_schedule attempt_timeout charge_currency charge_rate"
).split()
"""Settings of the project that a story may change; restored at its end."""
SHIPPED: Final = files("checkout_integration.sandbox") / "scenarios"
NEEDS: Final = {"previous_secret_key", "known_user"}
_MORE: Final = {"pay": "outcome", "renew": "as"}
"""What a story says of an act beside what the service is told."""
VERBS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    verb: (main, frozenset((main + " " + more).split()))
    for verb, main, more in (
        ("create", "order", "by with user"),
        *((act, "order", f"{' '.join(known)} {_MORE.get(act, '')}") for act, (known, _) in ACTS.items()),
        ("try_again", "order", "as"),
        ("advance", "by", "times"),
        ("fault", "kind", "point subject skip times probability status seconds number target"),
        ("drop", "subject", "times"),
        ("duplicate", "subject", "times"),
        ("reorder", "subject", "times"),
        ("faults_off", "why", ""),
        ("rotate_secret", "why", ""),
        ("project", "mode", " ".join(SETTINGS[1:])),
        ("testing_case", "case", ""),
        ("sync", "why", ""),
        ("expect", "order", "status answers deliveries notification listed shop validation"),
    )
}
"""Verb → the setting that a plain value sets, and all its settings."""
_NEEDED: Final = {"order", "by", "kind", "case"}
_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    **dict.fromkeys(("with", "notification", "shop"), (dict, "names with their values")),
    "times": (int, "a whole number"),
}
_KEYS: Final = {"title", "about", "seed", "profile", "project", "needs", "steps"}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?) ?([smhd]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class ScenarioError(ValueError):
    """The file is no scenario; the message says where and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step: its place in the story, what is done, and with which settings."""

    number: int
    verb: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One story."""

    name: str
    title: str
    about: str
    steps: tuple[Step, ...]
    seed: int = 0
    profile: str = ""
    project: Mapping[str, Any] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()


def shipped_scenarios() -> list[Scenario]:
    """Return the scenarios of this package, by name."""
    found = [file for file in SHIPPED.iterdir() if file.name.endswith(".yaml")]
    return [
        read_scenario(file.read_text("utf-8"), file.name)
        for file in sorted(found, key=lambda file: file.name)
    ]


def find_scenarios(name: str) -> list[Scenario]:
    """Return the scenario of a file, those of a folder, or the shipped one that is named `scenarios/NAME.yaml` or `NAME`.

    Raises:
        ScenarioError: there is none, or it cannot be read.
    """
    path = Path(name)
    if path.is_file():
        return [_read_file(path)]
    if path.is_dir():
        return [_read_file(file) for file in sorted(path.glob("*.yaml"))]
    if path.name == "scenarios":
        return shipped_scenarios()
    found = [scenario for scenario in shipped_scenarios() if scenario.name == path.name.removesuffix(".yaml")]
    if not found:
        raise ScenarioError(f"{name}: no such file, and no shipped scenario of that name; see --list")
    return found


def _read_file(path: Path) -> Scenario:
    try:
        return read_scenario(path.read_text("utf-8"), path.name)
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: a scenario is a text in UTF-8") from None


def read_scenario(text: str, name: str) -> Scenario:
    """Return the scenario of a YAML text.

    Raises:
        ScenarioError: the text is no scenario, or PyYAML is not installed.
    """
    document = _load(text, name)
    if (
        not isinstance(document, dict)
        or not document.get("title")
        or not isinstance(document.get("steps"), list)
    ):
        raise ScenarioError(f"{name}: a scenario has a title and a list of steps")
    seed, needs, project = (
        document.get("seed") or 0,
        document.get("needs") or [],
        document.get("project") or {},
    )
    if not isinstance(seed, int) or not isinstance(needs, list) or not isinstance(project, dict):
        raise ScenarioError(f"{name}: seed is a whole number, needs a list, project names with their values")
    unknown = {*map(str, set(document) - _KEYS), *(set(map(str, needs)) - NEEDS)}
    if unknown:
        raise ScenarioError(f"{name}: unknown: {', '.join(sorted(unknown))}")
    return Scenario(
        name=name.removesuffix(".yaml"),
        title=str(document["title"]),
        about=" ".join(str(document.get("about") or "").split()),
        steps=tuple(_step(name, number, step) for number, step in enumerate(document["steps"], 1)),
        seed=seed,
        profile=str(document.get("profile") or ""),
        project=project,
        needs=frozenset(needs),
    )


def span_of(value: Any) -> float:
    """Return a length of time in seconds: a number, or a text such as `90s`, `10m`, `48h`, `30d`.

    Raises:
        ValueError: it is none.
    """
    found = _SPAN.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value!r} is no length of time: write 90s, 10m, 48h or 30d")
    return float(found[1]) * _SECONDS[found[2]]


def _load(text: str, name: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ScenarioError("scenarios need PyYAML: pip install 'checkout-integration[sandbox]'") from None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # a date that is none is a ValueError
        raise ScenarioError(f"{name}: {error}") from None


def _step(name: str, number: int, written: Any) -> Step:
    place = f"{name}, step {number}"
    if isinstance(written, str):
        written = {written: ""}
    if not isinstance(written, dict) or len(written) != 1:
        raise ScenarioError(f"{place}: a step is one verb with its settings")
    ((verb, value),) = written.items()
    if verb not in VERBS:
        raise ScenarioError(f"{place}: unknown verb {verb!r}; one of {', '.join(VERBS)}")
    main, known = VERBS[verb]
    settings = value if isinstance(value, dict) else {main: value}
    if set(settings) - known:
        unknown = ", ".join(sorted(map(str, set(settings) - known)))
        raise ScenarioError(f"{place}: {verb} has no {unknown}; {', '.join(sorted(known))}")
    if main in _NEEDED and settings.get(main) in (None, "") and "validation" not in settings:
        raise ScenarioError(f"{place}: {verb} needs {main}")
    _check_kinds(place, verb, settings)
    return Step(number=number, verb=verb, settings=settings)


def _check_kinds(place: str, verb: str, settings: Mapping[str, Any]) -> None:
    """Refuse values that no step can work with; the service looks at the others itself."""
    for name, (kind, words) in _KINDS.items():
        if name in settings and not isinstance(settings[name], kind):
            raise ScenarioError(f"{place}: {name} of {verb} is {words}")
    sent = settings.get("with") or {}
    if not all(isinstance(sent.get(name) or {}, dict) for name in ("user", "metadata")):
        raise ScenarioError(f"{place}: user and metadata of {verb} are names with their values")
    if verb == "advance":
        try:
            span_of(settings["by"])
        except ValueError as error:
            raise ScenarioError(f"{place}: {error}") from None
