"""What must have come of a story: at the service, in the shop's answers, and in the shop itself where it tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checkout_integration.sandbox.scenario_file import Step
from checkout_integration.sandbox.scenario_service import Refused
from checkout_integration.sandbox.scenario_steps import Steps


def expect(steps: Steps, step: Step) -> str:
    """Compare, and return what was seen.

    Raises:
        Refused: something is not as expected; the text says what it is.
    """
    if "asked" in step.settings:
        return _same(
            "user.validate answered", steps.service.asked(steps.started_after), step.settings["asked"]
        )
    order_id = steps.order_id(step)
    order = steps.service.control("GET", f"orders/{order_id}")
    sent = [each for each in steps.service.sent(steps.started_after) if _order_of(each) == order_id]
    seen: list[str] = []
    for name, wanted in step.settings.items():
        if name == "status":
            seen.append(_same("status", order["status"], wanted))
        elif name == "answers":
            seen.append(_same("answers", _answers(sent, wanted), wanted))
        elif name == "deliveries":
            states = {each["event"]: each["state"] for each in order["notifications"]}
            seen.append(_same("deliveries", states, wanted))
        elif name == "told":
            seen.append(_told(sent, wanted))
        elif name == "listed":
            listed = steps.service.listed(steps.references[str(step.settings["order"])])
            seen.append(_same("listed", listed, wanted))
        elif name == "shop":
            seen.append(_shop(steps, order_id, wanted))
    return f"{step.settings['order']}: " + "; ".join(seen)


def _same(name: str, seen: Any, wanted: Any) -> str:
    if seen != wanted:
        raise Refused(f"{name} {_words(seen)}, not {_words(wanted)}")
    return f"{name} {_words(seen)}"


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(each)}" for name, each in value.items()) or "nothing"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "nothing"
    return str(value)


def _order_of(entry: Mapping[str, Any]) -> str:
    return str((entry["message"].get("object") or {}).get("id", ""))


def _answers(sent: list[dict[str, Any]], wanted: Any) -> Any:
    """Return the answers in the order of sending, by event where the scenario asks so."""
    if not isinstance(wanted, Mapping):
        return [each["status"] for each in sent]
    return {
        event: [each["status"] for each in sent if each["message"]["event"] == event]
        for event in dict.fromkeys([*wanted, *(each["message"]["event"] for each in sent)])
    }


def _told(sent: list[dict[str, Any]], wanted: Mapping[str, Any]) -> str:
    """Compare dotted paths of the newest message."""
    message = sent[-1]["message"] if sent else {}
    return _same("told", {path: _at(message, path) for path in wanted}, dict(wanted))


def _at(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _shop(steps: Steps, order_id: str, wanted: Mapping[str, Any]) -> str:
    address = steps.given.status_url
    if not address:
        return "the shop was not asked (no --status-url)"
    told = steps.service.ask("GET", address.replace("{order_id}", order_id))
    return _same("in the shop", {name: told.get(name) for name in wanted}, dict(wanted))
