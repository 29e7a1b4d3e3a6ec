"""The app's own pages for customers in Chromium, in each state of a purchase: on a desk, in a hand, by day, by night."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.template.loader import render_to_string

from checkout_integration import flows
from checkout_integration.models import Checkout
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.views.returning import return_link
from tests.support.flows.shop import Failing, Listening
from tests.support.page_faults import faults_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def ordered(**order: Any) -> Callable[[], Checkout]:
    """Return a function that makes a checkout with such an order."""

    def make() -> Checkout:
        checkout: Checkout = CheckoutFactory(description="500 gems")
        OrderFactory(checkout=checkout, **order)
        return checkout

    return make


def waiting() -> Checkout:
    """A checkout that nobody has paid; the service was asked about it before."""
    checkout: Checkout = CheckoutFactory(description="500 gems")
    Checkout.objects.filter(pk=checkout.pk).update(refreshed_at=checkout.recorded_at)
    return checkout


def failed() -> Checkout:
    """A checkout that the service refused."""
    checkout = waiting()
    Checkout.objects.filter(pk=checkout.pk).update(status="failed")
    return checkout


STATES: dict[str, tuple[Callable[[], Checkout], str]] = {
    "waiting": (waiting, "Waiting for the payment"),
    "failed": (failed, "Not started"),
    "canceled": (ordered(status="canceled"), "Not paid"),
    "rejected": (ordered(status="rejected"), "Not paid"),
    "review": (ordered(amount="5.00"), "Received"),
    "paid": (ordered(), "Paid"),
    "refunded": (ordered(status="refunded"), "Refunded"),
    "chargeback": (ordered(status="chargeback"), "Charged back"),
}


@pytest.mark.parametrize("state", STATES)
def test_the_return_page(page: Page, live_server: Any, state: str) -> None:
    """It fits, axe finds nothing, and its heading says how the purchase stands."""
    make, heading = STATES[state]
    page.goto(f"{live_server.url}{return_link(make())}")
    assert page.locator("h1").inner_text() == heading
    assert faults_of(page, f"return-{state}") == []


def test_the_return_page_while_goods_are_delayed(page: Page, live_server: Any, listen: Listening) -> None:
    """It asks the customer not to pay again."""
    listen(checkout_paid, Failing(), name="shop.grant")
    checkout = ordered()()
    flows.run_due()
    page.goto(f"{live_server.url}{return_link(checkout)}")
    assert "Please do not pay again." in page.locator("main").inner_text()
    assert faults_of(page, "return-delayed") == []


def test_the_page_of_a_purchase_that_was_not_started(page: Page) -> None:
    """It looks like the return page."""
    page.set_content(render_to_string("checkout_integration/not_created.html"))
    assert page.locator("h1").inner_text() == "Not started"
    assert faults_of(page, "not-created") == []
