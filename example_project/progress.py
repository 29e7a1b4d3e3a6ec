"""Saying what a start is busy with: a line for each part, and a dot for each second that it takes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def saying(what: str) -> Iterator[None]:
    """Write what is done to stderr, then a dot every second until it is."""
    print(what, end=" ", file=sys.stderr, flush=True)
    ended = threading.Event()
    ticking = threading.Thread(target=_tick, args=(ended,), daemon=True)
    ticking.start()
    try:
        yield
    finally:
        ended.set()
        ticking.join()
        print(file=sys.stderr, flush=True)


def _tick(ended: threading.Event) -> None:
    while not ended.wait(1):
        print(".", end="", file=sys.stderr, flush=True)
