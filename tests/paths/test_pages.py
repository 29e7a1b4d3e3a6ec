"""The pages that people meet: accessible, and under a policy that lets nothing else in."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.browser import expect
from tests.support.page_faults import faults_of
from tests.support.paths.browsing import (
    ASKING_CARD,
    DECLINED_CARD,
    log_in,
    look_around,
    pay,
)
from tests.support.paths.example import Example

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def buy_now(page: Page, example: Example) -> None:
    """Press "Buy now", which leads to the hosted form."""
    page.goto(f"{example.shop}/products/tin-raven/")
    page.get_by_role("button", name="Buy now").click()
    page.wait_for_url(f"{example.service}/form/**")


def expect_well_shown(page: Page) -> None:
    """Expect a page that axe accepts and that fits its window, on a desk and in a hand, by day and by night."""
    name = urlsplit(page.url).path.strip("/").replace("/", "-")
    # The operator's tables are wide: they may scroll by themselves.
    may_scroll = ".scroll" if name.startswith("_sandbox") else ""
    assert faults_of(page, f"shop-{name}", may_scroll=may_scroll) == []


def test_the_shop_is_accessible(page: Page, example: Example) -> None:
    """Axe finds no violation before and after logging in."""
    for path in ("/", "/accounts/login/", "/products/tin-raven/"):
        page.goto(example.shop + path)
        expect_well_shown(page)
    log_in(page, f"{example.shop}/accounts/login/", "robin", "robin-plays")
    for path in ("/inventory/", "/purchases/", "/products/tin-raven/"):
        page.goto(example.shop + path)
        expect_well_shown(page)
    page.get_by_text("Ways to pay").click()
    expect_well_shown(page)
    look_around(page, "ways")


def test_a_payment_that_the_bank_asks_about_is_accessible(buyer: Page, example: Example) -> None:
    """Axe finds no violation on the form, the bank's page, its end, the pages of purchases, and those of the operator."""
    buy_now(buyer, example)
    expect_well_shown(buyer)
    pay(buyer, ASKING_CARD)
    expect(buyer.get_by_role("heading", name="Confirm the payment")).to_be_visible()
    expect_well_shown(buyer)
    buyer.get_by_label("Code from your bank").fill("1234")
    buyer.get_by_role("button", name="Confirm").click()
    expect(buyer.get_by_role("heading", name="Payment successful")).to_be_visible()
    expect_well_shown(buyer)
    buyer.get_by_role("link", name="OK").click()
    expect(buyer.get_by_role("heading", name="Tin raven")).to_be_visible()
    expect_well_shown(buyer)
    for path in ("/inventory/", "/purchases/"):
        buyer.goto(example.shop + path)
        expect_well_shown(buyer)
    buyer.goto(f"{example.service}/_sandbox/")
    expect_well_shown(buyer)
    pages = set(buyer.locator("main a").evaluate_all("all => all.map(each => each.href)"))
    for page in sorted(pages):
        buyer.goto(page)
        expect_well_shown(buyer)


def test_a_declined_payment_is_accessible(buyer: Page, example: Example) -> None:
    """Axe finds no violation where the form says so, and on the page of the purchase."""
    buy_now(buyer, example)
    pay(buyer, DECLINED_CARD)
    expect(buyer.get_by_role("heading", name="Payment declined")).to_be_visible()
    expect_well_shown(buyer)
    buyer.get_by_role("link", name="OK").click()
    expect(buyer.get_by_role("heading", name="Declined")).to_be_visible()
    expect_well_shown(buyer)


def test_every_page_has_a_strict_policy_with_a_nonce_of_its_own(example: Example) -> None:
    """Sources are the shop's own and the service's; nothing inline, nothing evaluated."""
    policies = [
        requests.get(example.shop, timeout=20).headers["Content-Security-Policy"].split("; ")
        for _ in range(2)
    ]
    first, second = ({each.split()[0]: each.split()[1:] for each in policy} for policy in policies)
    nonce = first["script-src"].pop()
    assert nonce.startswith("'nonce-")
    assert nonce != second["script-src"].pop()
    assert first == second
    assert first == {
        "default-src": ["'self'"],
        "script-src": ["'self'", example.service],
        "frame-src": ["'self'", example.service],
        "connect-src": ["'self'", example.service],
        "form-action": ["'self'", example.service],
        "frame-ancestors": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
    }
