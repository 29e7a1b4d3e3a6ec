"""Faults of the API: before a request is handled, and on the response's way back."""

from __future__ import annotations

import gzip
import select
import socket
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.faults.catalogue import LONGEST_WAIT, FaultKind
from checkout_integration.sandbox.faults.switchboard import Fault
from checkout_integration.sandbox.wire.errors import RefusedError
from checkout_integration.sandbox.wire.http import json_response, read_body
from checkout_integration.sandbox.wire.json_text import read_json

_WAITING: Final = "sandbox.fault"
_PAGE: Final = "<!doctype html><title>Maintenance</title><p>We will be back soon."
_CHECKSUM: Final = 8
"""Bytes at the end of a gzip body."""
_CUTS: Final = {FaultKind.CUT, FaultKind.CUT_GZIP, FaultKind.CUT_GZIP_UNNOTICED}
_ON_THE_WAY: Final = _CUTS | {FaultKind.DRIPPING, FaultKind.LOST_AFTER_COMMIT}


def respond_with_fault(fault: Fault, request: Request, handler: Callable[[Request], Response]) -> Response:
    """Return the response to a request that a fault strikes; `spoil_response` does what happens on its way back."""
    if fault.kind in {FaultKind.SLOW, FaultKind.SILENT}:
        _wait(request, fault.seconds if fault.kind is FaultKind.SLOW else LONGEST_WAIT)
    refusal = _refusal(fault, request)
    if refusal is not None:
        return refusal
    if fault.kind in _ON_THE_WAY:
        request.environ[_WAITING] = fault
    response = handler(request)
    return _garbled(fault, response) if response.status_code == 200 else response


def spoil_response(request: Request, response: Response) -> Response:
    """Return the finished response as the fault sends it: cut, byte by byte, or not at all."""
    fault: Fault | None = request.environ.get(_WAITING)
    if fault is None:
        return response
    if fault.kind is FaultKind.LOST_AFTER_COMMIT:
        hang_up(request)
    elif fault.kind is FaultKind.DRIPPING:
        _send(response, _drops(response.get_data(), fault.seconds), len(response.get_data()))
    else:
        _cut(response, fault.kind)
    return response


def hang_up(request: Request) -> None:
    """End the client's connection; nothing that is sent afterwards arrives."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the client has already gone


def _refusal(fault: Fault, request: Request) -> Response | None:
    """Return the response that replaces any work, or None."""
    if fault.kind is FaultKind.TOO_MANY_REQUESTS:
        response = json_response(RefusedError(429, "fm000429", "too many requests").document(), 429)
        if fault.seconds:
            response.headers["Retry-After"] = str(int(fault.seconds))
        return response
    if fault.kind is FaultKind.SERVER_ERROR:
        failure = HTTPException(f"a fault of the sandbox: {fault.kind}")
        failure.code = fault.status
        raise failure
    if fault.kind is FaultKind.REDIRECT:
        return Response(
            status=fault.status, headers={"Location": fault.target.rstrip("/") + request.full_path}
        )
    if fault.kind is FaultKind.SILENT:
        hang_up(request)
        return Response(status=504)
    return None


def _garbled(fault: Fault, response: Response) -> Response:
    """Return the response with other content, if the fault changes content."""
    if fault.kind is FaultKind.NOT_JSON:
        return Response("{'status': ok}", mimetype="application/json")
    if fault.kind is FaultKind.HTML:
        return Response(_PAGE, mimetype="text/html")
    if fault.kind is FaultKind.EMPTY:
        return Response(b"", mimetype="application/json")
    if fault.kind is FaultKind.OTHER_SUCCESS:
        response.status_code = fault.status  # HTT-03, HTT-04: no operation is specified to respond so
    if fault.kind is FaultKind.WRONG_TYPES:
        document: dict[str, Any] = read_json(response.get_data())
        return json_response({name: _of_another_type(value) for name, value in document.items()})
    return response


def _of_another_type(value: Any) -> Any:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (int, Decimal)):
        return [f"{value} or more"]
    return {"0": "not a list"}


def _wait(request: Request, seconds: float) -> None:
    """Wait, at most as long as the client does: its connection becomes readable when it has gone."""
    read_body(request)  # first, since an unread body would make the connection readable at once
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        select.select([connection], [], [], seconds)


def _drops(body: bytes, seconds: float) -> Iterator[bytes]:
    for number in body:
        yield bytes([number])
        time.sleep(seconds)


def _cut(response: Response, kind: FaultKind) -> None:
    """Send a part of the body, plain or compressed, whatever the client accepts."""
    packed = response.headers.pop("Content-Encoding", "") == "gzip"
    body = gzip.decompress(response.get_data()) if packed else response.get_data()
    if kind is not FaultKind.CUT:
        response.headers["Content-Encoding"] = "gzip"
        body = gzip.compress(body, mtime=0)
    if kind is FaultKind.CUT_GZIP_UNNOTICED:
        # Only the checksum is missing: the JSON is complete, so only a check of the compression finds the cut.
        _send(response, iter([body[:-_CHECKSUM]]), len(body) - _CHECKSUM)
    else:
        _send(response, iter([body[: len(body) // 2]]), len(body))


def _send(response: Response, parts: Iterator[bytes], promised: int) -> None:
    response.response = parts
    response.headers["Content-Length"] = str(promised)
