"""The WSGI application: one map of routes, one place where errors become answers, one run log entry per request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import Map, RequestRedirect, Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import TRANSACTIONS_PATH, VERSION_HEADER
from checkout_integration.sandbox.api import Api
from checkout_integration.sandbox.assets_route import asset_rules
from checkout_integration.sandbox.control import Control
from checkout_integration.sandbox.cursor_list import ORDERS_PATH
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.form import Form
from checkout_integration.sandbox.form_pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.operator_clock import OperatorClock
from checkout_integration.sandbox.operator_details import OperatorDetails
from checkout_integration.sandbox.operator_faults import OperatorFaults
from checkout_integration.sandbox.operator_page import OperatorPage
from checkout_integration.sandbox.operator_project import OperatorProject
from checkout_integration.sandbox.paying import Paying
from checkout_integration.sandbox.request_guard import check_request, forbid_frames
from checkout_integration.sandbox.testing_door import TestingDoor
from checkout_integration.sandbox.unreliable import spoiled
from checkout_integration.sandbox.wire import LARGEST_BODY, finish, json_answer, page_answer, read_body

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from checkout_integration.sandbox.sandbox import Sandbox

_LOGGED: Final = ("/api/", "/merchant/")
_PAGES: Final = ("/form/", "/receipt/", "/_sandbox/operator/")
_HOME: Final = ("/", "/_sandbox/")
_BASIC: Final = (TRANSACTIONS_PATH, ORDERS_PATH)
"""What is read with HTTP Basic (AUT-03), so that a 401 says so (RFC 9110)."""


class SandboxApp:
    """A sandbox as a WSGI application."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Route every door of `sandbox`."""
        self._sandbox = sandbox
        parts = (
            Api(sandbox),
            Form(sandbox),
            Paying(sandbox),
            Control(sandbox),
            TestingDoor(sandbox),
            OperatorClock(sandbox),
            OperatorFaults(sandbox),
            OperatorPage(sandbox),
            OperatorProject(sandbox),
            OperatorDetails(sandbox),
        )
        rules = [rule for part in parts for rule in part.rules()]
        home = Rule("/", methods=["GET"], endpoint=_home)
        self._routes = Map([home, *rules, *asset_rules()], strict_slashes=True)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        request.max_content_length = LARGEST_BODY
        answer = self._answer(request)
        forbid_frames(request, answer)
        self._log(request, answer)
        finished = finish(request, answer, self._sandbox.clock)
        return spoiled(request, finished)(environ, start_response)

    def _answer(self, request: Request) -> Response:
        sandbox = self._sandbox
        try:
            check_request(request, sandbox.own_hosts, sandbox.public_url)
            endpoint, arguments = self._routes.bind_to_environ(request.environ).match()
            answer: Response = endpoint(request, **arguments)
        except RefusedError as error:
            return self._refusal(request, error)
        except RequestRedirect as error:
            return redirect(error.new_url, 308)
        except HTTPException as error:
            refused = self._framework_error(request, error.code or 500, error.name)
            if isinstance(error, MethodNotAllowed):
                refused.allow.update(error.valid_methods or ())  # RFC 9110: a 405 names the methods
            return refused
        except Exception as error:  # noqa: BLE001 -- WHY: the service answers JSON even when it breaks (SVC-05)
            note = f"{type(error).__name__}: {error}"
            self._sandbox.log.record(
                at=self._now(), direction="in", method=request.method, url=request.path, status=500, note=note
            )
            return self._framework_error(request, 500, "Internal Server Error")
        return answer

    def _framework_error(self, request: Request, status: int, message: str) -> Response:
        """Answer what no operation answered; in the field with a message alone (ERR-01)."""
        code = "" if self._sandbox.profile.framework_errors_short else f"fm000{status}"
        return self._refusal(request, RefusedError(status, code, message))

    def _refusal(self, request: Request, error: RefusedError) -> Response:
        """Return the error object, or a page where people are."""
        if request.path.startswith(_PAGES) or request.path in _HOME:
            back = TO_OPERATOR if request.path.startswith("/_sandbox/") else None
            return page_answer(message_page("Not possible", f"{error.text()}.", back), error.status)
        profile = self._sandbox.profile
        document = error.document(request.path, always_details=profile.details_always)
        answer = json_answer(document, error.status)
        if error.status == 401 and request.path in _BASIC:
            answer.headers["WWW-Authenticate"] = 'Basic realm="transactions", charset="UTF-8"'
        return answer

    def _log(self, request: Request, answer: Response) -> None:
        if request.path.startswith(_LOGGED):
            self._sandbox.log.record(
                at=self._now(),
                direction="in",
                method=request.method,
                url=request.full_path.rstrip("?"),
                status=answer.status_code,
                request=_body_of(request),
                answer=answer.get_data(),
                version=request.headers.get(VERSION_HEADER, ""),
            )

    def _now(self) -> str:
        return write_moment(self._sandbox.clock.now())


def _home(request: Request) -> Response:
    """Lead whoever opens the bare address to the operator's page."""
    return redirect("/_sandbox/", 303)


def _body_of(request: Request) -> bytes:
    """Return the request's body for the run log; one that was refused is left out."""
    try:
        return read_body(request)
    except (RefusedError, HTTPException):
        return b""
