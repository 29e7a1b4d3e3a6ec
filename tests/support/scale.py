"""How much a test tries: a little in every run, all of it in the full run (`CHECKOUT_FULL=1 python3 -m tests`)."""

from __future__ import annotations

import os

FULL = os.environ.get("CHECKOUT_FULL", "") not in {"", "0"}


def times(every_run: int, full_run: int) -> int:
    """Return how many times to try in this run."""
    return full_run if FULL else every_run
