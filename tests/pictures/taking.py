"""Take the pictures: a customer buys, then a member of staff looks around."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.browser import PATIENCE
from tests.support.documents import ROOT
from tests.support.paths.browsing import fill_in, log_in, reload_until
from tests.support.paths.example import Example

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

WINDOW: Final[ViewportSize] = {"width": 1280, "height": 800}
DESK: Final = {
    "desk": "",
    "failures": "failures/",
    "money": "money/",
    "reconciliation": "syncdifference/",
    "health": "installation/",
    "orders": "order/",
}
"""Screens of the admin, and their addresses there."""
AS_WEBP: Final = """
async (png) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext('2d').drawImage(image, 0, 0);
  return canvas.toDataURL('image/webp', 0.82).split(',')[1];
}
"""
"""Chromium writes WebP, a quarter of the size; its screenshots are PNG."""
WITHOUT_FOLDER: Final = r"""
(root) => {
  document.querySelectorAll('wbr').forEach((each) => each.replaceWith('\u200b'));
  document.body.normalize();
  const folder = new RegExp([...root].join('\u200b?') + '\u200b?', 'g');
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(folder, '');
}
"""
"""Code of the shop is shown with its file: where the clone is says nothing to others."""


class Camera:
    """Take pictures of a browser's pages into a folder."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.developing = browser.new_page()
        self.folder = folder
        self.taken: set[str] = set()

    def take(self, page: Page, name: str) -> None:
        """Write what the window shows."""
        page.wait_for_load_state("networkidle")
        page.evaluate(WITHOUT_FOLDER, f"{ROOT}/")
        png = base64.b64encode(page.screenshot(animations="disabled")).decode()
        (self.folder / f"{name}.webp").write_bytes(base64.b64decode(self.developing.evaluate(AS_WEBP, png)))
        self.taken.add(f"{name}.webp")


def take(browser: Browser, example: Example, folder: Path) -> set[str]:
    """Write all pictures to the folder; returns their names."""
    camera = Camera(browser, folder)
    buy(browser, example, camera)
    work(browser, example, camera)
    return camera.taken


def buy(browser: Browser, example: Example, camera: Camera) -> None:
    """Take the shop and the form, and pay."""
    page = _page(browser)
    log_in(page, f"{example.shop}/accounts/login/", "robin", "robin-plays")
    page.goto(example.shop)
    camera.take(page, "shop")
    page.get_by_role("link", name="Lanternfall").click()
    page.get_by_role("button", name="Buy now").click()
    page.wait_for_url(f"{example.service}/form/**")
    fill_in(page)
    camera.take(page, "form")
    page.get_by_role("button", name=re.compile("^Pay")).click()
    page.get_by_role("link", name="OK").click()
    page.wait_for_url(f"{example.shop}/purchase/**")


def work(browser: Browser, example: Example, camera: Camera) -> None:
    """Take the screens of the desk, and the order that was just paid."""
    page = _page(browser)
    admin = f"{example.shop}/admin/checkout_integration/"
    log_in(page, f"{example.shop}/admin/", "sam", "sam-helps")
    page.goto(
        f"{admin}failures/"
    )  # which says how many runs are under way: after the earlier sales, thousands
    reload_until(page, lambda: page.get_by_text("under way").count() == 0, 20 * PATIENCE)
    for name, path in DESK.items():
        page.goto(admin + path)
        camera.take(page, name)
    page.locator("#result_list tbody tr a").first.click()
    page.locator("#content h1, #content h2").first.wait_for()
    camera.take(page, "order")


def _page(browser: Browser) -> Page:
    page = browser.new_context(viewport=WINDOW, color_scheme="light", locale="en").new_page()
    page.set_default_timeout(PATIENCE)
    return page
