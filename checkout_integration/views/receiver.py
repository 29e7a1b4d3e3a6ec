"""The receiver of notifications: bytes and headers in, a flow called, an empty answer out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.views.decorators.csrf import csrf_exempt

from checkout_integration.conf import app_settings
from checkout_integration.flows.answer import NO_LENGTH, TOO_LARGE, UNKNOWN_PROJECT, Answer
from checkout_integration.flows.intake import LARGEST_BODY, Delivered, receive
from checkout_integration.protocol import strict_json
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
    configured = app_settings().projects.get(project)
    if configured is None:
        return respond(UNKNOWN_PROJECT)
    body = _body(request)
    if isinstance(body, Answer):
        return respond(body)
    delivered = Delivered(
        body=body,
        authorization=request.headers.get("Authorization"),
        content_encoding=request.headers.get("Content-Encoding", ""),
        arrived_at=arrived_at,
    )
    return respond(receive(configured, delivered))


def _body(request: HttpRequest) -> bytes | Answer:
    """The body as sent, within the limit, or the answer that refuses it unread.

    Django takes a body without a length for an empty one under WSGI; a server that marks its input as terminated lets it be
    read all the same (A.43). A middleware may have read the body before.
    """
    if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
        return _chunked_body(request)
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return NO_LENGTH
    if length > LARGEST_BODY:
        return TOO_LARGE
    return _read(request, lambda: request.read(length)) if length else b""


def _chunked_body(request: HttpRequest) -> bytes | Answer:
    terminated = request.META.get("wsgi.input_terminated")
    if terminated:
        source = request.META["wsgi.input"]
    elif hasattr(request, "scope"):  # ASGI: the server has put the whole body together
        source = request
    else:
        return NO_LENGTH
    body = _read(request, lambda: source.read(LARGEST_BODY + 1))
    return TOO_LARGE if len(body) > LARGEST_BODY else body


def _read(request: HttpRequest, read: Callable[[], bytes]) -> bytes:
    """Bytes of the body; not ``request.body``, which obeys DATA_UPLOAD_MAX_MEMORY_SIZE, unless it has been read already."""
    held: Any = getattr(request, "_body", None)
    return held or read()  # without a length, Django gives a middleware b"" and leaves the input unread


def respond(answer: Answer) -> HttpResponse:
    """The answer as a response: nothing at all on 200, else the error object (ERR-01 to ERR-03)."""
    kind = HandingOver if answer.stored else HttpResponse
    if answer.status == 200:
        response = kind(b"", status=200)
        del response["Content-Type"]
    else:
        error = {"code": answer.code, "message": answer.message, "details": ""}
        response = kind(strict_json.dumps(error), status=answer.status, content_type="application/json")
    response["Content-Length"] = str(len(response.content))
    return response
