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
    while (piece := await sync_to_async(next)(pieces, None)) is not None:
        yield piece
