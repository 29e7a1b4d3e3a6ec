"""A customer, a member of staff and the service's operator in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import expect
from tests.support.paths.browsing import choose, fill_in, go_to, log_in, look, reload_until
from tests.support.paths.example import Example

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def buy(page: Page, example: Example, product: str) -> None:
    """Go from the shop to the hosted form, pay there, and press the button that leads back."""
    page.goto(example.shop)
    page.get_by_role("link", name=product).click()
    page.get_by_role("button", name="Buy now").click()
    page.wait_for_url(f"{example.service}/form/**")
    fill_in(page)
    look(page, "form")
    page.get_by_role("button", name=re.compile("^Pay")).click()
    look(page, "form-paid")
    page.get_by_role("link", name="OK").click()
    page.wait_for_url(f"{example.shop}/**")


@pytest.mark.parametrize(
    ("product", "kind"), [("500 gems", "Gems"), ("Lanternfall", "Game key"), ("Tin raven", "Virtual item")]
)
def test_a_buyer_comes_back_to_a_page_that_says_paid(
    buyer: Page, example: Example, product: str, kind: str
) -> None:
    """Each of the three kinds is paid on the hosted form, shown on the page of the purchase, and owned."""
    buy(buyer, example, product)
    expect(buyer.get_by_role("heading", name="Paid")).to_be_visible()
    expect(buyer.get_by_role("heading", name=product)).to_be_visible()
    look(buyer, f"return-{kind.lower().replace(' ', '-')}")
    buyer.get_by_role("link", name="To the inventory").click()
    reload_until(buyer, lambda: buyer.get_by_role("heading", name=product).count() > 0)
    if kind == "Game key":
        expect(buyer.locator(".code").first).to_have_text(re.compile(r"(\w{5}-){4}\w{5}"))
    look(buyer, "inventory")


def test_a_refund_takes_the_goods_back_and_staff_see_why(
    buyer: Page, example: Example, browser: Browser
) -> None:
    """The operator presses Refund: the item leaves the inventory, and the admin shows the order's timeline."""
    buy(buyer, example, "Cloak of Embers")
    expect(buyer.get_by_role("heading", name="Cloak of Embers")).to_be_visible()
    returned_to = buyer.url

    operator = browser.new_page()
    operator.goto(f"{example.service}/_sandbox/")
    look(operator, "operator")
    operator.get_by_role("button", name="Refund").first.click()

    buyer.goto(returned_to)
    # The notification of the refund may come after this page was made, and a page that says "Paid" no longer asks.
    reload_until(buyer, lambda: buyer.get_by_role("heading", name="Refunded").count() > 0)
    look(buyer, "return-refunded")
    buyer.goto(f"{example.shop}/inventory/")
    reload_until(buyer, lambda: buyer.get_by_role("heading", name="Cloak of Embers").count() == 0)
    buyer.goto(f"{example.shop}/purchases/")
    expect(buyer.get_by_text("Refunded").first).to_be_visible()
    look(buyer, "purchases")

    staff = browser.new_page()
    log_in(staff, f"{example.shop}/admin/", "sam", "sam-helps")
    staff.goto(f"{example.shop}/admin/checkout_integration/order/")
    look(staff, "admin-list")
    staff.locator("#result_list tbody tr a").first.click()
    expect(staff.get_by_text("payment.success").first).to_be_visible()
    expect(staff.get_by_text("payment.refund").first).to_be_visible()
    look(staff, "admin-order")


def test_the_pages_people_see_first(page: Page, example: Example) -> None:
    """The shop and a product are public; a guest may buy, or log in first."""
    page.goto(example.shop)
    expect(page.get_by_role("heading", level=2)).to_have_count(6)
    look(page, "shop")
    page.get_by_role("link", name="Moss & Iron").click()
    expect(page.get_by_text("You buy as a guest")).to_be_visible()
    look(page, "product")


def test_a_purchase_by_the_keyboard_alone(buyer: Page, example: Example) -> None:
    """From the shop to the goods, and the focus can be seen at each step."""
    keys = buyer.keyboard
    buyer.goto(example.shop)
    go_to(buyer, "Tin raven")
    keys.press("Enter")
    buyer.wait_for_url(f"{example.shop}/products/**")
    go_to(buyer, "Buy now")
    keys.press("Enter")
    buyer.wait_for_url(f"{example.service}/form/**")
    for label, text in (
        ("Card number", "4242424242424242"),
        ("Expiry date", "12/34"),
        ("Security code", "123"),
        ("E-mail for the receipt", "robin@example.com"),
    ):
        go_to(buyer, label)
        keys.type(text)
    go_to(buyer, "Pay ")
    keys.press("Enter")
    buyer.get_by_role("link", name="OK").wait_for()
    go_to(buyer, "OK")
    keys.press("Enter")
    buyer.wait_for_url(f"{example.shop}/purchase/**")
    expect(buyer.get_by_role("heading", name="Tin raven")).to_be_visible()
    go_to(buyer, "To the inventory")
    keys.press("Enter")
    buyer.wait_for_url(f"{example.shop}/inventory/")


def test_after_a_cancel_the_buyer_can_try_again(buyer: Page, example: Example) -> None:
    """The page of the purchase and the list of purchases lead back to the product, and offer no form."""
    buyer.goto(example.shop)
    buyer.get_by_role("link", name="Tin raven").click()
    buyer.get_by_role("button", name="Buy now").click()
    buyer.wait_for_url(f"{example.service}/form/**")
    buyer.get_by_role("button", name="Cancel").click()
    buyer.get_by_role("link", name="OK").click()
    expect(buyer.get_by_role("heading", name="Cancelled")).to_be_visible()
    look(buyer, "return-cancelled")
    page = buyer.url
    buyer.goto(f"{example.shop}/purchases/")
    row = buyer.locator(".checkout-purchases li").first
    expect(row.get_by_text("Not paid")).to_be_visible()
    assert row.get_by_role("link", name="Pay now").count() == 0
    expect(row.get_by_role("link", name="Try again")).to_be_visible()
    look(buyer, "purchases-cancelled")
    buyer.goto(page)
    buyer.get_by_role("link", name="Try again").click()
    expect(buyer.get_by_role("button", name="Buy now")).to_be_visible()


def test_a_double_click_leads_to_one_form(buyer: Page, example: Example) -> None:
    """The browser sends both, and shows the second answer."""
    buyer.goto(f"{example.shop}/purchases/")
    purchases = buyer.locator(".checkout-purchases li")
    had = purchases.count()
    buyer.goto(example.shop)
    buyer.get_by_role("link", name="Moss & Iron").click()
    buyer.get_by_role("button", name="Buy now").dblclick()
    buyer.wait_for_url(f"{example.service}/form/**")
    buyer.goto(f"{example.shop}/purchases/")
    expect(purchases).to_have_count(had + 1)


def test_the_token_page_is_a_page_of_its_own(buyer: Page, example: Example) -> None:
    """Reloading it sends no form again, and shows the same token's form."""
    choose(buyer, example, "Tin raven", "By the form's script, with a payment token")
    buyer.wait_for_url(f"{example.shop}/pay/token/**")
    buyer.frame_locator("#pay iframe").get_by_label("Card number").wait_for()
    buyer.reload()
    buyer.frame_locator("#pay iframe").get_by_label("Card number").wait_for()
