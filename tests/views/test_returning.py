"""Where the customer comes back to: the page says what the ledger knows, and drives nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.display import form_link
from checkout_integration.flows.checkout.return_page import signed_reference
from checkout_integration.models import Checkout, Notification, ReceiverRun
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for

pytestmark = pytest.mark.django_db


def page_of(checkout: Checkout) -> str:
    """The address of the checkout's return page."""
    return reverse("checkout_integration:return", args=[signed_reference(checkout.reference)])


def status_of(checkout: Checkout) -> str:
    """The address of the checkout's status for the page."""
    return reverse("checkout_integration:status", args=[signed_reference(checkout.reference)])


@pytest.mark.spec("STA-03", "EVT-03")
def test_a_paid_checkout_is_called_paid(client: Client) -> None:
    """The ledger knows the payment, so the page says so."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    assert "<h1>Paid</h1>" in client.get(page_of(checkout)).content.decode()


@pytest.mark.spec("STA-02")
def test_an_open_checkout_waits_and_marks_nothing_as_paid(client: Client) -> None:
    """Coming back proves nothing: anyone can open the address."""
    checkout = CheckoutFactory(refreshed_at=timezone.now())
    assert "Waiting for the payment" in client.get(page_of(checkout)).content.decode()
    checkout.refresh_from_db()
    assert checkout.status == Checkout.Status.OPEN


@pytest.mark.parametrize(
    "ended",
    [
        pytest.param("canceled", marks=pytest.mark.spec("STA-04")),
        pytest.param("rejected", marks=pytest.mark.spec("STA-05")),
    ],
)
def test_a_payment_that_ended_is_not_waited_for(client: Client, ended: str) -> None:
    """After a cancel or a decline the page says so and does not ask for ever."""
    checkout = CheckoutFactory(refreshed_at=timezone.now())
    OrderFactory(checkout=checkout, status=ended)
    page = client.get(page_of(checkout)).content.decode()
    assert "Not paid" in page
    assert "<script" not in page


@pytest.mark.spec("STA-06", "EVT-05")
def test_a_refunded_checkout_is_called_refunded(client: Client) -> None:
    """The page follows the ledger after the refund too."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout, status="refunded")
    assert "<h1>Refunded</h1>" in client.get(page_of(checkout)).content.decode()


def test_the_page_works_inside_the_form(client: Client) -> None:
    """The form redirects inside its own frame: no session, and no refusal to be framed."""
    assert "X-Frame-Options" not in client.get(page_of(CheckoutFactory())).headers


@pytest.mark.parametrize("address", [page_of, status_of])
def test_address_is_not_sent_to_other_sites(address: Any, client: Client, settings: Any) -> None:
    """The signed reference is in it; a shop may be without Django's SecurityMiddleware."""
    settings.MIDDLEWARE = [each for each in settings.MIDDLEWARE if "SecurityMiddleware" not in each]
    assert client.get(address(CheckoutFactory())).headers["Referrer-Policy"] == "same-origin"


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


@pytest.mark.spec("ORD-04", "STA-03")
def test_the_status_tells_checkout_and_order(client: Client) -> None:
    """What the page's script compares."""
    expected = {"status": "paid", "order_status": "processed", "goods": "granting"}
    with receiving(grant):
        assert client.get(status_of(paid())).json() == expected


@pytest.mark.spec("SVC-04", "EP3-09")
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


@pytest.mark.spec("EP2-04", "EP2-05")
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
    state = client.get(status_of(stored)).json()
    assert (state["status"], state["order_status"]) == ("paid", "processed")


def test_what_cannot_be_applied_now_is_processing(client: Client, stored: Checkout) -> None:
    """It failed, and is due again later: it may be a payment, so no form is offered."""
    Notification.objects.update(state="failed", tries=1, due_at=timezone.now() + timedelta(minutes=5))
    assert client.get(status_of(stored)).json()["status"] == "processing"
    page = client.get(page_of(stored)).content.decode()
    assert "<h1>Processing</h1>" in page and 'data-status="processing"' in page
    stored.processing = True
    assert form_link(stored) == ""


def grant(**kwargs: Any) -> None:
    """Is a receiver that grants the goods."""


def grant_in_vain(**kwargs: Any) -> None:
    """Is a receiver that fails."""
    raise OSError


