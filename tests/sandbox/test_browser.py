"""The sandbox's pages in Chromium: accessible, and driven by the client-side object."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import requests
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from tests.support.sandbox.service import Service

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page

pytestmark = pytest.mark.browser


@contextmanager
def shop_page(script_url: str) -> Iterator[str]:
    """Serve a merchant's page, on an origin of its own, that loads the client-side script."""

    @Request.application
    def shop(request: Request) -> Response:
        html = f'<!doctype html><title>Shop</title><p id="here">Shop</p><script src="{script_url}"></script>'
        return Response(html, mimetype="text/html")

    server = make_server("127.0.0.1", 0, shop, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def fill_card(frame: Page | Frame, number: str = "4242424242424242") -> None:
    """Type a card into the form and press Pay."""
    for name, text in {"number": number, "expiry": "12/34", "cvc": "123", "email": "a@example.com"}.items():
        frame.fill(f"#{name}", text)
    frame.click("button.primary")


LISTEN = """names => { window.heard = []; for (const name of names) window.client.on(name, () => heard.push(name)); }"""
EVENTS = ["formRendered", "formResize", "paymentCompleted", "paymentDeclined", "modalClosed"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_are_accessible(service: Service, page: Page, scheme: str) -> None:
    """Axe finds no violation on the form and its ends."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    paid, declined, fresh = service.paid(), service.order_id(), service.order_id()
    service.act(declined, "decline")
    paths = [f"/form/?order_id={order_id}" for order_id in (fresh, paid, declined, "nothing")]
    paths += [f"/form/?order_id={fresh}&method={method}" for method in ("wallet", "crypto")]
    for path in paths:
        page.goto(service.url + path)
        assert axe.run(page).response["violations"] == [], path
        assert page.locator(".banner").inner_text() == "Sandbox. No real money moves here."


def test_a_buyer_pays_in_the_browser(service: Service, page: Page) -> None:
    """The form works as a page of its own, and its console stays clean."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(f"{service.url}/form/?order_id={service.order_id()}")
    fill_card(page)
    page.wait_for_selector("text=Payment successful")
    assert errors == []


@pytest.mark.spec("EP6-03", "EP6-02")
def test_the_client_side_object_renders_into_the_page(service: Service, page: Page) -> None:
    """renderPage() empties its target, shows the form in it, and reports how it ended."""
    with shop_page(f"{service.url}/client.js") as shop:
        page.goto(shop)
        form_url = f"{service.url}/form/?order_id={service.order_id()}"
        page.evaluate("url => { window.client = new CheckoutClient({ formUrl: url }); }", form_url)
        page.evaluate(LISTEN, EVENTS)
        page.evaluate("client.renderPage()")
        page.wait_for_function("heard.includes('formResize')")
        assert page.query_selector("#here") is None
        fill_card(page.frames[1])
        page.wait_for_function("heard.includes('paymentCompleted')")
    assert service.listed().json()["items"][0]["form_mode"] == "standalone"


@pytest.mark.spec("EP6-04")
def test_the_client_side_object_opens_a_token_over_the_page(service: Service, page: Page) -> None:
    """renderModal() makes the order from the token; closeModal() leaves the page as it was."""
    token = service.token({"type": "simple", "amount": 3, "currency": "USD"}).json()["token"]
    with shop_page(f"{service.url}/client.js") as shop:
        page.goto(shop)
        page.evaluate("token => { window.client = new CheckoutClient({ token }); }", token)
        page.evaluate(LISTEN, EVENTS)
        page.evaluate("client.renderModal()")
        page.wait_for_function("heard.includes('formRendered')")
        fill_card(page.frames[1], "4000000000000002")
        page.wait_for_function("heard.includes('paymentDeclined')")
        page.evaluate("client.closeModal()")
        page.wait_for_function("heard.includes('modalClosed')")
        assert page.query_selector("dialog") is None
        assert page.query_selector("#here") is not None
    assert service.listed().json()["items"][0]["form_mode"] == "iframe"


def test_a_forged_message_is_not_heard(service: Service, page: Page) -> None:
    """A message that does not come from the form's own frame and origin is no event."""
    with shop_page(f"{service.url}/client.js") as shop:
        page.goto(shop)
        form_url = f"{service.url}/form/?order_id={service.order_id()}"
        page.evaluate("url => { window.client = new CheckoutClient({ formUrl: url }); }", form_url)
        page.evaluate(LISTEN, EVENTS)
        page.evaluate("client.renderPage('#here')")
        page.evaluate("postMessage({ name: 'paymentCompleted', data: {} }, '*')")
        page.wait_for_function("heard.includes('formResize')")
        assert "paymentCompleted" not in page.evaluate("heard")


@pytest.mark.spec("EP6-03", "EP6-04")
def test_the_client_side_object_opens_a_project(service: Service, page: Page) -> None:
    """A project with amount and currency is an order of its own; language and colours follow the options."""
    options = {
        "project": "project-1",
        "type": "simple",
        "amount": 4.5,
        "currency": "EUR",
        "language": "pt-BR",
    }
    with shop_page(f"{service.url}/client.js?class=Paywell") as shop:
        page.goto(shop)
        page.evaluate("options => { window.client = new Paywell(options); }", options)
        page.evaluate(LISTEN, EVENTS)
        page.evaluate("client.setAmount(6).setViewScheme('dark').renderPage('#here')")
        page.wait_for_function("heard.includes('formRendered')")
        assert page.frames[1].get_attribute("html", "data-scheme") == "dark"
        assert page.frames[1].evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 20, 26)"
        assert page.evaluate("typeof window.CheckoutClient") == "undefined"
    item = service.listed().json()["items"][0]
    assert (item["amount"], item["currency"], item["user"]["locale"]) == (6, "EUR", "pt-BR")


@pytest.mark.spec("EP6-03")
def test_products_are_given_as_a_list(service: Service, page: Page) -> None:
    """Each product of the option is bought."""
    options = {"project": "project-1", "type": "product", "products": ["sword", "shield"]}
    with shop_page(f"{service.url}/client.js") as shop:
        page.goto(shop)
        page.evaluate("options => { window.client = new CheckoutClient(options); }", options)
        page.evaluate(LISTEN, EVENTS)
        page.evaluate("client.renderModal()")
        page.wait_for_function("heard.includes('formRendered')")
    assert [item["id"] for item in service.listed().json()["items"][0]["items"]] == ["sword", "shield"]


def test_the_client_side_object_needs_one_source(service: Service, page: Page) -> None:
    """Neither nothing nor two of project, token and formUrl; a setter puts one in the place of another."""
    with shop_page(f"{service.url}/client.js") as shop:
        page.goto(shop)
        tried = "options => { try { new CheckoutClient(options); return 'made'; } catch (e) { return e.message; } }"
        for options in ({}, {"project": "p", "token": "t"}, {"token": "t", "formUrl": "/f"}):
            assert page.evaluate(tried, options) == "CheckoutClient: give one of project, token and formUrl"
        changed = "new CheckoutClient({ project: 'p', amount: 1 }).setToken('t').address.search"
        assert page.evaluate(changed) == "?token=t&form_mode=embed"


def test_the_bank_s_code_is_entered_in_the_browser(service: Service, page: Page) -> None:
    """The bank's question is accessible, and its code pays."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.goto(f"{service.url}/form/?order_id={service.order_id()}")
    fill_card(page, "4000002760003184")
    page.wait_for_selector("text=Confirm the payment")
    assert axe.run(page).response["violations"] == []
    page.fill("#code", "1234")
    page.click("button.primary")
    page.wait_for_selector("text=Payment successful")


@pytest.mark.spec("EP6-02", "ORD-44", "ORD-21")
def test_a_plain_frame_is_recognised(service: Service, page: Page) -> None:
    """An iframe of the form is recorded as one, without any script."""
    order_id = service.order_id()
    with shop_page(f"{service.url}/client.js") as shop:
        page.goto(shop)
        page.evaluate(
            "url => { const f = document.createElement('iframe'); f.src = url; document.body.append(f); }",
            f"{service.url}/form/?order_id={order_id}",
        )
        page.wait_for_function("document.querySelector('iframe').contentWindow.length === 0")
        page.frames[1].wait_for_selector("#number")
    item = service.listed().json()["items"][0]
    assert (item["form_mode"], item["issuer"]["embedded"]) == ("iframe", True)


@pytest.mark.parametrize("name", ["", "a b", "1st", "x;alert(1)//", "x" * 65])
def test_the_class_must_have_a_name(service: Service, name: str) -> None:
    """Whatever is no identifier is refused, so that nothing strange is ever served as a script."""
    answer = requests.get(f"{service.url}/client.js", params={"class": name}, timeout=10)
    assert answer.status_code == 400
