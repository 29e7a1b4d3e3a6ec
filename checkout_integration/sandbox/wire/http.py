"""Request bodies and responses: JSON only, gzip both ways (SVC-05, SVC-07, SVC-08)."""

from __future__ import annotations

import gzip
import zlib
from email.utils import format_datetime
from typing import Any, Final

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.wire.errors import Case, RefusedError, invalid
from checkout_integration.sandbox.wire.json_text import (
    NotJsonError,
    NumberOutOfRangeError,
    read_json,
    write_json,
)

LARGEST_BODY: Final = 1_048_576
_PAGE_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " form-action 'self'; base-uri 'none'"
)


def read_body(request: Request) -> bytes:
    """Return the body, unpacked when it is gzip.

    Raises:
        RefusedError: broken gzip, another encoding, or more than a mebibyte.
    """
    try:
        body = request.get_data(cache=True)
    except RequestEntityTooLarge:
        raise RefusedError(413, Case.TOO_LARGE, "the body is too large") from None
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise RefusedError(400, Case.ENCODING, "unknown Content-Encoding")
    return _gunzip(body)


def _gunzip(body: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(body, LARGEST_BODY + 1)
    except zlib.error:
        raise RefusedError(400, Case.ENCODING, "the body is not gzip") from None
    if len(plain) > LARGEST_BODY or not unpacker.eof:
        raise RefusedError(400, Case.ENCODING, "the gzip body is cut or too large")
    return plain


def read_document(request: Request, not_json_status: int) -> dict[str, Any]:
    """Return the JSON object of an API request.

    Raises:
        RefusedError: `not_json_status` for another format or no JSON, 400 for JSON that is no object.
    """
    body = read_body(request)
    if request.mimetype != "application/json":
        raise RefusedError(
            not_json_status, Case.NOT_JSON, "request format not supported", "use application/json"
        )
    try:
        document = read_json(body)
    except NumberOutOfRangeError as error:
        raise invalid(str(error)) from None
    except NotJsonError as error:
        raise RefusedError(not_json_status, Case.NOT_JSON, "the body is not JSON", str(error)) from None
    if not isinstance(document, dict):
        raise invalid("the body must be an object")
    return document


def read_control_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a control request; no body is an empty one.

    Raises:
        RefusedError: 400, the body is something else.
    """
    body = read_body(request)
    try:
        document = read_json(body) if body else {}
    except NotJsonError as error:
        raise RefusedError(400, "sb000006", str(error)) from None
    if not isinstance(document, dict):
        raise RefusedError(400, "sb000006", "the body must be an object")
    return document


def json_response(document: Any, status: int = 200) -> Response:
    """Return a JSON response."""
    return Response(write_json(document), status, mimetype="application/json")


def page_response(page: str, status: int = 200) -> Response:
    """Return an HTML page with a policy that forbids foreign content."""
    response = Response(page, status, mimetype="text/html")
    response.headers["Content-Security-Policy"] = _PAGE_POLICY
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def finish(request: Request, response: Response, clock: VirtualClock) -> Response:
    """Add the Date of the virtual clock, and pack a non-empty body when the client asks for gzip."""
    response.headers["Date"] = format_datetime(clock.now(), usegmt=True)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.add("Vary", "Accept-Encoding")
    body = response.get_data()
    if body and request.accept_encodings["gzip"] > 0:
        response.set_data(gzip.compress(body, compresslevel=5, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response
