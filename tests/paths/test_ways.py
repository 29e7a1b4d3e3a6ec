"""The five ways of showing the Checkout Form, each bought through in Chromium under the shop's content security policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser import expect
from tests.support.paths.browsing import SIZES, choose, expect_accessible, log_in, look_around, pay
from tests.support.paths.example import Example

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

pytestmark = pytest.mark.browser
WINDOW, FRAME = "In a new window", "In a frame on our page"
PAGE, TOKEN = "On our page, by the form's script", "By the form's script, with a payment token"
SERVER = "With a payment token that we redeem"
BODY_HEIGHT = "document.body.offsetHeight"
COMPLETED = {"name": "paymentCompleted", "data": {}}
SHAPELESS: list[object] = [
    None,
    "paymentCompleted",
    ["paymentCompleted"],
    {"name": ["paymentCompleted"]},
    {"name": "formResize"},
    {"name": "formResize", "data": {"height": "2000"}},
    {"name": "somethingNew", "data": {"height": 2000}},
]


def owned(page: Page, example: Example) -> int:
    """Return the number of things in the inventory."""
    page.goto(f"{example.shop}/inventory/")
    return page.locator(".owned").count()


def expect_bought(page: Page, product: str) -> None:
    """Expect the page of a purchase, in the whole window, that says paid and shows the goods."""
    page.wait_for_url("**/purchase/**")
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()
    expect(page.locator(".owned").get_by_role("heading", name=product)).to_be_visible()


def buy_in_page(page: Page, example: Example, product: str, way: str, name: str) -> None:
    """Buy on a page of the shop with the form in it, until the purchase's page fills the window."""
    had = owned(page, example)
    choose(page, example, product, way)
    form = page.frame_locator("#pay iframe")
    form.get_by_label("Card number").wait_for()
    expect_accessible(page)
    look_around(page, f"way-{name}")
    pay(form)
    expect(page.get_by_role("status")).to_contain_text("The form is done.")
    look_around(page, f"way-{name}-completed")
    form.get_by_role("link", name="OK").click()
    expect_bought(page, product)
    look_around(page, f"way-{name}-paid")
    assert owned(page, example) == had + 1


@pytest.fixture
def form_frame(buyer: Page, example: Example) -> Frame:
    """Open the page with the framed form; give the frame once it has the requested height."""
    choose(buyer, example, "500 gems", FRAME)
    buyer.frame_locator("#pay iframe").get_by_label("Card number").wait_for()
    form, element = buyer.frames[1], buyer.locator("#pay iframe")
    element.scroll_into_view_if_needed()  # a frame out of sight is laid out late
    for _ in range(600):
        if element.evaluate("frame => frame.style.height") == f"{form.evaluate(BODY_HEIGHT)}px":
            return form
        buyer.evaluate("new Promise(requestAnimationFrame)")
    raise AssertionError("the form did not ask for its height")


@pytest.mark.spec("EP6-01")
def test_the_form_in_a_new_window(buyer: Page, example: Example) -> None:
    """The link opens a window for the payment and the return; the shop's page stays, and leads to the purchase too."""
    had = owned(buyer, example)
    choose(buyer, example, "500 gems", WINDOW)
    expect_accessible(buyer)
    look_around(buyer, "way-window")
    with buyer.expect_popup() as popup:
        buyer.get_by_role("link", name="Pay now").click()
    pay(popup.value)
    popup.value.get_by_role("link", name="OK").click()
    expect_bought(popup.value, "500 gems")
    buyer.get_by_role("link", name="See your purchase").click()
    expect_bought(buyer, "500 gems")
    assert owned(buyer, example) == had + 1


@pytest.mark.spec("EP6-02")
def test_the_frame_is_as_high_as_the_form(buyer: Page, form_frame: Frame) -> None:
    """It grows and shrinks with what the form shows, and needs no scroll bar of its own."""
    frame = buyer.locator("#pay iframe")

    def height() -> int:
        return int(form_frame.evaluate("document.body.offsetHeight"))

    on_a_desk = height()
    expect(frame).to_have_js_property("offsetHeight", on_a_desk)
    buyer.set_viewport_size(SIZES["narrow"])
    assert height() > on_a_desk
    expect(frame).to_have_js_property("offsetHeight", height())
    buyer.set_viewport_size(SIZES["desktop"])
    expect(frame).to_have_js_property("offsetHeight", on_a_desk)


@pytest.mark.spec("EP6-02")
def test_the_form_in_a_frame(buyer: Page, example: Example) -> None:
    """Paid inside the frame; the page of the purchase leaves it."""
    buy_in_page(buyer, example, "Lanternfall", FRAME, "frame")


