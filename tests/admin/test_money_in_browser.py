"""The page about money in Chromium: by night and on a phone too, and by the keyboard alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings as django_settings
from django.test import Client

from tests.support.admin import rows
from tests.support.browser import PATIENCE
from tests.support.paths.browsing import SIZES, expect_accessible, look_around

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/admin/checkout_integration/money/"
PAGES = {
    "money": PAGE,
    "money-in-detail": f"{PAGE}?by=day&by=method&by=country&by=vat",
    "money-index": "/admin/checkout_integration/",
    "money-none": f"{PAGE}?first=2020-01-01&last=2020-01-02",
}


@pytest.fixture
def accountant(page: Page, live_server: Any, client: Client) -> Page:
    """A browser of an accountant who is logged in, in a shop that sells in two currencies."""
    now = datetime.now(UTC)
    vat: dict[str, Any] = {
        "tax_amount": Decimal("1.60"),
        "tax_currency": "USD",
        "tax_rate": Decimal("0.19"),
        "vat_payer": "seller",
    }
    for day in range(6):
        for _ in range(day % 4 + 1):
            rows.make_order(created_at=now - timedelta(days=day), country="DE", method_type="BANKCARD", **vat)
    reversed_order = rows.make_order(created_at=now, status="chargeback", charge_currency="USD", **vat)
    rows.make_refund(reversed_order, status="chargeback", currency="USD", refunded_at=now)
    unknown: dict[str, Any] = {
        f"{name}_{part}": value
        for name in ("net_revenue", "fee")
        for part, value in (("amount", None), ("currency", ""))
    }
    rows.make_order(created_at=now, **vat, **unknown)
    paid: dict[str, Any] = {"net_revenue_amount": Decimal("8.10"), "net_revenue_currency": "USD"}
    slots: dict[str, Any] = {"processed/notification": {}, "canceled/notification": {}}
    rows.make_order(created_at=now, status="canceled", facts={"slots": slots}, **vat, **paid)
    client.force_login(rows.make_staff("view_money", "view_order", name="anna"))
    name = django_settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server.url}])
    page.set_default_timeout(PATIENCE)
    return page


@pytest.mark.parametrize("name", PAGES)
def test_it_is_readable_on_a_desk_and_in_a_hand(accountant: Page, live_server: Any, name: str) -> None:
    """Nothing overflows, and axe finds nothing, by day and by night."""
    accountant.goto(f"{live_server.url}{PAGES[name]}")
    for size in SIZES.values():
        accountant.set_viewport_size(size)
        assert accountant.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect_accessible(accountant)
        cut = accountant.locator(".ci-scroll").evaluate_all(
            "all => all.some(each => each.scrollWidth > each.clientWidth)"
        )
        assert name == "money-in-detail" or not cut
    look_around(accountant, f"admin-{name}")


def test_the_keyboard_leads_to_the_file(accountant: Page, live_server: Any) -> None:
    """From the index to the page, through its filters, to the download."""
    accountant.goto(f"{live_server.url}{PAGES['money-index']}")
    accountant.locator("#ci-money a").focus()
    accountant.keyboard.press("Enter")
    accountant.wait_for_url(f"**{PAGE}")
    accountant.locator("summary", has_text="Other days").focus()
    accountant.keyboard.press("Enter")
    accountant.get_by_label("country").focus()
    accountant.keyboard.press("Space")
    accountant.keyboard.press("Enter")
    accountant.wait_for_url("**by=country**")
    accountant.get_by_role("link", name="Download these rows (CSV)").focus()
    with accountant.expect_download() as download:
        accountant.keyboard.press("Enter")
    assert re.fullmatch(r"money-test(-\d{4}-\d\d-\d\d){2}\.csv", download.value.suggested_filename)
