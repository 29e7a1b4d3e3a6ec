"""The operator page's part about faults: which are switched on, and a form for one more."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup
from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.faults import Fault
from checkout_integration.sandbox.faults_catalogue import KINDS, SUBJECTS, FaultKind, FaultPoint
from checkout_integration.sandbox.pages import choices, fill, joined, page
from checkout_integration.sandbox.wire import page_answer

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_POINTS: Final = {
    FaultPoint.API: "Answers of the API",
    FaultPoint.LIST: "The transaction list",
    FaultPoint.NOTIFICATION: "Notifications",
    FaultPoint.VALIDATION: "The question user.validate",
}
_NEEDS_ADDRESS: Final = FaultKind.REDIRECT
"""It leads to a server of the tester's own, so only the control API switches it on."""
_LABELS: Final = {"times": "Times", "seconds": "Seconds", "number": "Number", "status": "Status"}
_LARGEST: Final = 10**9
_WHOLE: Final = re.compile(r"-?[0-9]+")
_EMPTY: Final = {"times": "1"}
_USED: Final = re.compile(r"`(seconds|number|status|target)`")
_USUAL: Final = {"skip": 0, "probability": 1}


class OperatorFaults:
    """Switches faults on and off."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._faults = sandbox.faults

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/operator/faults", methods=["POST"], endpoint=self.switch_on),
            Rule("/_sandbox/operator/faults/off", methods=["POST"], endpoint=self.switch_off),
        ]

    def switch_on(self, request: Request) -> Response:
        """Add the fault that the form names; one that cannot be is shown again with what is wrong."""
        try:
            self._faults.add(_fault(request.form))
        except ValueError as error:
            part = faults_part(self._faults.document()["rules"], request.form, f"{error}.")
            return page_answer(page("Faults", fill("faults_page", faults=part), width="wide"), 400)
        return redirect("/_sandbox/#faults", 303)

    def switch_off(self, request: Request) -> Response:
        """Take all of them away."""
        self._faults.set([])
        return redirect("/_sandbox/#faults", 303)


def _fault(form: Mapping[str, str]) -> Fault:
    point, _, kind = form.get("fault", "").partition(":")
    typed = {name: form[name].strip() for name in _LABELS if form.get(name, "").strip()}
    given: dict[str, Any] = {name: _number(_LABELS[name], text) for name, text in typed.items()}
    subject = form.get("subject", "")
    if point in SUBJECTS and subject and subject not in SUBJECTS[FaultPoint(point)]:
        raise ValueError(
            f"“Only for” must be all of them, or one of {', '.join(SUBJECTS[FaultPoint(point)])}"
        )
    return Fault(point=point, kind=kind, subject=subject, **given)  # type: ignore[arg-type]  # it looks itself


def _number(label: str, text: str) -> int:
    """Read a whole number; of them all, only “Number” may be below zero."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"“{label}” must be a whole number")
    if len(text.lstrip("-0")) >= len(str(_LARGEST)):
        raise ValueError(f"“{label}” must be below {_LARGEST:,}")
    if text.startswith("-") and label != _LABELS["number"]:
        raise ValueError(f"“{label}” must not be below zero")
    return int(text)


def faults_part(
    rules: Sequence[Mapping[str, Any]], typed: Mapping[str, str] = _EMPTY, problem: str = ""
) -> Markup:
    """Return the operator page's form for faults, with those that are switched on.

    `typed` is what stands in the form, `problem` why that was refused.
    """
    groups = [
        Markup('<optgroup label="{}">{}</optgroup>').format(
            _POINTS[point], choices(_texts(point), typed.get("fault", ""))
        )
        for point in FaultPoint
    ]
    subjects = sorted({subject for each in SUBJECTS.values() for subject in each})
    return fill(
        "faults",
        faults=joined(groups),
        subjects=choices({"": "all of them", **{each: each for each in subjects}}, typed.get("subject", "")),
        problem=Markup('<p class="notice" role="alert">{}</p>').format(problem) if problem else "",
        **{name: typed.get(name, "") for name in _LABELS},
        switched=_switched(rules),
    )


def _texts(point: FaultPoint) -> dict[str, str]:
    kinds = {kind: text for kind, text in KINDS[point].items() if kind is not _NEEDS_ADDRESS}
    return {f"{point}:{kind}": f"{_words(kind)}: {text.replace('`', '')}" for kind, text in kinds.items()}


def _switched(rules: Sequence[Mapping[str, Any]]) -> Markup:
    if not rules:
        return Markup('<p class="soft">Nothing goes wrong.</p>')
    return fill("faults_switched", rows=joined([_row(rule) for rule in rules]))


def _row(rule: Mapping[str, Any]) -> Markup:
    spent = rule["times"] is not None and rule["struck"] >= rule["times"]
    return fill(
        "faults_row",
        where=_POINTS[rule["point"]],
        kind=_words(rule["kind"]),
        subject=rule["subject"] or "all of them",
        settings=_settings(rule),
        struck=f"{rule['struck']} of {'any number' if rule['times'] is None else rule['times']}",
        tone="" if spent else "bad",
        state="over" if spent else "on",
    )


def _settings(rule: Mapping[str, Any]) -> str:
    """Return the settings that a rule's kind makes use of, and the others where they are not as usual."""
    names = list(dict.fromkeys(_USED.findall(KINDS[rule["point"]][rule["kind"]])))
    names += [name for name, usual in _USUAL.items() if rule[name] != usual]
    return ", ".join(f"{name} {_plain(rule[name])}" for name in names)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _words(kind: str) -> str:
    return kind.replace("_", " ")
