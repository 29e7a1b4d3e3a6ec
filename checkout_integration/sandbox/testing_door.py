"""The doors to the testing cases: the control API's, and the operator page's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup
from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import TestingCase
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.form_pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.pages import choices, fill, joined
from checkout_integration.sandbox.project import SandboxProject
from checkout_integration.sandbox.testing_cases import Trial
from checkout_integration.sandbox.wire import json_answer, page_answer, read_asked

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_TESTER: Final = "tester"


class TestingDoor:
    """Runs testing cases on demand."""

    __test__ = False  # not a test class, whatever its name says to pytest

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/testing", methods=["GET"], endpoint=self.results),
            Rule("/_sandbox/testing/<case>", methods=["POST"], endpoint=self.run),
            Rule("/_sandbox/operator/testing", methods=["POST"], endpoint=self.press),
        ]

    def results(self, request: Request) -> Response:
        """Tell the newest results, newest first: {"trials"}."""
        return json_answer({"trials": [trial.document() for trial in self._sandbox.testing.trials()]})

    def run(self, request: Request, case: str) -> Response:
        """Run a case for {"external_id", "project_id"}, both optional; answers what came of it."""
        return json_answer(self._run(case, read_asked(request)).document())

    def press(self, request: Request) -> Response:
        """Run a case from the operator's page, which then shows the result."""
        try:
            self._run(request.form.get("case", ""), request.form)
        except RefusedError as error:
            return page_answer(message_page("Not possible", error.text(), TO_OPERATOR), error.status)
        return redirect("/_sandbox/#testing", 303)

    def _run(self, case: str, asked: Any) -> Trial:
        if case not in set(TestingCase):
            raise RefusedError(404, "sb000001", "no such testing case", f"one of {', '.join(TestingCase)}")
        project = self._sandbox.projects.named(str(asked.get("project_id") or ""))
        external_id = str(asked.get("external_id") or _TESTER)[:255]
        return self._sandbox.testing.run(project, TestingCase(case), external_id)


def testing_part(projects: Sequence[SandboxProject], trials: Sequence[Trial]) -> Markup:
    """Return the operator page's form for testing cases, with the newest results."""
    return fill(
        "testing",
        projects=choices({project.project_id: project.project_id for project in projects}),
        cases=choices({case: case.replace("_", " ") for case in TestingCase}),
        tester=_TESTER,
        results=_results(trials),
    )


def _results(trials: Sequence[Trial]) -> Markup:
    if not trials:
        return Markup('<p class="soft">No case was run yet.</p>')
    rows = [
        fill(
            "testing_row",
            at=trial.at[11:19],
            case=trial.case.replace("_", " "),
            event=trial.event,
            expected=trial.expected,
            answered=f"{trial.status or 'no answer'} {trial.code}",
            tone="good" if trial.passed else "bad",
            verdict="as expected" if trial.passed else "not as expected",
        )
        for trial in trials
    ]
    return fill("testing_results", rows=joined(rows))
