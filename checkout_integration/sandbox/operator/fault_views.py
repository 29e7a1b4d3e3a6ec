"""The operator page's form for faults, and those that are switched on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.faults import KINDS, SUBJECTS, Fault, FaultKind, FaultPoint
from checkout_integration.sandbox.pages import render
from checkout_integration.sandbox.wire import page_response

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_POINTS: Final = {
    FaultPoint.API: "Answers of the API",
    FaultPoint.LIST: "The transaction list",
    FaultPoint.NOTIFICATION: "Notifications",
    FaultPoint.VALIDATION: "The question user.validate",
}
_NEEDS_ADDRESS: Final = FaultKind.REDIRECT
"""It needs an address, so only the control API switches it on."""
_LABELS: Final = {"times": "Times", "seconds": "Seconds", "number": "Number", "status": "Status"}
_LARGEST: Final = 10**9
_WHOLE: Final = re.compile(r"-?[0-9]+")
_EMPTY: Final = {"times": "1"}
_USED: Final = re.compile(r"`(seconds|number|status|target)`")
_USUAL: Final = {"skip": 0, "probability": 1}


class FaultViews:
    """The operator's views of the fault switchboard."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._faults = sandbox.faults

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/operator/faults", methods=["POST"], endpoint=self.switch_on),
            Rule("/_sandbox/operator/faults/off", methods=["POST"], endpoint=self.switch_off),
        ]

    def switch_on(self, request: Request) -> Response:
        """Add the fault of the form; an invalid one is shown again with its problem."""
        try:
            self._faults.add(_fault(request.form))
        except ValueError as error:
            form = fault_form(self._faults.document()["rules"], request.form, f"{error}.")
            return page_response(render("fault", fault_form=form), 400)
        return redirect("/_sandbox/#faults", 303)

    def switch_off(self, request: Request) -> Response:
        """Switch all faults off."""
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
    """Read a whole number; only that of the field “Number” may be negative."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"“{label}” must be a whole number")
    if len(text.lstrip("-0")) >= len(str(_LARGEST)):
        raise ValueError(f"“{label}” must be below {_LARGEST:,}")
    if text.startswith("-") and label != _LABELS["number"]:
        raise ValueError(f"“{label}” must not be below zero")
    return int(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultRow:
    """One rule that is switched on, in words."""

    where: str
    kind: str
    subject: str
    settings: str
    struck: str
    spent: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultForm:
    """The operator's form for one more fault, and the rules that are switched on.

    Attributes:
        groups: heading to the faults below it, value to text.
        subjects: what a rule can be narrowed to, value to text.
        entered: the values of the fields.
        problem: why the values were refused, "" when they were not.
    """

    groups: Mapping[str, Mapping[str, str]]
    subjects: Mapping[str, str]
    entered: Mapping[str, str]
    problem: str
    rows: Sequence[FaultRow]


def fault_form(
    rules: Sequence[Mapping[str, Any]], entered: Mapping[str, str] = _EMPTY, problem: str = ""
) -> FaultForm:
    """Return the form with the rules of the switchboard."""
    subjects = sorted({subject for names in SUBJECTS.values() for subject in names})
    return FaultForm(
        groups={_POINTS[point]: _texts(point) for point in FaultPoint},
        subjects={"": "all of them", **{subject: subject for subject in subjects}},
        entered=entered,
        problem=problem,
        rows=[_row(rule) for rule in rules],
    )


def _texts(point: FaultPoint) -> dict[str, str]:
    kinds = {kind: text for kind, text in KINDS[point].items() if kind is not _NEEDS_ADDRESS}
    return {f"{point}:{kind}": f"{_words(kind)}: {text.replace('`', '')}" for kind, text in kinds.items()}


def _row(rule: Mapping[str, Any]) -> FaultRow:
    return FaultRow(
        where=_POINTS[rule["point"]],
        kind=_words(rule["kind"]),
        subject=rule["subject"] or "all of them",
        settings=_settings(rule),
        struck=f"{rule['struck']} of {'any number' if rule['times'] is None else rule['times']}",
        spent=rule["times"] is not None and rule["struck"] >= rule["times"],
    )


def _settings(rule: Mapping[str, Any]) -> str:
    """Return the settings that a rule's kind uses, and others that differ from the default."""
    names = list(dict.fromkeys(_USED.findall(KINDS[rule["point"]][rule["kind"]])))
    names += [name for name, usual in _USUAL.items() if rule[name] != usual]
    return ", ".join(f"{name} {_plain(rule[name])}" for name in names)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _words(kind: str) -> str:
    return kind.replace("_", " ")
