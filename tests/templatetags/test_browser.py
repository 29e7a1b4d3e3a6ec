"""The five ways in Chromium, against the sandbox, under a strict content security policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from checkout_integration import flows
from checkout_integration.sandbox import Sandbox
from tests.templatetags.urls import SHOWN

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
GEMS: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD", "description": "500 gems"}
Show = Callable[[str, Any], None]


@pytest.fixture
def complaints(page: Page) -> list[str]:
    """What the browser complained about: a refused source is an error in its console."""
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    return heard


@pytest.fixture
def show(page: Page, live_server: Any, checkout_sandbox: Sandbox, settings: Any) -> Iterator[Show]:
    """Open a page of the shop with a tag for a checkout."""
    settings.ROOT_URLCONF = "tests.templatetags.urls"

    def opened(tag: str, checkout: Any) -> None:
        SHOWN.update(tag=tag, checkout=checkout)
        page.goto(f"{live_server.url}/page/")

    yield opened
    SHOWN.clear()


@pytest.mark.spec("EP6-01")
def test_the_link_opens_the_form_in_a_new_window(page: Page, show: Show) -> None:
    """The shop's own page stays."""
    show("checkout_link checkout", flows.create_checkout(**GEMS))
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Pay").click()
    popup.value.get_by_role("button", name="Pay").first.wait_for()


@pytest.mark.spec("EP6-02")
def test_the_frame_shows_the_form(page: Page, show: Show, complaints: list[str]) -> None:
    """Within the rights of its sandbox."""
    show("checkout_frame checkout", flows.create_checkout(**GEMS))
    frame = page.frame_locator("iframe[title='Payment form']")
    frame.get_by_role("button", name="Pay").first.wait_for()
    assert complaints == []


@pytest.mark.spec("EP6-03")
def test_the_page_becomes_the_form(page: Page, show: Show, complaints: list[str]) -> None:
    """The client-side object gives way for nothing else."""
    show("checkout_page checkout", flows.create_checkout(**GEMS))
    page.frame_locator("iframe").get_by_role("button", name="Pay").first.wait_for()
    assert page.locator("#end").count() == 0
    assert complaints == []


@pytest.mark.spec("EP6-03")
def test_an_element_of_the_page_becomes_the_form(page: Page, show: Show, complaints: list[str]) -> None:
    """And the rest stays."""
    show("checkout_page checkout target='#end'", flows.create_checkout(**GEMS))
    page.frame_locator("#end iframe").get_by_role("button", name="Pay").first.wait_for()
    assert page.get_by_role("link", name="Open the payment form").count() == 1
    assert complaints == []


@pytest.mark.spec("EP6-04")
def test_the_token_becomes_the_form(page: Page, show: Show, complaints: list[str]) -> None:
    """The order is made from the content of the token."""
    show("checkout_token_page checkout", flows.create_token(**GEMS))
    page.frame_locator("iframe").get_by_role("button", name="Pay").first.wait_for()
    assert complaints == []
