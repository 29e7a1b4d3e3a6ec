"""The operator page's part about faults: which are switched on, and a form for one more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup
from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.faults import Fault
from checkout_integration.sandbox.faults_catalogue import KINDS, SUBJECTS, FaultKind, FaultPoint
from checkout_integration.sandbox.form_pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.pages import choices, fill, joined
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
_NUMBERS: Final = ("times", "seconds", "number", "status")


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
        """Add the fault that the form names."""
        try:
            self._faults.add(_fault(request.form))
        except ValueError as error:
            return page_answer(message_page("Not a fault", f"{error}.", TO_OPERATOR), 400)
        return redirect("/_sandbox/#faults", 303)

    def switch_off(self, request: Request) -> Response:
        """Take all of them away."""
        self._faults.set([])
        return redirect("/_sandbox/#faults", 303)


def _fault(form: Mapping[str, str]) -> Fault:
    point, _, kind = form.get("fault", "").partition(":")
    numbers = {name: form[name].strip() for name in _NUMBERS if form.get(name, "").strip()}
    for name, text in numbers.items():
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise ValueError(f"{name} must be a whole number")
    given: dict[str, Any] = {name: int(text) for name, text in numbers.items()}
    return Fault(point=point, kind=kind, subject=form.get("subject", ""), **given)  # type: ignore[arg-type]  # it looks itself


def faults_part(rules: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the operator page's form for faults, with those that are switched on."""
    groups = [
        Markup('<optgroup label="{}">{}</optgroup>').format(_POINTS[point], choices(_texts(point)))
        for point in FaultPoint
    ]
    subjects = sorted({subject for each in SUBJECTS.values() for subject in each})
    return fill(
        "faults",
        faults=joined(groups),
        subjects=choices({"": "all of them", **{each: each for each in subjects}}),
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
        struck=f"{rule['struck']} of {'any number' if rule['times'] is None else rule['times']}",
        tone="" if spent else "bad",
        state="over" if spent else "on",
    )


def _words(kind: str) -> str:
    return kind.replace("_", " ")
