"""The operator's page in Chromium: what a person sees and does there is what the control API says and takes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from checkout_integration.sandbox import Fault
from checkout_integration.sandbox.faults.catalogue import KINDS
from tests.support.browser import expect
from tests.support.sandbox.service import PROJECT, Service, running

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

HOME = "/_sandbox/"


def look(service: Service, page: Page, place: str = "") -> None:
    """Open the page, or a part of it, and wait until it is filled."""
    page.goto("about:blank")
    page.goto(f"{service.url}{HOME}{place}")
    page.wait_for_selector("#detail:not([hidden])" if place else "#order-table > *")


def press(page: Page, name: str) -> None:
    """Press a button, and wait until the page says that it is done."""
    page.get_by_role("button", name=name, exact=True).first.click()
    page.wait_for_selector("#message > *")


def rows(page: Page, part: str) -> list[list[str]]:
    """Return the table of a part of the page, as texts."""
    return [row.locator("td").all_inner_texts() for row in page.locator(f"#{part} tbody tr").all()]


def problem(page: Page) -> Locator:
    """Return the place of what went wrong."""
    return page.get_by_role("alert")


def test_the_bare_address_leads_to_the_page(service: Service) -> None:
    """The address that the command prints redirects to the operator's page."""
    answer = requests.get(service.url, timeout=10)
    assert (answer.url, answer.status_code) == (service.url + HOME, 200)


