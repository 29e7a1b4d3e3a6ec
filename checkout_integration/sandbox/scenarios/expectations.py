"""The expected results of a story: at the service, in the shop's responses, and in the shop itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checkout_integration.sandbox.scenarios.scenario_file import Step
from checkout_integration.sandbox.scenarios.service import Refused
from checkout_integration.sandbox.scenarios.steps import Steps


def expect(steps: Steps, step: Step) -> str:
    """Compare, and return the values.

    Raises:
        Refused: something is not as expected; the text says what it is.
    """
    if "validation" in step.settings:
        return _same(
            "user.validate answered",
            steps.service.validation_responses(steps.started_after),
            step.settings["validation"],
        )
    order_id = steps.order_id(step)
    order = steps.service.control("GET", f"orders/{order_id}")
    sent = [entry for entry in steps.service.sent(steps.started_after) if _order_of(entry) == order_id]
    seen: list[str] = []
    for name, expected in step.settings.items():
        if name == "status":
            seen.append(_same("status", order["status"], expected))
        elif name == "answers":
            seen.append(_same("answers", _answers(sent, expected), expected))
        elif name == "deliveries":
            states = {entry["event"]: entry["state"] for entry in order["notifications"]}
            seen.append(_same("deliveries", states, expected))
        elif name == "notification":
            seen.append(_notification(sent, expected))
        elif name == "listed":
            listed = steps.service.listed(steps.references[str(step.settings["order"])])
            seen.append(_same("listed", listed, expected))
        elif name == "shop":
            seen.append(_shop(steps, order_id, expected))
    return f"{step.settings['order']}: " + "; ".join(seen)


def _same(name: str, seen: Any, expected: Any) -> str:
    if seen != expected:
        raise Refused(f"{name} {_words(seen)}, not {_words(expected)}")
    return f"{name} {_words(seen)}"


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(part)}" for name, part in value.items()) or "nothing"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "nothing"
    return str(value)


def _order_of(entry: Mapping[str, Any]) -> str:
    return str((entry["message"].get("object") or {}).get("id", ""))


def _answers(sent: list[dict[str, Any]], expected: Any) -> Any:
    """Return the responses in the order of sending, by event if the scenario lists events."""
    if not isinstance(expected, Mapping):
        return [entry["status"] for entry in sent]
    return {
        event: [entry["status"] for entry in sent if entry["message"]["event"] == event]
        for event in dict.fromkeys([*expected, *(entry["message"]["event"] for entry in sent)])
    }


def _notification(sent: list[dict[str, Any]], expected: Mapping[str, Any]) -> str:
    """Compare dotted paths of the newest message."""
    message = sent[-1]["message"] if sent else {}
    return _same("notification", {path: _at(message, path) for path in expected}, dict(expected))


def _at(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _shop(steps: Steps, order_id: str, expected: Mapping[str, Any]) -> str:
    address = steps.options.status_url
    if not address:
        return "the shop was not queried (no --status-url)"
    document = steps.service.ask("GET", address.replace("{order_id}", order_id))
    return _same("in the shop", {name: document.get(name) for name in expected}, dict(expected))
