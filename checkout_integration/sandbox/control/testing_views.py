"""The control API's views of the testing cases: run one, and read the newest results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import TestingCase
from checkout_integration.sandbox.notify import Trial
from checkout_integration.sandbox.wire import RefusedError, json_response, read_control_body

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

DEFAULT_TESTER: Final = "tester"


class ControlTestingViews:
    """The control API's views of the testing cases."""

    __test__ = False  # pytest must not collect this class

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/testing", methods=["GET"], endpoint=self.results),
            Rule("/_sandbox/testing/<case>", methods=["POST"], endpoint=self.run),
        ]

    def results(self, request: Request) -> Response:
        """Return the newest results, newest first: {"trials"}."""
        return json_response({"trials": [trial.document() for trial in self._sandbox.testing.trials()]})

    def run(self, request: Request, case: str) -> Response:
        """Run a case for {"external_id", "project_id"}, both optional, and return its result."""
        return json_response(run_testing_case(self._sandbox, case, read_control_body(request)).document())


def run_testing_case(sandbox: Sandbox, case: str, values: Mapping[str, Any]) -> Trial:
    """Run the case of that name for `external_id` and `project_id` of `values`.

    Raises:
        RefusedError: 404 no such case or project, 409 the project has no webhook URL.
    """
    if case not in set(TestingCase):
        raise RefusedError(404, "sb000001", "no such testing case", f"one of {', '.join(TestingCase)}")
    project = sandbox.projects.get(str(values.get("project_id") or ""))
    external_id = str(values.get("external_id") or DEFAULT_TESTER)[:255]
    return sandbox.testing.run(project, TestingCase(case), external_id)
