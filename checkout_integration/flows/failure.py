"""Saying where something failed without saying what it held: an exception's text may carry personal data or secrets."""

from __future__ import annotations

import traceback


def place_of(error: BaseException) -> str:
    """The exception's class and the innermost line of code, for instance ``KeyError in grant (shop/receivers.py:12)``."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    last = frames[-1]
    return f"{type(error).__name__} in {last.name} ({last.filename}:{last.lineno})"
