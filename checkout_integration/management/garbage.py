"""Garbage collection in commands that work through batches."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LEFT: Final = 50_000
"""New objects before a collection: a batch makes more than Python's own 700 before it lets them go."""


@contextmanager
def garbage_left() -> Iterator[None]:
    """Freeze the objects of the start, and collect garbage less often: the process does nothing else meanwhile."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(LEFT)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