@pytest.mark.browser
def test_the_buttons_of_an_order_are_in_view_on_a_phone(service: Service, page: Page) -> None:
    """Nobody scrolls sideways for them; ten orders are shown, the others by a button."""
    for _ in range(12):
        service.create(amount=12.50, description="A hat")
    page.set_viewport_size({"width": 390, "height": 844})
    look(service, page)
    assert len(rows(page, "order-table")) == 10
    for button in page.locator("#order-table td button").all():
        box = button.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Show more orders").click()
    page.wait_for_selector("#more", state="detached")
    assert len(rows(page, "order-table")) == 12


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(service: Service, page: Page, scheme: str) -> None:
    """Axe finds no violation on any part of it, nor beside a message or a problem; the console stays clean."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    paid, _ = service.paid(), service.order_id()
    service.post("/_sandbox/testing/correct_payment", {})
    service.sandbox.faults.add(Fault(point="list", kind="null_items"))  # type: ignore[arg-type]
    service.sandbox.clock.advance(10**8)
    for place in ("", f"#/order/{paid}", f"#/project/{PROJECT}", "#/log/1", "#/order/nothing"):
        look(service, page, place)
        assert axe.run(page).response["violations"] == [], place
    assert errors == ["Failed to load resource: the server responded with a status of 404 (NOT FOUND)"]
    look(service, page)
    press(page, "Back to real time")
    assert axe.run(page).response["violations"] == []


@pytest.mark.browser
def test_an_order_is_paid_and_refunded(service: Service, page: Page) -> None:
    """By its buttons; the page then shows what the merchant answered."""
    order_id = service.order_id(description="<b>A hat</b>")
    look(service, page)
    assert rows(page, "order-table")[0][2:5] == ["<b>A hat</b>", "9.99 USD", "created"]
    press(page, "Pay")
    assert rows(page, "order-table")[0][4:6] == ["processed", "payment.success: delivered (200, try 0)"] or (
        service.sandbox.profile.name == "spec"
    )
    assert page.evaluate("document.activeElement.id") == f"order-{order_id}"
    press(page, "Refund")
    assert service.receiver.events == ["payment.success", "payment.refund"]


@pytest.mark.browser
def test_an_order_is_looked_at(service: Service, page: Page) -> None:
    """Its document with exact numbers, its notifications, and a refund in part."""
    order_id = service.paid(description="A hat", amount=100.1)
    look(service, page)
    page.click(f"#order-{order_id}")
    expect(page.get_by_role("heading", name="A hat")).to_be_visible()
    assert '"amount": 100.1,' in page.get_by_label("The order as listed").inner_text()
    assert "payment.success: delivered" in page.locator("#detail").inner_text()
    page.get_by_label("Amount in USD").fill("2.50")
    page.get_by_label("Reason").fill("Half a hat")
    press(page, "Refund this amount")
    refund = service.receiver.received[-1].document["object"]["refund"]
    assert (str(refund["amount"]), refund["reason"]) == ("2.5", "Half a hat")
    page.get_by_label("Amount in USD").fill("much")
    page.get_by_role("button", name="Refund this amount").click()
    expect(problem(page)).to_contain_text("Not possible: not a number")


@pytest.mark.browser
def test_numbers_are_shown_as_they_were_sent(service: Service, page: Page) -> None:
    """A number of JavaScript would round them."""
    service.post("/api/v1/order", {"amount": 12345678901234567890, "project": PROJECT})
    look(service, page, "#/log/1")
    assert "12345678901234567890" in page.get_by_label("Body of the request").inner_text()


@pytest.mark.browser
def test_an_exchange_is_looked_at(service: Service, page: Page) -> None:
    """Request and response, complete and readable; the log links there."""
    service.create(amount=12.50, description="<A hat>")
    look(service, page)
    page.locator("#entries summary").click()
    page.get_by_role("link", name="Open exchange 1").click()
    expect(page.get_by_label("Body of the request")).to_contain_text('"amount": 12.5')
    expect(page.get_by_label("Body of the response")).to_contain_text("payment_form_url")
    assert "no version header" in page.locator("#detail").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("place", ["#/order/nothing", "#/project/nobody", "#/log/999"])
def test_what_is_not_there_is_said(service: Service, page: Page, place: str) -> None:
    """With a way back."""
    look(service, page, place)
    expect(problem(page)).to_contain_text("Not possible")
    page.get_by_role("link", name="Back to the operator").click()
    expect(page.get_by_role("heading", name="Clock")).to_be_visible()


@pytest.mark.browser
def test_a_project_is_set(service: Service, page: Page) -> None:
    """Every setting but the merchant's; only what was changed is sent."""
    look(service, page)
    page.get_by_role("link", name=f"Settings of {PROJECT}").click()
    page.wait_for_selector("#detail form")
    shown = set(
        page.locator("#detail").locator("input, select").evaluate_all("all => all.map(one => one.id)")
    )
    settings = set(requests.get(f"{service.url}/_sandbox/project", timeout=10).json())
    assert (settings - shown, shown - settings) == ({"project_id", "merchant"}, {"secret_key"})
    before = service.sandbox.projects.get(PROJECT)
    press(page, "Save settings")
    assert service.sandbox.projects.get(PROJECT) == before
    page.fill("#retry_schedule", "60, 2.5")
    page.fill("#charge_rate", "1.5")
    page.fill("#secret_key", "sandbox_new")
    page.select_option("#invalid_status", "422")
    page.select_option("#live", "true")
    press(page, "Save settings")
    after = service.sandbox.projects.get(PROJECT)
    assert (after.retry_schedule, str(after.charge_rate), after.secret_key) == (
        (60, 2.5),
        "1.5",
        "sandbox_new",
    )
    assert (after.invalid_status, after.live, after.title) == (422, True, before.title)
    page.fill("#retry_limit", "many")
    page.get_by_role("button", name="Save settings").click()
    expect(problem(page)).to_contain_text("the project refuses this: retry_limit must be of the type int")
    assert page.input_value("#retry_limit") == "many"


@pytest.mark.browser
def test_the_clock_is_moved_and_stopped(service: Service, page: Page) -> None:
    """By both forms."""
    look(service, page)
    press(page, "Advance")
    assert (service.sandbox.clock.now().minute, page.locator("#now").inner_text()) == (
        10,
        "2026-03-04T12:10:00Z",
    )
    page.select_option("#running", "yes")
    press(page, "Set")
    assert service.sandbox.clock.running


