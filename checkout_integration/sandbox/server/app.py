"""The WSGI application: one map of routes, one place where errors become responses, one run log entry per request."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import Map, RequestRedirect, Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import TRANSACTIONS_PATH, VERSION_HEADER
from checkout_integration.sandbox.api import ORDERS_PATH, ApiViews
from checkout_integration.sandbox.control import ControlTestingViews, ControlViews
from checkout_integration.sandbox.faults import spoil_response
from checkout_integration.sandbox.form import FormViews, PaymentViews
from checkout_integration.sandbox.operator import (
    ClockViews,
    DetailViews,
    FaultViews,
    OperatorTestingViews,
    OverviewViews,
    ProjectViews,
)
from checkout_integration.sandbox.pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.server.assets import asset_rules
from checkout_integration.sandbox.server.request_guard import check_request, forbid_frames
from checkout_integration.sandbox.wire import (
    LARGEST_BODY,
    RefusedError,
    finish,
    json_response,
    page_response,
    read_body,
    write_moment,
)

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from checkout_integration.sandbox.sandbox import Sandbox

_LOGGED: Final = ("/api/", "/merchant/")
_PAGES: Final = ("/form/", "/receipt/", "/_sandbox/operator/")
_HOME: Final = ("/", "/_sandbox/")
_BASIC: Final = (TRANSACTIONS_PATH, ORDERS_PATH)
"""Paths with HTTP Basic (AUT-03): a 401 names the scheme (RFC 9110)."""


class SandboxApp:
    """A sandbox as a WSGI application."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Route every view of `sandbox`."""
        self._sandbox = sandbox
        parts = (
            _api_views(sandbox),
            FormViews(sandbox),
            PaymentViews(sandbox),
            ControlViews(sandbox),
            ControlTestingViews(sandbox),
            OperatorTestingViews(sandbox),
            ClockViews(sandbox),
            FaultViews(sandbox),
            OverviewViews(sandbox),
            ProjectViews(sandbox),
            DetailViews(sandbox),
        )
        rules = [rule for part in parts for rule in part.rules()]
        home = Rule("/", methods=["GET"], endpoint=_home)
        routed = [home, *rules, *asset_rules()]
        self._endpoints = [rule.endpoint for rule in routed]
        self._routes = _numbered(tuple((rule.rule, frozenset(rule.methods or ())) for rule in routed))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle one request."""
        request = Request(environ)
        request.max_content_length = LARGEST_BODY
        response = self._answer(request)
        forbid_frames(request, response)
        self._log(request, response)
        finished = finish(request, response, self._sandbox.clock)
        return spoil_response(request, finished)(environ, start_response)

    def _answer(self, request: Request) -> Response:
        sandbox = self._sandbox
        try:
            check_request(request, sandbox.own_hosts, sandbox.public_url)
            number, arguments = self._routes.bind_to_environ(request.environ).match()
            response: Response = self._endpoints[number](request, **arguments)
        except RefusedError as error:
            return self._refusal(request, error)
        except RequestRedirect as error:
            return redirect(error.new_url, 308)
        except HTTPException as error:
            refused = self._framework_error(request, error.code or 500, error.name)
            if isinstance(error, MethodNotAllowed):
                refused.allow.update(error.valid_methods or ())  # RFC 9110: a 405 names the methods
            return refused
        except Exception as error:  # noqa: BLE001 -- the service responds with JSON even when it breaks (SVC-05)
            note = f"{type(error).__name__}: {error}"
            self._sandbox.log.record(
                at=self._now(), direction="in", method=request.method, url=request.path, status=500, note=note
            )
            return self._framework_error(request, 500, "Internal Server Error")
        return response

    def _framework_error(self, request: Request, status: int, message: str) -> Response:
        """Return an error of the framework; at deployed services with a message only (ERR-01)."""
        code = "" if self._sandbox.profile.framework_errors_short else f"fm000{status}"
        return self._refusal(request, RefusedError(status, code, message))

    def _refusal(self, request: Request, error: RefusedError) -> Response:
        """Return the error object, or a page for paths that people open."""
        if request.path.startswith(_PAGES) or request.path in _HOME:
            back = TO_OPERATOR if request.path.startswith("/_sandbox/") else None
            return page_response(message_page("Not possible", f"{error.text()}.", back), error.status)
        profile = self._sandbox.profile
        document = error.document(request.path, always_details=profile.details_always)
        response = json_response(document, error.status)
        if error.status == 401 and request.path in _BASIC:
            response.headers["WWW-Authenticate"] = 'Basic realm="transactions", charset="UTF-8"'
        return response

    def _log(self, request: Request, response: Response) -> None:
        if request.path.startswith(_LOGGED):
            self._sandbox.log.record(
                at=self._now(),
                direction="in",
                method=request.method,
                url=request.full_path.rstrip("?"),
                status=response.status_code,
                request=_body_of(request),
                answer=response.get_data(),
                version=request.headers.get(VERSION_HEADER, ""),
            )

    def _now(self) -> str:
        return write_moment(self._sandbox.clock.now())


@cache
def _numbered(routes: tuple[tuple[str, frozenset[str]], ...]) -> Map:
    """Return the map of routes, each with its number as endpoint.

    It is the same for each sandbox of a process: to compile it takes longer than all else when one starts, and tests
    start hundreds.
    """
    rules = [Rule(path, methods=methods, endpoint=number) for number, (path, methods) in enumerate(routes)]
    return Map(rules, strict_slashes=True)


def _api_views(sandbox: Sandbox) -> ApiViews:
    return ApiViews(
        creation=sandbox.creation,
        transactions_list=sandbox.transactions_list,
        cursor_list=sandbox.cursor_list,
        faults=sandbox.faults,
        profile=sandbox.profile,
        form_url=sandbox.form_url,
        token_form_url=sandbox.token_form_url,
    )


def _home(request: Request) -> Response:
    """Redirect to the operator's page."""
    return redirect("/_sandbox/", 303)


def _body_of(request: Request) -> bytes:
    """Return the request's body for the run log; a refused body is left out."""
    try:
        return read_body(request)
    except (RefusedError, HTTPException):
        return b""
