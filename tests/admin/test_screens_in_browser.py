"""Every screen of the admin in Chromium, with rows that are hard to show: on a desk and in a hand, by day and by night."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.models import Order
from tests.admin.test_reconciliation import TOTALS, make_difference, make_lane
from tests.support.admin import rows
from tests.support.admin.hard_rows import harden
from tests.support.admin.offered import OFFERED
from tests.support.admin.screens import SCREENS, make_row
from tests.support.admin.visits import APP, address_of, pages_of, screens
from tests.support.browser import PATIENCE
from tests.support.page_faults import faults_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES = [(screen, page) for screen in screens() for page, is_of_row in pages_of(screen) if is_of_row]
CLEAR = """() => {
  const form = document.querySelector('#content form[method=post]');
  for (const field of form.querySelectorAll('input, textarea, select')) {
    if (field.type === 'checkbox' || field.type === 'radio') field.checked = false;
    else if (field.type !== 'hidden') field.value = '';
  }
  form.submit();
}"""
Visit = Callable[..., None]


@pytest.fixture
def staff(django_user_model: type[User]) -> User:
    """A member of staff who may do everything."""
    return django_user_model.objects.create_superuser("sam")


@pytest.fixture
def visit(page: Page, live_server: Any, staff: User) -> Iterator[Visit]:
    """Open an address as this member of staff. At the end of the test no page may have shown anything badly."""
    page.set_default_timeout(PATIENCE)
    enter(page, live_server, staff)

    def visited(name: str, address: str = "", **more: Any) -> None:
        if address:
            answer = page.goto(f"{live_server.url}{address}")
            assert answer and answer.status == more.pop("status", 200)
        found.extend(faults_of(page, f"admin-{name}", **more))

    found: list[str] = []
    yield visited
    assert found == []


def enter(page: Page, live_server: Any, user: User) -> None:
    """Give the browser the session of an account."""
    client = Client()
    client.force_login(user)
    session = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])


def fill(screen: str) -> None:
    """Make rows of a screen that are hard to show."""
    for lane in ("recent", "open", "all"):
        make_lane(lane, state="failed", totals=TOTALS)
    for _ in range(3):
        make_row(screen if screen in SCREENS else "order")
    harden()
    for kind in ("missing_here", "missing_there", "status", "amount", "unknown"):
        make_difference(f"order-of-{kind}", kind=kind)
    make_difference("x" * 255, state="healed")


@pytest.mark.parametrize("screen", screens())
def test_a_list(visit: Visit, page: Page, screen: str) -> None:
    """Empty, with hard rows, with nothing found, and the confirmation of each of its actions."""
    address = address_of(screen, "changelist")
    visit(f"{screen}-list-empty", address)
    fill(screen)
    visit(f"{screen}-list", address)
    if screens()[screen].search_fields:
        visit(f"{screen}-list-nothing", f"{address}?q=nothing-like-this")
    for button in getattr(screens()[screen], "list_buttons", ()):
        if screen == "order":
            for order in Order.objects.all():
                rows.make_run(order, state="failed", receiver="shop.goods")
        elif screen == "notification":
            rows.make_waiting_notification()
        page.goto(page.url.partition("?")[0])
        page.locator("#action-toggle").check()
        page.get_by_label("Action:").select_option(button.name)
        page.get_by_role("button", name="Go").click()
        visit(f"{screen}-list-{button.name}")


@pytest.mark.parametrize(("screen", "name"), PAGES)
def test_a_page_of_a_row(visit: Visit, page: Page, screen: str, name: str) -> None:
    """The page of a row, each confirmation, and its form with errors."""
    row = OFFERED[screen, name]()[0] if (screen, name) in OFFERED else make_row(screen)
    harden()
    visit(f"{screen}-{name}", address_of(screen, name, row.pk))
    if (screen, name) in OFFERED and page.locator(".ci-field").count():
        page.evaluate(CLEAR)
        page.locator(".errorlist").first.wait_for()
        visit(f"{screen}-{name}-errors")


@pytest.mark.parametrize("address", ["/admin/", APP])
def test_an_index(visit: Visit, address: str) -> None:
    """Of all apps, and of this one: empty, and with work for staff."""
    name = "index" if address == "/admin/" else "app-index"
    visit(f"{name}-empty", address)
    fill("order")
    visit(name, address)


def test_the_money_of_many_currencies(visit: Visit) -> None:
    """With rows for each of all that sums can be divided by."""
    fill("order")
    now = datetime.now(UTC)
    for currency in ("USD", "EUR", "JPY"):
        rows.make_order(
            created_at=now, currency=currency, charge_currency=currency, method_type="BANKCARD", country="DE"
        )
    visit("money-rows", "/admin/checkout_integration/money/", may_scroll=".ci-scroll")
    visit(
        "money-rows-detail",
        "/admin/checkout_integration/money/?by=day&by=method&by=country&by=vat",
        may_scroll=".ci-scroll",
    )
