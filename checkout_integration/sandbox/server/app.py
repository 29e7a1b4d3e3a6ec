"""The WSGI application: one map of routes, one place where errors become responses, one run log entry per request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import Map, RequestRedirect, Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import (
    ORDER_PATH,
    TOKENS_PATH,
    TRANSACTIONS_PATH,
    VERSION_HEADER,
)
from checkout_integration.sandbox.api.cursor_list import ORDERS_PATH
from checkout_integration.sandbox.control.control_views import ControlViews
from checkout_integration.sandbox.faults.api_faults import spoil_response
from checkout_integration.sandbox.form.form_views import FormViews
from checkout_integration.sandbox.pages.rendering import message_page
from checkout_integration.sandbox.server import assets
from checkout_integration.sandbox.server.api_views import ApiViews
from checkout_integration.sandbox.server.request_guard import check_request, forbid_frames
from checkout_integration.sandbox.wire.errors import RefusedError
from checkout_integration.sandbox.wire.http import (
    LARGEST_BODY,
    finish,
    json_response,
    page_response,
    read_body,
)
from checkout_integration.sandbox.wire.moments import write_moment
from checkout_integration.sandbox.wire.run_log import Exchange

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from checkout_integration.sandbox.sandbox import Sandbox

_LOGGED: Final = ("/api/", "/merchant/")
_PAGES: Final = ("/form/", "/receipt/")
_HOME: Final = ("/", "/_sandbox/")
_BASIC: Final = (TRANSACTIONS_PATH, ORDERS_PATH)
"""Paths with HTTP Basic (AUT-03): a 401 names the scheme (RFC 9110)."""


def _get(path: str, endpoint: str) -> Rule:
    return Rule(path, methods=["GET"], endpoint=endpoint)


def _post(path: str, endpoint: str) -> Rule:
    return Rule(path, methods=["POST"], endpoint=endpoint)


ROUTES: Final = Map(
    [
        _post(TOKENS_PATH, "api.tokens"),
        _post(ORDER_PATH, "api.order"),
        _get(TRANSACTIONS_PATH, "api.transactions"),
        _get(ORDERS_PATH, "api.orders"),
        _get("/form/", "form.show"),
        _post("/form/cancel", "form.cancel"),
        _post("/form/again", "form.again"),
        _get("/receipt/<order_id>/<receipt_id>", "form.receipt"),
        _post("/form/pay", "form.pay"),
        _post("/form/code", "form.take_code"),
        _get("/_sandbox/orders", "control.orders"),
        _get("/_sandbox/orders/<order_id>", "control.order"),
        _post("/_sandbox/orders/<order_id>/<action>", "control.act"),
        _get("/_sandbox/projects", "control.projects"),
        Rule("/_sandbox/project", methods=["GET", "PATCH"], endpoint="control.project"),
        Rule("/_sandbox/project/<project_id>", methods=["GET", "PATCH"], endpoint="control.project"),
        Rule("/_sandbox/clock", methods=["GET", "POST"], endpoint="control.clock"),
        Rule("/_sandbox/faults", methods=["GET", "PUT", "POST"], endpoint="control.faults"),
        _get("/_sandbox/faults/kinds", "control.fault_kinds"),
        _get("/_sandbox/testing", "control.testing"),
        _post("/_sandbox/testing/<case>", "control.run_testing_case"),
        _get("/_sandbox/log", "control.log"),
        _post("/_sandbox/deliver", "control.deliver"),
        _get("/_sandbox/", "assets.operator_page"),
        _get("/", "assets.home"),
        _get("/assets/<name>", "assets.asset"),
        _get("/client.js", "assets.client_script"),
        _get("/openapi.yaml", "assets.description"),
    ]
)
"""Every address, with its view: the name of a class of views, and of a method."""


class SandboxApp:
    """A sandbox as a WSGI application."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Route every view of `sandbox`."""
        self._sandbox = sandbox
        self._views = {
            "api": ApiViews(sandbox),
            "form": FormViews(sandbox),
            "control": ControlViews(sandbox),
            "assets": assets,
        }

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
            endpoint, arguments = ROUTES.bind_to_environ(request.environ).match()
            views, _, name = endpoint.partition(".")
            response: Response = getattr(self._views[views], name)(request, **arguments)
        except RefusedError as error:
            return self._refusal(request, error)
        except RequestRedirect as error:
            return redirect(error.new_url, 308)
        except HTTPException as error:
            refused = self._framework_error(request, error.code or 500, error.name, error.description or "")
            if isinstance(error, MethodNotAllowed):
                refused.allow.update(error.valid_methods or ())  # RFC 9110: a 405 names the methods
            return refused
        except Exception as error:  # noqa: BLE001 -- the service responds with JSON even when it breaks (SVC-05)
            note = f"{type(error).__name__}: {error}"
            self._record(request, 500, url=request.path, note=note)
            return self._framework_error(request, 500, "Internal Server Error")
        return response

    def _framework_error(self, request: Request, status: int, message: str, details: str = "") -> Response:
        """Return an error of the framework; at deployed services with a message only (ERR-01, HTT-14)."""
        code = "" if self._sandbox.profile.framework_errors_short else f"fm000{status}"
        return self._refusal(request, RefusedError(status, code, message, details))

    def _refusal(self, request: Request, error: RefusedError) -> Response:
        """Return the error object, or a page for paths that people open."""
        if request.path.startswith(_PAGES) or request.path in _HOME:
            return page_response(message_page("Not possible", f"{error.text()}."), error.status)
        profile = self._sandbox.profile
        document = error.document(request.path, always_details=profile.details_always)
        response = json_response(document, error.status)
        if error.status == 401 and request.path in _BASIC:
            response.headers["WWW-Authenticate"] = 'Basic realm="transactions", charset="UTF-8"'
        return response

    def _log(self, request: Request, response: Response) -> None:
        if request.path.startswith(_LOGGED):
            self._record(
                request,
                response.status_code,
                url=request.full_path.rstrip("?"),
                request=_body_of(request),
                answer=response.get_data(),
                version=request.headers.get(VERSION_HEADER, ""),
            )

    def _record(self, received: Request, status: int, **more: Any) -> None:
        at = write_moment(self._sandbox.clock.now())
        exchange = Exchange(at=at, direction="in", method=received.method, status=status, **more)
        self._sandbox.log.record(exchange)


def _body_of(request: Request) -> bytes:
    """Return the request's body for the run log; a refused body is left out."""
    try:
        return read_body(request)
    except (RefusedError, HTTPException):
        return b""
