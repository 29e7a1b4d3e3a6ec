"""Garbage collection in commands that work through batches."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_left(young: int = 50_000, older: int = 10) -> Iterator[None]:
    """Freeze the objects of the start, and collect garbage less often: the process does nothing else meanwhile.

    Args:
        young: new objects before a collection: a batch makes more than Python's own 700 before it lets them go.
        older: such collections before one of the objects that outlived the last; few where memory counts more than time.

    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(young, older)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
