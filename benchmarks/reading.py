"""``python -m benchmarks.reading``: what reading a body costs, for each kind of JSON that makes readers slow.

Claimed are at most 50 ms of processor time for 100 kB, and that four times the size costs no more than six times as much:
exits 1 where either fails.
"""

from __future__ import annotations

import contextlib
import sys
import time

from checkout_integration.protocol.notification import MalformedNotification, parse_notification
from checkout_integration.protocol.strict_json import StrictJsonError, loads

SIZE = 100_000
MOST_SECONDS = 0.050
MOST_GROWTH = 6.0
ROUNDS = 7

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


def main() -> int:
    """Measures each kind in two sizes and prints a line for it."""
    failed = False
    for name, pieces in PIECES.items():
        small, large = seconds(filled(*pieces, SIZE)), seconds(filled(*pieces, 4 * SIZE))
        slow = small > MOST_SECONDS or (large > MOST_SECONDS and large / small > MOST_GROWTH)
        failed |= slow
        print(
            f"{name:20} {small * 1000:7.2f} ms per 100 kB   x {large / small:4.1f} for 4 x the size{' SLOW' * slow}"
        )
    return int(failed)


def filled(begin: bytes, piece: bytes, end: bytes, size: int) -> bytes:
    """As many pieces as fit."""
    return begin + piece * ((size - len(begin) - len(end)) // len(piece)) + end


def seconds(body: bytes) -> float:
    """The best of several rounds, in processor time."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        with contextlib.suppress(StrictJsonError, MalformedNotification):
            parse_notification(loads(body)).order()
        best = min(best, time.process_time() - begun)
    return best


if __name__ == "__main__":
    sys.exit(main())
