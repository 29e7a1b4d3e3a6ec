"""The page about health in Chromium: by night and on a phone too, and by the keyboard alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings as django_settings
from django.test import Client

from tests.support.admin import rows
from tests.support.browser import PATIENCE, expect
from tests.support.flows.notified import came, came_each_week, installed
from tests.support.paths.browsing import SIZES, expect_accessible, look_around

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES = {"health": "/admin/checkout_integration/installation/", "app-index": "/admin/checkout_integration/"}


@pytest.fixture
def operator(page: Page, live_server: Any, client: Client) -> Page:
    """A browser of an operator who is logged in, in a shop where not all is well."""
    now = datetime.now(UTC)
    installed(now - timedelta(days=100))
    came(now - timedelta(hours=2))
    came_each_week(now - timedelta(hours=2), 30, 30, 30, 30)
    for state in ("failed", "quarantined"):
        came(now, state=state)
    rows.make_sync_run(started_at=now)
    for _ in range(3):
        rows.make_incident(rows.make_order(verdict="review"))
    rows.make_run(rows.make_order(), state="failed", due_at=now)
    names = ("order", "incident", "notification", "receiverrun")
    client.force_login(rows.make_staff("view_health", *(f"view_{name}" for name in names), name="olga"))
    name = django_settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server.url}])
    page.set_default_timeout(PATIENCE)
    return page


@pytest.mark.parametrize("name", PAGES)
def test_it_is_readable_on_a_desk_and_in_a_hand(operator: Page, live_server: Any, name: str) -> None:
    """Nothing overflows, and axe finds nothing, by day and by night."""
    operator.goto(f"{live_server.url}{PAGES[name]}")
    for size in SIZES.values():
        operator.set_viewport_size(size)
        assert operator.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect_accessible(operator)
    look_around(operator, f"admin-{name}")


def test_the_keyboard_leads_from_a_queue_to_its_list(operator: Page, live_server: Any) -> None:
    """From the index to the page, and from a number to its rows."""
    operator.goto(f"{live_server.url}{PAGES['app-index']}")
    operator.locator("#ci-health a").focus()
    operator.keyboard.press("Enter")
    operator.wait_for_url(f"**{PAGES['health']}")
    operator.get_by_role("link", name="3 in review").focus()
    operator.keyboard.press("Enter")
    operator.wait_for_url("**/order/?queue=review")
    expect(operator.locator("#result_list tbody tr")).to_have_count(3)
