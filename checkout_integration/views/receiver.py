"""The receiver of notifications: bytes and headers in, a flow called, an empty answer out."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.views.decorators.csrf import csrf_exempt

from checkout_integration import dispatch
from checkout_integration.conf import app_settings
from checkout_integration.flows.webhook.receive import LARGEST_BODY, Delivered, receive
from checkout_integration.flows.webhook.response import (
    CUT_SHORT,
    NO_LENGTH,
    TOO_LARGE,
    UNKNOWN_PROJECT,
    Answer,
)
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.body import accepts_gzip
from checkout_integration.views.handing_over import HandingOver
from checkout_integration.views.transactions import outside_transactions


@csrf_exempt
@login_not_required
@outside_transactions  # the flow owns its transaction: 200 means committed (G1)
def webhook(request: HttpRequest, project: str = "default") -> HttpResponse:
    """Receives one notification (EP5-01) and acknowledges it with an empty 200 (EP5-02).

    Refusals carry the service's error object; see guarantee G2 for which answer means what.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    arrived_at = datetime.now(UTC)
    packed = accepts_gzip(request.META.get("HTTP_ACCEPT_ENCODING", ""))
    configured = app_settings().projects.get(project)
    if configured is None:
        return respond(UNKNOWN_PROJECT, packed=packed)
    try:
        body = _body(request)
    except Exception:  # noqa: BLE001  # the client left, or sent no chunks: each server has its own errors
        body = CUT_SHORT
    if isinstance(body, Answer):
        return respond(body, packed=packed)
    delivered = Delivered(
        body=body,
        # Not ``headers``, which parses all of them, for a forgery too.
        authorization=request.META.get("HTTP_AUTHORIZATION"),
        content_encoding=request.META.get("HTTP_CONTENT_ENCODING", ""),
        arrived_at=arrived_at,
    )
    answer = receive(configured, delivered)
    response = respond(answer, packed=packed)
    if answer.notification is not None and isinstance(response, HandingOver):
        response.notification = answer.notification
        response.order_ids = dispatch.apply_now(answer.notification)
    return response


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _body(request: HttpRequest) -> bytes | Answer:
    """The body as sent, within the limit, or the answer that refuses it unread.

    Django takes a body without a length for an empty one under WSGI; a server that marks its input as terminated lets it be
    read all the same (A.43). A middleware may have read the body before.
    """
    if not request.META.get("CONTENT_LENGTH"):
        return _body_without_length(request)
    try:
        length = int(request.META["CONTENT_LENGTH"])
    except ValueError:
        return NO_LENGTH
    if length > LARGEST_BODY:
        return TOO_LARGE
    return _read(request, request, length) if length else b""


def _body_without_length(request: HttpRequest) -> bytes | Answer:
    """Chunked, or of a protocol that needs no length, as HTTP/2."""
    if hasattr(request, "scope"):  # ASGI: Django has put the whole body together
        source: _Source = request
    elif request.META.get("wsgi.input_terminated"):
        source = request.META["wsgi.input"]
    else:
        return NO_LENGTH if "HTTP_TRANSFER_ENCODING" in request.META else b""
    body = _read(request, source, LARGEST_BODY + 1)
    return TOO_LARGE if len(body) > LARGEST_BODY else body


def _read(request: HttpRequest, source: _Source, size: int) -> bytes:
    """Bytes of the body; not ``request.body``, which obeys DATA_UPLOAD_MAX_MEMORY_SIZE, unless it has been read already."""
    held: Any = getattr(request, "_body", None)
    # Without a length, Django gives a middleware b"" and leaves the input unread.
    return held or source.read(size)


def respond(answer: Answer, *, packed: bool = False) -> HttpResponse:
    """Return the answer as a response: nothing at all on 200 (EVT-09), else the error object (ERR-01 to ERR-03).

    The error object is gzipped for a sender that asks for it (SVC-07).
    """
    kind = HandingOver if answer.stored else HttpResponse
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


@lru_cache(
    maxsize=64
)  # refusals are few and the same, and whoever forges by the thousand must not have each one written
def _error_object(code: str, message: str, packed: bool) -> bytes:
    body = strict_json.dumps({"code": code, "message": message, "details": ""}).encode()
    return gzip.compress(body, mtime=0) if packed else body
