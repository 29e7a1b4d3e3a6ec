"""What is made once for all paths: the example shop for journeys in a browser, and an environment with the built wheel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import PATIENCE
from tests.support.documents import ROOT
from tests.support.paths.blank_project import install
from tests.support.paths.browsing import log_in
from tests.support.paths.example import Example, running_example

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


@pytest.fixture(scope="package")
def example() -> Iterator[Example]:
    """Run the example shop once for all journeys."""
    with running_example() as running:
        yield running


@pytest.fixture(scope="package")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the built wheel once; gives the Python that has it."""
    if not (ROOT / "checkout_integration").exists():
        pytest.skip("a copy of the tests has no product to build")
    return install(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="package")
def session(browser: Browser, example: Example) -> list[Any]:
    """Log in once as the demonstration's customer; gives the cookies."""
    with browser.new_context() as context:
        log_in(context.new_page(), f"{example.shop}/accounts/login/", "robin", "robin-plays")
        return list(context.cookies())


@pytest.fixture
def buyer(page: Page, session: list[Any]) -> Page:
    """Give a browser that is logged in as the demonstration's customer."""
    page.set_default_timeout(PATIENCE)
    page.context.add_cookies(session)
    return page


@pytest.fixture(autouse=True)
def clean_console(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test with an error in the browser's console, such as a source that a policy refuses."""
    if "page" not in request.fixturenames:
        yield
        return
    heard: list[str] = []
    context: BrowserContext = request.getfixturevalue("context")
    context.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda error: heard.append(str(error.error)))
    yield
    assert heard == []
