"""The operator page's part about testing cases: run one, and see the newest results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.control import run_testing_case
from checkout_integration.sandbox.pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.wire import RefusedError, page_response

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox


class OperatorTestingViews:
    """The operator's view that runs a testing case."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [Rule("/_sandbox/operator/testing", methods=["POST"], endpoint=self.run)]

    def run(self, request: Request) -> Response:
        """Run a case, and return to the page, which shows the result."""
        try:
            run_testing_case(self._sandbox, request.form.get("case", ""), request.form)
        except RefusedError as error:
            return page_response(message_page("Not possible", error.text(), TO_OPERATOR), error.status)
        return redirect("/_sandbox/#testing", 303)
