"""What people do in a browser at the example shop: log in, pick a way to pay, pay, and look."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.support.browser import PATIENCE
from tests.support.paths.example import Example

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Locator, Page, ViewportSize

GOOD_CARD = "4242 4242 4242 4242"
DECLINED_CARD = "4000 0000 0000 0002"
ASKING_CARD = "4000 0027 6000 3184"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SIZES: dict[str, ViewportSize] = {
    "desktop": {"width": 1280, "height": 720},
    "narrow": {"width": 390, "height": 780},
}


def log_in(page: Page, address: str, name: str, password: str) -> None:
    """Fill in a log-in form."""
    page.goto(address)
    page.locator("#id_username").fill(name)
    page.locator("#id_password").fill(password)
    page.locator("#id_password").press("Enter")
    page.wait_for_url(lambda url: "login" not in url)


def reload_until(page: Page, shows: Callable[[], bool], patience: int = PATIENCE) -> None:
    """Reload until the page shows it: a page without a script does not notice that a receiver has run."""
    for _ in range(patience // 200):
        if shows():
            return
        page.wait_for_timeout(200)
        page.reload()
    raise AssertionError("The page never shows it.")


def choose(page: Page, example: Example, product: str, way: str) -> None:
    """Open a product's page, and pick one of its ways to pay."""
    page.goto(example.shop)
    page.get_by_role("link", name=product).click()
    page.get_by_text("Ways to pay").click()
    page.get_by_role("button", name=way).click()


def fill_in(form: Page | FrameLocator, card: str = GOOD_CARD) -> None:
    """Type a card and an address into the hosted form."""
    form.get_by_label("Card number").fill(card)
    form.get_by_label("Expiry date").fill("12/34")
    form.get_by_label("Security code").fill("123")
    form.get_by_label("E-mail for the receipt").fill("robin@example.com")


def pay(form: Page | FrameLocator, card: str = GOOD_CARD) -> None:
    """Fill the hosted form in, and press its button."""
    fill_in(form, card)
    form.get_by_role("button", name=re.compile("^Pay")).click()


def expect_accessible(page: Page) -> None:
    """Expect that axe finds no violation, by day and by night."""
    page.wait_for_load_state()  # a click returns when the address has changed, before the page is there
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        # The admin's links change their colour slowly: axe would see one between the two schemes.
        page.evaluate("document.getAnimations().forEach(each => each.finish())")
        found = [
            (violation["id"], [node["html"] for node in violation["nodes"]])
            for violation in axe.run(page).response["violations"]
        ]
        assert found == [], f"{page.url} ({scheme}): {found}"
    page.emulate_media(color_scheme="light")


def go_to(page: Page, words: str) -> None:
    """Press Tab until what these words name has the focus, and shows that it has."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if focused.count() and words in _name_of(focused):
            assert focused.evaluate(
                "each => getComputedStyle(each).outlineStyle !== 'none' || getComputedStyle(each).boxShadow !== 'none'"
            ), f"nothing shows that {words!r} has the focus"
            return
    raise AssertionError(f"Tab does not lead to {words!r}")


def _name_of(focused: Locator) -> str:
    """Return the words by which people know what has the focus."""
    labels = (
        "each => [each.textContent, ...(each.labels ?? [])].map((part) => part.textContent ?? part).join(' ')"
    )
    return str(focused.evaluate(labels))


def look(page: Page, name: str) -> None:
    """Keep a picture for people to look at, where CHECKOUT_SCREENSHOTS names a folder."""
    folder = os.environ.get("CHECKOUT_SCREENSHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def look_around(page: Page, name: str) -> None:
    """Keep pictures of a page on a desk and in a hand, by day and by night."""
    if "CHECKOUT_SCREENSHOTS" not in os.environ:
        return
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for name_of_size, size in SIZES.items():
            page.set_viewport_size(size)
            page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(200)  # the form reports its new height
            look(page, f"{name}-{name_of_size}-{scheme}")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(SIZES["desktop"])
