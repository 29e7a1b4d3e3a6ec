"""What the tests in a browser need: skipped with the reason where it is missing, failed where services are required."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from tests.support import services

__all__ = ["ARGUMENTS", "NO_CHROMIUM", "NO_PLAYWRIGHT", "PATIENCE", "expect", "missing"]

PATIENCE = 20_000
"""Milliseconds that a page may take, on a machine that does other work too."""

ARGUMENTS = [
    "--disable-gpu",
    "--no-sandbox",  # as root Chromium refuses its sandbox
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""Of Chromium: silent but for loopback."""

NO_PLAYWRIGHT = "needs playwright, of the group browser"
NO_CHROMIUM = "needs Chromium"


if TYPE_CHECKING:
    from playwright.sync_api import expect
else:

    def expect(*arguments: object) -> object:
        """Return playwright's assertions about a page; imported by a test that runs, not by one that is skipped."""
        from playwright.sync_api import expect as of_playwright

        of_playwright.set_options(timeout=PATIENCE)
        return of_playwright(*arguments)


def missing() -> str:
    """Return the missing part, or an empty text."""
    if not _has_playwright():
        return NO_PLAYWRIGHT
    return "" if services.chromium() else NO_CHROMIUM


def _has_playwright() -> bool:
    try:
        return bool(find_spec("playwright") and find_spec("pytest_playwright"))
    except ValueError:  # it is None in sys.modules
        return False
