"""What reading a body costs, for each kind of JSON that makes readers slow."""

from __future__ import annotations

import contextlib
import time

from checkout_integration.protocol.notification import MalformedNotification, parse_notification
from checkout_integration.protocol.strict_json import StrictJsonError, loads

SIZE = 100_000
TRIES = 3

PIECES = {
    "brackets": (b"[", b"[", b""),
    "objects": (b'{"a":', b'{"a":', b""),
    "brackets in text": (b'["', b"[{", b'"]'),
    "quotes and brackets": (b"[", b'"[",', b'""]'),
    "backslashes": (b'["', b"\\\\", b'"]'),
    "escapes": (b'["', b"\\u0041", b'"]'),
    "NUL and half pairs": (b'["', b"\\u0000\\ud800", b'"]'),
    "one long number": (b"", b"9", b""),
    "one huge exponent": (b"1e", b"9", b""),
    "numbers": (b"[", b"9999999999.99999999,", b"0]"),
    "spaces": (b"[", b" ", b"]"),
    "items": (b'{"id":"1","event":"e","object":{"items":[', b'{"id":"1","name":"x"},', b"{}]}}"),
    "text": (b'{"id":"1","event":"e","object":{"description":"', b"\xc3\xa9", b'"}}'),
}


def slowest() -> dict[str, float]:
    """Return the milliseconds that 100 kB of the slowest kind take, and the largest growth among kinds that take long.

    Growth is the time for four times the size beside the time for the size; below a few milliseconds it is noise.
    """
    small = {name: _milliseconds(filled(*pieces, SIZE)) for name, pieces in PIECES.items()}
    large = {name: _milliseconds(filled(*pieces, 4 * SIZE)) for name, pieces in PIECES.items()}
    growths = [large[name] / small[name] for name in PIECES if large[name] > 10]
    return {"milliseconds": max(small.values()), "growth": max(growths, default=1.0)}


def filled(begin: bytes, piece: bytes, end: bytes, size: int) -> bytes:
    """Return a body of this size, of as many pieces as fit."""
    return begin + piece * ((size - len(begin) - len(end)) // len(piece)) + end


def _milliseconds(body: bytes) -> float:
    """Return the best of several tries, in processor time."""
    best = float("inf")
    for _ in range(TRIES):
        begun = time.process_time()
        with contextlib.suppress(StrictJsonError, MalformedNotification):
            parse_notification(loads(body)).order()
        best = min(best, time.process_time() - begun)
    return best * 1000
