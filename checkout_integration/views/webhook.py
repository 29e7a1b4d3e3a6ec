"""The webhook: bytes and headers in, a flow called, an empty response out."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.views.decorators.csrf import csrf_exempt

from checkout_integration import telemetry
from checkout_integration.conf import app_settings
from checkout_integration.flows.monitoring import count_refused
from checkout_integration.flows.webhook import (
    CUT_SHORT,
    LARGEST_BODY,
    NO_LENGTH,
    TOO_LARGE,
    UNKNOWN_PROJECT,
    WebhookRequest,
    WebhookResponse,
    receive,
)
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.body import accepts_gzip
from checkout_integration.views.dispatching import CountingResponse, DispatchingResponse
from checkout_integration.views.transactions import outside_transactions

logger = logging.getLogger("checkout_integration.intake")


@csrf_exempt
@login_not_required
@outside_transactions  # the flow owns its transaction: 200 means committed
def webhook(request: HttpRequest, project: str = "default") -> HttpResponse:
    """Receive one notification (EP5-01) and acknowledge it with an empty 200 (EP5-02).

    Refusals carry the service's error object; docs/guarantees.md says what each status means.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    arrived_at = datetime.now(UTC)
    packed = accepts_gzip(request.META.get("HTTP_ACCEPT_ENCODING", ""))
    configured = app_settings().projects.get(project)
    if configured is None:
        return _refuse(UNKNOWN_PROJECT, "", packed=packed)
    try:
        body = _body(request)
    except Exception:  # noqa: BLE001  # the client left, or sent no chunks: each server has its own errors
        body = CUT_SHORT
    if isinstance(body, WebhookResponse):
        return _refuse(body, project, packed=packed)
    delivered = WebhookRequest(
        body=body,
        # Not ``headers``, which parses all of them, for a forgery too.
        authorization=request.META.get("HTTP_AUTHORIZATION"),
        content_encoding=request.META.get("HTTP_CONTENT_ENCODING", ""),
        arrived_at=arrived_at,
    )
    answer = receive(configured, delivered)
    if not answer.stored and 400 <= answer.status < 500:  # a decision about a customer is stored
        return _refuse(answer, project, packed=packed)
    response = respond(answer, packed=packed)
    if answer.notification is not None and isinstance(response, DispatchingResponse):
        response.notification = answer.notification
    return response


def _refuse(answer: WebhookResponse, project: str, *, packed: bool) -> HttpResponse:
    """Refuse a request: it is logged without its content, and counted without SQL until the response is sent.

    ``project``: "" for an unknown one.
    """
    count_refused(project, answer.code)
    telemetry.count(telemetry.REFUSED, project=project, reason=answer.code)
    ids = {"project": project, "reason": answer.code}
    logger.info("A request was refused: %s, %s.", answer.status, answer.code, extra=ids)
    return respond(answer, packed=packed)


def _body(request: HttpRequest) -> bytes | WebhookResponse:
    """Return the body as sent, within the limit, or the response that refuses it unread.

    Django takes a body without a length for an empty one under WSGI; a server that marks its input as terminated lets it be
    read all the same. A middleware may have read the body before.
    """
    if not request.META.get("CONTENT_LENGTH"):
        return _body_without_length(request)
    try:
        length = int(request.META["CONTENT_LENGTH"])
    except ValueError:
        return NO_LENGTH
    if length > LARGEST_BODY:
        return TOO_LARGE
    return _read(request, request.read, length) if length else b""


def _body_without_length(request: HttpRequest) -> bytes | WebhookResponse:
    """Read a body that is chunked, or of a protocol that needs no length, as HTTP/2."""
    if hasattr(request, "scope"):  # ASGI: Django has put the whole body together
        source: Callable[[int], bytes] = request.read
    elif request.META.get("wsgi.input_terminated"):
        source = request.META["wsgi.input"].read
    else:
        return NO_LENGTH if "HTTP_TRANSFER_ENCODING" in request.META else b""
    body = _read(request, source, LARGEST_BODY + 1)
    return TOO_LARGE if len(body) > LARGEST_BODY else body


def _read(request: HttpRequest, source: Callable[[int], bytes], size: int) -> bytes:
    """Read bytes of the body; not ``request.body``, which obeys DATA_UPLOAD_MAX_MEMORY_SIZE, unless it was read before."""
    body: bytes | None = getattr(request, "_body", None)
    # Without a length, Django gives a middleware b"" and leaves the input unread.
    return body or source(size)


def respond(answer: WebhookResponse, *, packed: bool = False) -> HttpResponse:
    """Return the HTTP response: an empty body on 200 (EVT-09), else the error object (ERR-01 to ERR-03).

    The error object is gzipped for a sender that asks for it (SVC-07).
    """
    kind = DispatchingResponse if answer.stored else CountingResponse
    if answer.status == 200:
        response = kind(b"", status=200)
        del response["Content-Type"]
        response["Content-Length"] = "0"
        return response
    body = _error_object(answer.code, answer.message, packed)
    headers = {"Content-Length": str(len(body)), "Vary": "Accept-Encoding"}
    if packed:
        headers["Content-Encoding"] = "gzip"
    return kind(body, status=answer.status, content_type="application/json", headers=headers)


# There are few different refusals: thousands of forged requests must not have each one composed.
@lru_cache(maxsize=64)
def _error_object(code: str, message: str, packed: bool) -> bytes:
    body = strict_json.dumps({"code": code, "message": message, "details": ""}).encode()
    return gzip.compress(body, mtime=0) if packed else body