@contextmanager
def receiving(*receivers: Callable[..., None]) -> Iterator[None]:
    """Connect receivers of `checkout_paid` for a time."""
    for receiver in receivers:
        checkout_paid.connect(receiver)
    try:
        yield
    finally:
        for receiver in receivers:
            checkout_paid.disconnect(receiver)


def paid() -> Checkout:
    """Make a customer's paid checkout, whose receivers have not run."""
    checkout = CheckoutFactory(user=User.objects.create_user("ada"))
    OrderFactory(checkout=checkout)
    checkout.refresh_from_db()
    return checkout


@pytest.mark.parametrize(
    ("receivers", "goods", "said"),
    [
        ([grant], "granted", "Thank you. Your payment has arrived.</p>"),
        ([grant_in_vain], "delayed", "Somebody is looking into it."),
        ([grant, grant_in_vain], "delayed", "Somebody is looking into it."),
    ],
    ids=["granted", "failed", "one of two failed"],
)
def test_the_page_says_how_far_the_goods_are(
    client: Client, receivers: list[Any], goods: str, said: str
) -> None:
    """First on their way; then granted, or late, with a word that somebody knows."""
    with receiving(*receivers):
        checkout = paid()
        assert client.get(status_of(checkout)).json()["goods"] == "granting"
        assert "your goods are on their way" in client.get(page_of(checkout)).content.decode()
        flows.run_due()
        assert client.get(status_of(checkout)).json()["goods"] == goods
        page = client.get(page_of(checkout)).content.decode()
        assert said in page and f'data-goods="{goods}"' in page
        assert ("<script" in page) == (goods == "delayed")


def test_a_guest_learns_that_goods_may_wait_for_the_account(client: Client) -> None:
    """The shop may deliver to accounts alone: then nothing comes until the purchase is added to one."""
    with receiving(grant):
        checkout = paid()
        Checkout.objects.update(user=None)
        assert "or wait until you add the purchase to your account" in client.get(page_of(checkout)).text


def test_without_receivers_no_goods_are_on_their_way(client: Client) -> None:
    """The payment has arrived, and the page asks no more."""
    checkout = paid()
    assert client.get(status_of(checkout)).json()["goods"] == ""
    page = client.get(page_of(checkout)).content.decode()
    assert "Thank you. Your payment has arrived.</p>" in page and "<script" not in page


def test_goods_that_were_given_up_are_late(client: Client) -> None:
    """Until staff run the receiver again, or grant the goods by hand."""
    with receiving(grant):
        checkout = paid()
        flows.run_due()
        ReceiverRun.objects.update(state="failed", attempts=0)
        assert client.get(status_of(checkout)).json()["goods"] == "delayed"
        ReceiverRun.objects.update(state="running", attempts=1)
        assert client.get(status_of(checkout)).json()["goods"] == "granting"
        ReceiverRun.objects.update(state="running", attempts=2)
        assert client.get(status_of(checkout)).json()["goods"] == "delayed"


@pytest.mark.spec("STA-07", "EVT-04")
def test_a_chargeback_is_not_called_a_refund(client: Client) -> None:
    """The customer's bank did it, not the shop."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout, status="chargeback")
    page = client.get(page_of(checkout)).content.decode()
    assert "<h1>Charged back</h1>" in page and "Refunded" not in page


@pytest.mark.parametrize(("ended", "offered"), [("canceled", True), ("rejected", True), ("processed", False)])
def test_what_was_not_paid_can_be_tried_again(
    client: Client, ended: str, offered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of the shop's own object leads to another try, where it has one."""
    monkeypatch.setattr(User, "get_absolute_url", lambda user: f"/offers/{user}/", raising=False)
    shown = User.objects.create(username="Sword")
    for subject, has_page in ((shown, True), (Group.objects.create(name="Basket"), False)):
        checkout = CheckoutFactory(refreshed_at=timezone.now(), subject=subject)
        OrderFactory(checkout=checkout, status=ended)
        page = client.get(page_of(checkout)).content.decode()
        assert ('<a href="/offers/Sword/" target="_top">Try again</a>' in page) == (has_page and offered)


def test_a_payment_in_review_is_looked_at_again(client: Client) -> None:
    """The page says that somebody checks it, and that there is no need to pay again."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout, amount=Decimal("0.01"))
    page = client.get(page_of(checkout)).content.decode()
    assert "Please do not pay again." in page and "<script" in page
