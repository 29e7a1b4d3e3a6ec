"""The guard in Chromium: real requests from a page of another site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sandbox.test_browser import shop_page
from tests.support.sandbox.service import Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

FORM = """([url, kind]) => new Promise(done => {
    const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { name: "here" }));
    const form = document.body.appendChild(document.createElement("form"));
    Object.assign(form, { method: "post", action: url, enctype: kind, target: "here" });
    form.append(Object.assign(document.createElement("input"), { name: "advance", value: "60" }));
    frame.onload = () => done();
    form.submit();
})"""
FETCH = """([url, kind]) => fetch(url, {
    method: "POST", mode: "no-cors", headers: { "Content-Type": kind }, body: JSON.stringify({ advance: 60 })
})"""
FRAME = """url => { document.body.append(Object.assign(document.createElement("iframe"), { src: url })); }"""


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
@pytest.mark.parametrize(("path", "script"), [("/_sandbox/clock", FETCH), ("/_sandbox/clock", FORM)])
def test_a_page_of_another_site_changes_nothing(
    service: Service, page: Page, path: str, script: str, kind: str
) -> None:
    """Neither by a script nor by a form, in any way in which browsers let it ask without leave."""
    before = service.sandbox.clock.now()
    with shop_page(f"{service.url}/client.js") as shop:
        page.goto(shop)
        with page.expect_response(service.url + path) as response:
            page.evaluate(script, [service.url + path, kind])
        assert response.value.status == 403
    assert service.sandbox.clock.now() == before


def test_the_operators_page_is_not_framed(service: Service, page: Page) -> None:
    """Another site cannot lay a button of its own over one of ours."""
    with shop_page(f"{service.url}/client.js") as shop:
        page.goto(shop)
        url = f"{service.url}/_sandbox/"
        with page.expect_response(url) as response:
            page.evaluate(FRAME, url)
        assert response.value.status == 403
        assert "Operator" not in page.frames[1].content()
