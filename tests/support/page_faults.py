"""What a page in Chromium shows badly: wider than the window, cut, broken in the middle of a word, or refused by axe."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.paths.browsing import SCHEMES, SIZES, look
from tests.support.scale import FULL

if TYPE_CHECKING:
    from playwright.sync_api import Page

FAULTS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
LONGEST_WORD = 36
"""Characters that are never broken over two lines: what is longer, such as an id of 255, may have to be."""
AXE = "axe.run({resultTypes: ['violations']}).then(found => found.violations)"


def faults_of(page: Page, name: str, *, may_scroll: str = "") -> list[str]:
    """Return what is wrong with an open page, on a desk and in a hand, by day and by night.

    The full run shows axe all four; every run shows it two of them, in which both sizes and both schemes occur.

    Args:
        page: the open page.
        name: names the pictures of the page, where CHECKOUT_SCREENSHOTS names a folder for them.
        may_scroll: selects the elements that may scroll sideways.

    """
    page.wait_for_load_state()
    page.evaluate(pytest.importorskip("axe_playwright_python.sync_playwright").Axe().axe_script)
    found = []
    for place, (size, window) in enumerate(SIZES.items()):
        page.set_viewport_size(window)
        longest = LONGEST_WORD if size == "desktop" else 0
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            # The admin's links change their colour slowly: axe would see one between the two schemes.
            page.evaluate("document.getAnimations().forEach(each => each.finish())")
            look(page, f"{name}-{size}-{scheme}")
            seen = page.evaluate(FAULTS, [may_scroll, longest])
            if FULL or SCHEMES.index(scheme) == (place + zlib.crc32(name.encode())) % 2:
                seen += [
                    f"axe, {each['id']}: {[node['html'][:200] for node in each['nodes']]}"
                    for each in page.evaluate(AXE)
                ]
            found += [f"{name} ({size}, {scheme}): {fault}" for fault in seen]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(SIZES["desktop"])
    return found
