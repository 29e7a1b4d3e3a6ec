"""How the API misbehaves when the switchboard says so: before a request is worked on, and on its answer's way back."""

from __future__ import annotations

import gzip
import select
import socket
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.faults import Fault
from checkout_integration.sandbox.faults_catalogue import LONGEST_WAIT, FaultKind
from checkout_integration.sandbox.json_text import read_json
from checkout_integration.sandbox.wire import json_answer, read_body

_WAITING: Final = "sandbox.fault"
_PAGE: Final = "<!doctype html><title>Maintenance</title><p>We will be back soon."
_CHECKSUM: Final = 8
"""Bytes at the end of a gzip body."""
_CUTS: Final = {FaultKind.CUT, FaultKind.CUT_GZIP, FaultKind.CUT_GZIP_UNNOTICED}
_ON_THE_WAY: Final = _CUTS | {FaultKind.DRIPPING, FaultKind.LOST_AFTER_COMMIT}


def answer_with(fault: Fault, request: Request, handler: Callable[[Request], Response]) -> Response:
    """Return the answer to a request that a fault strikes; what happens on its way is left to `spoiled`."""
    if fault.kind in {FaultKind.SLOW, FaultKind.SILENT}:
        _wait(request, fault.seconds if fault.kind is FaultKind.SLOW else LONGEST_WAIT)
    refusal = _refusal(fault, request)
    if refusal is not None:
        return refusal
    if fault.kind in _ON_THE_WAY:
        request.environ[_WAITING] = fault
    answer = handler(request)
    return _garbled(fault, answer) if answer.status_code == 200 else answer


def spoiled(request: Request, answer: Response) -> Response:
    """Return the finished answer as the fault lets it out, byte by byte or not at all."""
    fault: Fault | None = request.environ.get(_WAITING)
    if fault is None:
        return answer
    if fault.kind is FaultKind.LOST_AFTER_COMMIT:
        hang_up(request)
    elif fault.kind is FaultKind.DRIPPING:
        _send(answer, _drops(answer.get_data(), fault.seconds), len(answer.get_data()))
    else:
        _cut(answer, fault.kind)
    return answer


def hang_up(request: Request) -> None:
    """End the client's connection; nothing that is sent afterwards arrives."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the client has gone, which is what is wanted


def _refusal(fault: Fault, request: Request) -> Response | None:
    """Return the answer that comes in the place of any work, or None."""
    if fault.kind is FaultKind.TOO_MANY_REQUESTS:
        answer = json_answer(RefusedError(429, "fm000429", "too many requests").document(), 429)
        if fault.seconds:
            answer.headers["Retry-After"] = str(int(fault.seconds))
        return answer
    if fault.kind is FaultKind.SERVER_ERROR:
        return json_answer({"message": "Internal Server Error"}, fault.status)
    if fault.kind is FaultKind.REDIRECT:
        return Response(
            status=fault.status, headers={"Location": fault.target.rstrip("/") + request.full_path}
        )
    if fault.kind is FaultKind.SILENT:
        hang_up(request)
        return Response(status=504)
    return None


def _garbled(fault: Fault, answer: Response) -> Response:
    """Return the answer with another content, where the fault is one of content."""
    if fault.kind is FaultKind.NOT_JSON:
        return Response("{'status': ok}", mimetype="application/json")
    if fault.kind is FaultKind.HTML:
        return Response(_PAGE, mimetype="text/html")
    if fault.kind is FaultKind.EMPTY:
        return Response(b"", mimetype="application/json")
    if fault.kind is FaultKind.OTHER_SUCCESS:
        answer.status_code = fault.status  # HTT-03, HTT-04: of no operation it is said that it answers so
    if fault.kind is FaultKind.WRONG_TYPES:
        document: dict[str, Any] = read_json(answer.get_data())
        return json_answer({name: _of_another_type(value) for name, value in document.items()})
    return answer


def _of_another_type(value: Any) -> Any:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (int, Decimal)):
        return [f"{value} or more"]
    return {"0": "not a list"}


def _wait(request: Request, seconds: float) -> None:
    """Wait, but not longer than the client does: its connection becomes readable when it has gone."""
    read_body(request)  # WHY first: an unread body would make the connection readable at once
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        select.select([connection], [], [], seconds)


def _drops(body: bytes, seconds: float) -> Iterator[bytes]:
    for number in body:
        yield bytes([number])
        time.sleep(seconds)


def _cut(answer: Response, kind: FaultKind) -> None:
    """Send a part of the body, as JSON or compressed, whatever was asked for."""
    packed = answer.headers.pop("Content-Encoding", "") == "gzip"
    body = gzip.decompress(answer.get_data()) if packed else answer.get_data()
    if kind is not FaultKind.CUT:
        answer.headers["Content-Encoding"] = "gzip"
        body = gzip.compress(body, mtime=0)
    if kind is FaultKind.CUT_GZIP_UNNOTICED:
        # WHY the checksum alone: the JSON is all there, so that only a look at the compression tells.
        _send(answer, iter([body[:-_CHECKSUM]]), len(body) - _CHECKSUM)
    else:
        _send(answer, iter([body[: len(body) // 2]]), len(body))


def _send(answer: Response, parts: Iterator[bytes], promised: int) -> None:
    answer.response = parts
    answer.headers["Content-Length"] = str(promised)