@pytest.mark.browser
def test_a_clock_that_is_ahead_is_turned_back(tmp_path: Path, page: Page) -> None:
    """The page shows how far it is ahead, also after a restart, and the effects, and has a button to turn it back."""
    state = tmp_path / "state"
    with running(state=state, moment=datetime.now(UTC)) as before:
        look(before, page)
        expect(page.locator("#ahead")).to_be_hidden()
        page.select_option("#advance", "172800")
        press(page, "Advance")
        press(page, "Advance")
    with running(state=state, moment=datetime.now(UTC)) as after:
        look(after, page)
        expect(page.locator("#ahead")).to_contain_text("ahead of real time. Shops refuse notifications from")
        expect(page.locator("#ahead strong")).to_contain_text(re.compile(r"^(4 days|3 days 23 hours)"))
        press(page, "Back to real time")
        expect(page.locator("#ahead")).to_be_hidden()
        assert abs(after.sandbox.clock.ahead().total_seconds()) < 60


@pytest.mark.browser
def test_a_testing_case_is_run(service: Service, page: Page) -> None:
    """For a project of the sandbox; its result is listed."""
    look(service, page)
    page.select_option("#testing-project", PROJECT)
    press(page, "Run case")
    (trial,) = rows(page, "trials")
    assert trial[1:] == ["correct payment", "payment.success", "200", "200", "as expected"]


@pytest.mark.browser
def test_a_fault_strikes_as_often_as_its_rule_says(service: Service, page: Page) -> None:
    """The first message of a payment comes twice; then the fault is over, and the page says so."""
    service.order_id()
    look(service, page)
    page.select_option("#fault", "notification:duplicate")
    page.select_option("#fault-subject", "payment.success")
    press(page, "Switch on")
    assert rows(page, "rules") == [["Notifications", "duplicate", "payment.success", "", "0 of 1", "on"]]
    press(page, "Pay")
    expect(page.locator("#message")).to_contain_text("Pay")
    assert service.receiver.events == ["payment.success"] * 2
    assert rows(page, "rules") == [["Notifications", "duplicate", "payment.success", "", "1 of 1", "used up"]]
    press(page, "Switch all off")
    expect(page.locator("#rules")).to_have_text("No fault is on.")


@pytest.mark.browser
def test_every_fault_can_be_chosen(service: Service, page: Page) -> None:
    """Each with the subjects of its point."""
    look(service, page)
    offered = page.locator("#fault option").evaluate_all("all => all.map(one => one.value)")
    assert set(offered) == {f"{point}:{kind}" for point, kinds in KINDS.items() for kind in kinds}
    page.select_option("#fault", "list:lying_count")
    assert page.locator("#fault-subject option").all_inner_texts() == ["all of them", "transactions"]


@pytest.mark.browser
def test_a_refused_fault_is_still_typed(service: Service, page: Page) -> None:
    """So that the one wrong setting can be mended."""
    look(service, page)
    page.select_option("#fault", "api:redirect")
    page.fill("#fault-status", "503")
    page.get_by_role("button", name="Switch on").click()
    expect(problem(page)).to_contain_text("Not possible: not a fault: redirect answers one of 301, 302")
    assert (page.input_value("#fault"), page.input_value("#fault-status")) == ("api:redirect", "503")


@pytest.mark.browser
def test_the_settings_of_a_fault_are_shown(service: Service, page: Page) -> None:
    """Those that its kind makes use of, and the others where they are not as usual."""
    look(service, page)
    page.select_option("#fault", "list:lying_count")
    page.fill("#fault-number", "-5")
    page.fill("#fault-times", "")
    press(page, "Switch on")
    service.sandbox.faults.add(
        Fault(point="notification", kind="delay", seconds=0.5, skip=1, probability=0.25)  # type: ignore[arg-type]
    )
    press(page, "Advance")
    assert [row[3:5] for row in rows(page, "rules")] == [
        ["number -5", "0 of any number"],
        ["seconds 0.5, skip 1, probability 0.25", "0 of any number"],
    ]
