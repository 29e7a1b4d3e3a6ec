"""The support desk in Chromium: on a phone, without scripts, and for a screen reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User

from checkout_integration.models import Order
from tests.support.admin import rows
from tests.support.admin.desk import enter, unfold_for
from tests.support.admin.screens import page_address
from tests.support.browser import expect
from tests.support.paths.browsing import SIZES, expect_accessible, look_around

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
FORM = "https://service.example/form/?token=0123456789abcdef0123456789abcdef"
CONFIRMATIONS = ("note", "run", "mark-granted", "apply", "link-account")


@pytest.fixture
def order() -> Order:
    """An unpaid order with an open form, a customer, a notification, and a receiver that was given up."""
    waiting = rows.make_waiting_notification()
    checkout = rows.make_checkout(payment_form_url=FORM)
    order = rows.make_order(
        waiting.object_id,
        status="created",
        checkout=checkout,
        user=rows.make_customer("player-with-a-long-id-0001"),
    )
    rows.make_history(order)
    rows.make_refund(order)
    rows.make_granting_run(order, receiver="shop.receivers.fulfilment.grant_the_goods_of_the_order")
    return order


@pytest.fixture
def desk(page: Page, live_server: Any, admin_user: User, order: Order) -> Page:
    """The page of the order in a browser."""
    enter(page.context, live_server.url, admin_user)
    # The admin's colours change slowly, and axe would read one in between.
    page.add_init_script(
        "addEventListener('DOMContentLoaded', () => document.head.insertAdjacentHTML("
        "'beforeend', '<style>* { transition: none !important }</style>'))"
    )
    page.goto(f"{live_server.url}{page_address('order', order)}")
    return page


@pytest.mark.parametrize("label", ["Address of the payment form", "order id", "Checkout reference"])
def test_what_staff_write_elsewhere_is_copied(desk: Page, order: Order, label: str) -> None:
    """By the button beside it, with the keyboard too."""
    assert order.checkout
    texts = {"order id": order.order_id, "Checkout reference": order.checkout.reference}
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.get_by_role("button", name=f"Copy: {label}").focus()
    desk.keyboard.press("Enter")
    expect(desk.get_by_text("Copied.")).to_be_visible()
    assert desk.evaluate("navigator.clipboard.readText()") == texts.get(label, FORM)


def test_all_works_without_scripts(
    browser: Browser, live_server: Any, admin_user: User, order: Order
) -> None:
    """The link is a field to select from, and a note is written."""
    with browser.new_context(java_script_enabled=False) as context:
        enter(context, live_server.url, admin_user)
        page = context.new_page()
        page.goto(f"{live_server.url}{page_address('order', order)}")
        expect(page.get_by_role("textbox", name="Address of the payment form")).to_have_value(FORM)
        expect(page.get_by_role("button", name="Copy:").first).to_be_hidden()
        unfold_for(page.locator("#content"), "Write a note")
        page.get_by_role("link", name="Write a note").click()
        page.get_by_label("Note").fill("called twice")
        page.get_by_role("button", name="Write a note").click()
        expect(page.get_by_text("called twice", exact=True)).to_be_visible()


@pytest.mark.parametrize("button", ["", *CONFIRMATIONS])
def test_a_page_fits_and_is_accessible(desk: Page, button: str) -> None:
    """The order's page and the confirmations: nothing wider than the window, and nothing that axe complains about."""
    if button:
        desk.goto(desk.url.replace("/change/", f"/{button}/"))
    for size in SIZES.values():
        desk.set_viewport_size(size)
        assert desk.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect_accessible(desk)
    look_around(desk, f"desk-{button or 'order'}")


@pytest.mark.parametrize("action", ["check_selected", "run_selected"])
def test_the_confirmation_of_an_action_fits_and_is_accessible(
    desk: Page, live_server: Any, action: str
) -> None:
    """Chosen on the list, with the keyboard or a mouse."""
    desk.goto(f"{live_server.url}/admin/checkout_integration/order/")
    desk.locator("input.action-select").first.check()
    desk.get_by_label("Action:").select_option(action)
    look_around(desk, "desk-list")
    desk.get_by_role("button", name="Go").click()
    expect(desk.get_by_role("heading", name="Selected rows: 1")).to_be_visible()
    for size in SIZES.values():
        desk.set_viewport_size(size)
        assert desk.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect_accessible(desk)
    look_around(desk, f"desk-{action.replace('_', '-')}")
