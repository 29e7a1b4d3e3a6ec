"""Garbage collection in commands that work through batches."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OLDER: Final = 10
"""Collections before one of the objects that outlived them too, as Python has it."""


@contextmanager
def garbage_left(young: int = 50_000) -> Iterator[None]:
    """Freeze the objects of the start, and collect garbage less often: the process does nothing else meanwhile.

    ``young``: new objects before a collection. A batch makes more than Python's own 700 before it lets them go.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(young, OLDER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
