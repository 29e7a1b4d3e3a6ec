"""How the API misbehaves when the switchboard says so."""

from __future__ import annotations

import contextlib
import socket
import time

from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.faults import Fault, FaultKind
from checkout_integration.sandbox.wire import json_answer


def strike(fault: Fault) -> Response | None:
    """Act before the request is handled; an answer ends it, None lets it go on."""
    if fault.kind is FaultKind.TOO_MANY_REQUESTS:
        answer = json_answer(RefusedError(429, "fm000429", "too many requests").document(), 429)
        if fault.seconds:
            answer.headers["Retry-After"] = str(int(fault.seconds))
        return answer
    if fault.kind is FaultKind.SERVER_ERROR:
        return json_answer({"message": "Internal Server Error"}, fault.status)
    if fault.kind is FaultKind.SLOW:
        time.sleep(fault.seconds)
    return None


def drop_connection(request: Request) -> None:
    """Cut the client off without an answer, although the work is done."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        # WHY: the client may already be gone, which is what is wanted.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
