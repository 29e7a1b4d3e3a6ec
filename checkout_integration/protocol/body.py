"""Reading a compressed or plain body with bounds on its size, before and after decompression, to its real end (SVC-07)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE: Final = 64 * 1024

_WANTS_GZIP: Final = re.compile(
    r"(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q\s*=\s*(?:1|0?\.0*[1-9])|,|$)", re.IGNORECASE | re.ASCII
)
"""A quality of zero refuses it (RFC 9110, section 12.5.3)."""


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header asks for gzip (SVC-07)."""
    return _WANTS_GZIP.search(header) is not None


class BodyRefused(ValueError):
    """The body is too large, cut short, or in an encoding that was not requested."""


def read_body(chunks: Iterable[bytes], encoding: str, limit: int) -> bytes:
    """Return the decoded body. Raises BodyRefused; never uses more than ``limit`` bytes and one chunk.

    A gzip body must be one complete member with nothing after it: the HTTP library accepts a cut one
    silently, and the rest may even be JSON.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return _bounded(chunks, limit)
        case "gzip" | "x-gzip":
            return _gunzip(chunks, limit)
    raise BodyRefused("it came in an encoding that was not requested")


def _bounded(chunks: Iterable[bytes], limit: int) -> bytes:
    pieces, size = [], 0
    for chunk in chunks:
        size += len(chunk)
        _refuse_beyond(limit, size)
        pieces.append(chunk)
    return b"".join(pieces)


def _gunzip(chunks: Iterable[bytes], limit: int) -> bytes:
    inflate = zlib.decompressobj(_GZIP)
    body = _bounded(_inflated(inflate, chunks, limit), limit)
    if not inflate.eof:
        raise BodyRefused("it was cut short")
    return body


def _inflated(inflate: zlib._Decompress, chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    received = 0
    for chunk in chunks:
        received += len(chunk)
        _refuse_beyond(limit, received)
        yield from _pieces(inflate, chunk)
        if inflate.unused_data:
            raise BodyRefused("something follows its compressed end")


def _pieces(inflate: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    """Yield the content of a chunk in pieces: 64 kB can decompress to 64 MB."""
    try:
        while chunk:
            yield inflate.decompress(chunk, _PIECE)
            chunk = inflate.unconsumed_tail
    except zlib.error:
        raise BodyRefused("its compression is damaged") from None


def _refuse_beyond(limit: int, size: int) -> None:
    if size > limit:
        raise BodyRefused(f"it is larger than {limit} bytes")
