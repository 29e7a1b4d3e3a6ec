"""``python3 -m tests.pictures``: make the pictures of docs/pictures anew, from the example shop with its earlier sales."""

from __future__ import annotations

from tests.support import services
from tests.support.browser import ARGUMENTS
from tests.support.documents import ROOT
from tests.support.paths.example import running_example

if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    from tests.pictures.taking import take

    with running_example(earlier_sales=True) as example, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=services.chromium(), args=ARGUMENTS)
        taken = take(browser, example, ROOT / "docs" / "pictures")
        browser.close()
    print(f"docs/pictures: {len(taken)} pictures.")
