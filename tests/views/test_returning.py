"""Where the customer comes back to: the page says what the ledger knows, and drives nothing."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.display import form_link
from checkout_integration.flows.checkout.return_page import signed_reference
from checkout_integration.models import Checkout, Notification
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for

pytestmark = pytest.mark.django_db


def page_of(checkout: Checkout) -> str:
    """The address of the checkout's return page."""
    return reverse("checkout_integration:return", args=[signed_reference(checkout.reference)])


def status_of(checkout: Checkout) -> str:
    """The address of the checkout's status for the page."""
    return reverse("checkout_integration:status", args=[signed_reference(checkout.reference)])


def test_a_paid_checkout_is_called_paid(client: Client) -> None:
    """The ledger knows the payment, so the page says so."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    assert "<h1>Paid</h1>" in client.get(page_of(checkout)).content.decode()


def test_an_open_checkout_waits_and_marks_nothing_as_paid(client: Client) -> None:
    """Coming back proves nothing: anyone can open the address."""
    checkout = CheckoutFactory(refreshed_at=timezone.now())
    assert "Waiting for the payment" in client.get(page_of(checkout)).content.decode()
    checkout.refresh_from_db()
    assert checkout.status == Checkout.Status.OPEN


@pytest.mark.parametrize("ended", ["canceled", "rejected"])
def test_a_payment_that_ended_is_not_waited_for(client: Client, ended: str) -> None:
    """After a cancel or a decline the page says so and does not ask for ever."""
    checkout = CheckoutFactory(refreshed_at=timezone.now())
    OrderFactory(checkout=checkout, status=ended)
    page = client.get(page_of(checkout)).content.decode()
    assert "Not paid" in page
    assert "<script" not in page


def test_a_refunded_checkout_is_called_refunded(client: Client) -> None:
    """The page follows the ledger after the refund too."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout, status="refunded")
    assert "<h1>Refunded</h1>" in client.get(page_of(checkout)).content.decode()


def test_the_page_works_inside_the_form(client: Client) -> None:
    """The form redirects inside its own frame: no session, and no refusal to be framed."""
    assert "X-Frame-Options" not in client.get(page_of(CheckoutFactory())).headers


@pytest.mark.parametrize("name", ["return", "status"])
def test_a_reference_that_was_made_up_is_not_found(client: Client, name: str) -> None:
    """A reference without our signature opens nothing."""
    checkout = CheckoutFactory()
    forged = f"{checkout.reference}:1abcde:not-our-signature"
    assert client.get(reverse(f"checkout_integration:{name}", args=[forged])).status_code == 404


def test_an_address_expires(client: Client) -> None:
    """An address from an old browser history shows no purchase."""
    page = page_of(CheckoutFactory())
    with time_machine.travel(timezone.now() + timedelta(days=8), tick=False):
        assert client.get(page).status_code == 404


def test_the_status_tells_checkout_and_order(client: Client) -> None:
    """What the page's script compares."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    assert client.get(status_of(checkout)).json() == {"status": "paid", "order_status": "processed"}


@pytest.mark.django_db(transaction=True)
def test_the_service_is_called_once(client: Client, checkout_sandbox: Sandbox) -> None:
    """A customer who returns before the notification sees the payment; the service is called once."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.payments.pay(checkout.order_id)
    assert client.get(status_of(checkout)).json()["status"] == "paid"
    other = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    assert client.get(status_of(other)).json()["status"] == "open"
    checkout_sandbox.payments.pay(other.order_id)
    assert client.get(status_of(other)).json()["status"] == "open"


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("9.99", "USD", "9.99 USD"),
        ("5", "USD", "5.00 USD"),
        ("500", "JPY", "500 JPY"),
        ("1.5", "KWD", "1.500 KWD"),
    ],
)
def test_the_price_has_the_places_of_its_currency(
    client: Client, amount: str, currency: str, shown: str
) -> None:
    """Not those of the column."""
    checkout = CheckoutFactory(expected_amount=Decimal(amount), currency=currency)
    assert f"<p>{shown}</p>" in client.get(page_of(checkout)).content.decode()


@pytest.mark.parametrize("address", ["/", "/game/", "https://game.invalid/?from=shop"])
def test_continue_leads_where_the_shop_says(client: Client, settings: Any, address: str) -> None:
    """RETURN_CONTINUE_URL; the start page by default."""
    if address != "/":
        settings.CHECKOUT_INTEGRATION = {
            **settings.CHECKOUT_INTEGRATION,
            "RETURN_CONTINUE_URL": address,
        }
    page = client.get(page_of(CheckoutFactory())).content.decode()
    assert f'<a href="{address}" target="_top">Continue</a>' in page


@pytest.fixture
def stored(checkout_deliver: Deliver, settings: Any) -> Checkout:
    """A checkout with a payment that is stored but not applied, and names it by our reference alone."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout = CheckoutFactory(refreshed_at=timezone.now())
    checkout_deliver(order=order_document_for(checkout, id="tried-again"))
    return checkout


def test_what_is_stored_is_applied_first(client: Client, stored: Checkout) -> None:
    """The customer is back before a worker has come to the payment."""
    assert "<h1>Paid</h1>" in client.get(page_of(stored)).content.decode()


def test_the_status_applies_what_is_stored(client: Client, stored: Checkout) -> None:
    """A request for the status applies stored notifications, too."""
    assert client.get(status_of(stored)).json() == {"status": "paid", "order_status": "processed"}


def test_what_cannot_be_applied_now_is_processing(client: Client, stored: Checkout) -> None:
    """It failed, and is due again later: it may be a payment, so no form is offered."""
    Notification.objects.update(state="failed", due_at=timezone.now() + timedelta(minutes=5))
    assert client.get(status_of(stored)).json()["status"] == "processing"
    page = client.get(page_of(stored)).content.decode()
    assert "<h1>Processing</h1>" in page and 'data-status="processing"' in page
    stored.processing = True
    assert form_link(stored) == ""
