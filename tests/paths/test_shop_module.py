"""The app's ES module on a page of a shop, in Chromium: ways to open the form, and the watch over a purchase."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.documents import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
MODULE = (ROOT / "checkout_integration/static/checkout_integration/checkout.js").read_text()
SHOP, FORM = "http://shop.localhost", "http://form.localhost"
PAID = {"status": "paid", "order_status": "processed", "goods": "granted"}
OPEN = {"status": "open", "order_status": "created", "goods": ""}
Answers = list[Any]


@pytest.fixture
def answers() -> Answers:
    """What the shop's server says of the purchase, in turn; the last answer stays."""
    return [OPEN]


@pytest.fixture
def shop(page: Page, answers: Answers) -> Page:
    """A page of the shop with the module's functions at hand; no server is needed."""

    def serve(route: Route) -> None:
        address = route.request.url
        if address == f"{SHOP}/checkout.js":
            route.fulfill(body=MODULE, content_type="text/javascript")
        elif address == f"{SHOP}/status":
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            body = json.dumps(answer) if isinstance(answer, dict) else str(answer)
            route.fulfill(body=body, content_type="application/json")
        else:
            route.fulfill(
                body="<title>page</title><div id=area></div><button>Pay</button>", content_type="text/html"
            )

    page.context.route("**/*", serve)
    page.goto(f"{SHOP}/")
    page.evaluate("import('/checkout.js').then((module) => { window.module = module; window.heard = []; })")
    return page


def test_the_redirect_leads_there(shop: Page) -> None:
    """The page gives way to the form."""
    shop.evaluate(f"void module.openForm('{FORM}/1', {{way: 'redirect'}})")
    shop.wait_for_url(f"{FORM}/1")


def test_the_window_is_another_one(shop: Page) -> None:
    """The shop's page stays, the form cannot lead it elsewhere, and the page notices when the window is closed."""
    shop.evaluate(
        "document.querySelector('button').onclick = () => "
        f"module.openForm('{FORM}/1', {{way: 'window', onClosed: () => heard.push('closed')}})"
    )
    with shop.expect_popup() as popup:
        shop.get_by_role("button").click()
    popup.value.wait_for_url(f"{FORM}/1")
    assert popup.value.evaluate("window.opener") is None
    assert (shop.url, shop.evaluate("heard")) == (f"{SHOP}/", [])
    popup.value.close()
    shop.wait_for_function("heard.includes('closed')")


def test_the_frame_hears_the_form_alone(shop: Page) -> None:
    """From its first message on, until the page no longer wants to."""
    handlers = "{onReady: () => heard.push('ready'), onDeclined: () => heard.push('declined')}"
    shop.evaluate(
        f"void (ends = module.openForm('{FORM}/1', {{way: 'frame', into: area, title: 'Pay', ...{handlers}}}))"
    )
    shop.wait_for_function("frames.length === 1")
    form = shop.frames[1]
    form.wait_for_url(f"{FORM}/1")
    say: Callable[[str, Any], None] = lambda name, data: form.evaluate(  # noqa: E731
        "message => parent.postMessage(message, '*')", {"name": name, "data": data}
    )
    say("formRendered", {})
    say("formResize", {"height": 432})
    say("paymentDeclined", {})
    shop.wait_for_function("heard.length === 2")
    assert shop.evaluate("heard") == ["ready", "declined"]
    assert shop.locator("iframe").evaluate("frame => frame.style.height") == "432px"
    assert "allow-top-navigation-by-user-activation" in (
        shop.locator("iframe").get_attribute("sandbox") or ""
    )
    shop.evaluate("addEventListener('message', () => heard.push('came')); ends()")
    say("paymentDeclined", {})
    shop.wait_for_function("heard.includes('came')")
    assert shop.evaluate("heard") == ["ready", "declined", "came"]


def test_a_frame_needs_a_place(shop: Page) -> None:
    """The error says which option is missing."""
    said = shop.evaluate(
        f"() => {{ try {{ module.openForm('{FORM}', {{way: 'frame'}}); }} catch (error) {{ return error.message; }} }}"
    )
    assert "into" in said


def test_the_watch_ends_with_the_first_change(shop: Page, answers: Answers) -> None:
    """What is no answer is asked again; the change is said once."""
    answers[:] = [OPEN, "<html>", {"status": 7}, OPEN, PAID]
    shop.evaluate(
        "shown => void module.watchPurchase('/status', {shown, pause: 5, onChange: (state) => heard.push(state)})",
        OPEN,
    )
    shop.wait_for_function("heard.length === 1")
    assert (shop.evaluate("heard"), answers) == ([PAID], [PAID])
    with shop.expect_request(f"{SHOP}/after") as after:
        shop.evaluate("void setTimeout(() => fetch('/after'), 50)")
    assert (after.value.method, shop.evaluate("heard.length")) == ("GET", 1)


def test_a_slow_purchase_is_said_once_and_watched_further(shop: Page, answers: Answers) -> None:
    """The page says that it takes long, and goes on all the same."""
    answers[:] = [*[OPEN] * 4, PAID]
    shop.evaluate(
        "shown => void module.watchPurchase('/status', "
        "{shown, pause: 5, patience: 0, onSlow: () => heard.push('slow'), onChange: () => heard.push('change')})",
        OPEN,
    )
    shop.wait_for_function("heard.includes('change')")
    assert shop.evaluate("heard") == ["slow", "change"]
