"""Garbage collection in commands that work through batches."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

OLDER: Final = 10
"""Collections before one of the objects that outlived them too, as Python has it."""
PAGES: Final = 4
"""Pages of the list between two collections: each walks through what is still used, too."""
OF_PAGES: Final = 10_000_000
"""More objects than so many pages make."""


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


@contextmanager
def garbage_of_pages() -> Iterator[Callable[[], object]]:
    """Yield a function to be called at the end of each page, when its rows are not used any more: it may collect garbage.

    A collection in the middle of a page would walk through all of its rows, free none, and leave them for a full collection.
    """
    pages = count(1)

    def end_page() -> None:
        if next(pages) % PAGES == 0:
            gc.collect(1)

    with garbage_left(OF_PAGES):
        yield end_page