@pytest.mark.spec("EP6-03")
def test_the_form_by_the_client_side_object(buyer: Page, example: Example) -> None:
    """The object, given the form's address, renders it into the page."""
    buy_in_page(buyer, example, "1,200 gems", PAGE, "page")


@pytest.mark.spec("EP6-04")
def test_the_form_by_the_client_side_object_and_a_token(buyer: Page, example: Example) -> None:
    """The object makes the order from the content of the token alone."""
    buy_in_page(buyer, example, "Tin raven", TOKEN, "token")


@pytest.mark.spec("EP6-05")
def test_the_form_of_an_order_made_by_a_token(buyer: Page, example: Example) -> None:
    """The shop's server redeems the token; the form of that order is framed."""
    buy_in_page(buyer, example, "Moss & Iron", SERVER, "server")


def test_without_script_the_links_leave_the_frame(browser: Browser, example: Example) -> None:
    """A click navigates the whole window, which the frame's sandbox allows."""
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        log_in(page, f"{example.shop}/accounts/login/", "robin", "robin-plays")
        choose(page, example, "500 gems", FRAME)
        form = page.frame_locator("#pay iframe")
        pay(form)
        form.get_by_role("link", name="OK").click()
        form.get_by_role("link", name="To the shop").click()
        page.wait_for_url(f"{example.shop}/")


def test_the_page_of_a_checkout_can_be_opened_again_by_its_buyer(
    buyer: Page, browser: Browser, example: Example
) -> None:
    """It shows the same order, never a second one; to others there is no such page."""
    choose(buyer, example, "500 gems", FRAME)
    form = buyer.locator("#pay iframe").get_attribute("src")
    buyer.reload()
    assert buyer.locator("#pay iframe").get_attribute("src") == form
    with browser.new_context() as another:
        page = another.new_page()
        log_in(page, f"{example.shop}/accounts/login/", "sam", "sam-helps")
        answer = page.goto(buyer.url)
    assert answer is not None
    assert answer.status == 404


def tell(frame: Frame, message: object) -> None:
    """Post a message from a frame to the page around it, and wait until the page has had it."""
    listen = "new Promise((done) => addEventListener('message', ({data}) => data === 'heard' && done()))"
    frame.page.evaluate(f"void (window.heard = {listen})")
    frame.evaluate(
        "message => { parent.postMessage(message, '*'); parent.postMessage('heard', '*'); }", message
    )
    frame.page.evaluate("window.heard")


def test_messages_of_others_are_not_heard(buyer: Page, example: Example, form_frame: Frame) -> None:
    """Neither from the page itself, nor from the form's origin in another frame, nor from another origin in the form's."""
    address, status = buyer.url, buyer.get_by_role("status", include_hidden=True)
    returned = {"name": "returned"}
    for message in (COMPLETED, returned):
        tell(buyer.main_frame, message)
    source = form_frame.url
    buyer.evaluate(
        "src => document.body.append(Object.assign(document.createElement('iframe'), {src}))", source
    )
    buyer.frame_locator("body > iframe").get_by_label("Card number").wait_for()
    for message in (COMPLETED, returned):
        tell(buyer.frames[2], message)
    tell(form_frame, returned)
    form_frame.evaluate("address => { location.href = address; }", f"{example.shop}/accounts/login/")
    form_frame.wait_for_url(f"{example.shop}/**")
    tell(form_frame, COMPLETED)
    assert buyer.url == address
    expect(status).to_be_empty()


def test_messages_of_another_shape_change_nothing(buyer: Page, form_frame: Frame) -> None:
    """The page stays as it is, and its script does not fail."""
    frame = buyer.locator("#pay iframe")
    height = frame.evaluate("frame => frame.style.height")
    for message in SHAPELESS:
        tell(form_frame, message)
    assert frame.evaluate("frame => frame.style.height") == height
    expect(buyer.get_by_role("status", include_hidden=True)).to_be_empty()


def test_a_message_that_says_completed_pays_for_nothing(
    buyer: Page, example: Example, form_frame: Frame
) -> None:
    """Even from the form itself it only changes the page: the checkout stays open, and nothing is granted."""
    tell(form_frame, {"name": "formResize", "data": {"height": 1e9}})
    assert buyer.locator("#pay iframe").evaluate("frame => frame.style.height") == "3000px"
    tell(form_frame, COMPLETED)
    expect(buyer.get_by_role("status")).to_contain_text("The form is done.")
    expect_accessible(buyer)
    buyer.get_by_role("link", name="See your purchase").click()
    expect(buyer.get_by_role("heading", name="Waiting for the payment")).to_be_visible()
    look_around(buyer, "way-forged")
    had = owned(buyer, example)
    assert owned(buyer, example) == had
