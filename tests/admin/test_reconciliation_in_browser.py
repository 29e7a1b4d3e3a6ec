"""The page about the transaction list in Chromium: by night and on a phone too, and by the keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings as django_settings
from django.test import Client

from tests.admin.test_reconciliation import INDEX, PAGE, TOTALS, make_difference, make_lane
from tests.support.admin import rows
from tests.support.browser import PATIENCE, expect
from tests.support.paths.browsing import SIZES, expect_accessible, look_around

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def auditor(page: Page, live_server: Any, client: Client) -> Page:
    """A browser of an auditor who is logged in."""
    codenames = ("view_syncdifference", "view_syncrun", "view_order", "view_health")
    client.force_login(rows.make_staff(*codenames, name="olga"))
    name = django_settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server.url}])
    page.set_default_timeout(PATIENCE)
    return page


def fill() -> None:
    """Passes of every lane, totals, and differences of all kinds; one is of an order with the longest id."""
    for lane in ("recent", "open", "reversals"):
        make_lane(lane, state="failed", failure="The service did not respond within the deadline of 30 s")
    make_lane("all", totals=TOTALS)
    for kind in ("missing_here", "missing_there", "status", "amount", "unknown"):
        make_difference(rows.make_order().order_id, kind=kind)
    make_difference("x" * 255, state="healed")


@pytest.mark.parametrize("name", ["reconciliation", "reconciliation-empty"])
def test_it_is_readable_on_a_desk_and_in_a_hand(auditor: Page, live_server: Any, name: str) -> None:
    """Nothing overflows, and axe finds nothing, by day and by night."""
    if name == "reconciliation":
        fill()
    auditor.goto(f"{live_server.url}{PAGE}")
    for size in SIZES.values():
        auditor.set_viewport_size(size)
        assert auditor.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect_accessible(auditor)
        if name == "reconciliation":  # nobody has to scroll sideways to compare the two
            for value in ("not paid 9.99 USD", "paid 9.99 USD"):
                box = auditor.locator("#result_list tbody tr").first.get_by_text(value).last.bounding_box()
                assert box and box["x"] >= 0 and box["x"] + box["width"] <= size["width"]
            cut = "each => each.scrollWidth - each.clientWidth"
            assert auditor.locator("#changelist .results").evaluate(cut) <= 0
    look_around(auditor, f"admin-{name}")


def test_the_keyboard_leads_from_the_index_to_an_order(auditor: Page, live_server: Any) -> None:
    """By the link among the daily lists, and a difference's order."""
    fill()
    auditor.goto(f"{live_server.url}{INDEX}")
    auditor.get_by_role("link", name="Reconciliation", exact=True).focus()
    auditor.keyboard.press("Enter")
    auditor.wait_for_url(f"**{PAGE}")
    auditor.locator("#result_list .field-order a").first.focus()
    auditor.keyboard.press("Enter")
    auditor.wait_for_url("**/order/*/change/")
    expect(auditor.locator("h1, h2").first).to_be_visible()
