"""Long files that are sent piece by piece, whatever server runs the shop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def sent_in_pieces(request: HttpRequest, response: StreamingHttpResponse) -> StreamingHttpResponse:
    """Return the response as the server of this request sends it piece by piece.

    An ASGI server would read all of a plain iterator before it sends any.
    """
    if isinstance(request, ASGIRequest):
        response.streaming_content = _in_threads(iter(response))
    return response


async def _in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces, each of which is made in a thread: that reads the database."""
    while (piece := await sync_to_async(_next_of)(pieces)) is not None:
        yield piece


def _next_of(pieces: Iterator[bytes]) -> bytes | None:
    """Return the next piece, which may be empty; None after the last one."""
    return next(pieces, None)
