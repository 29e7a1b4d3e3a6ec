"""An order that is not here yet: staff ask the service for it from the list in which it was not found."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration import flows
from checkout_integration.flows.sync import list_rows
from checkout_integration.models import Checkout, Order
from checkout_integration.sandbox import Sandbox
from tests.support.admin import rows
from tests.support.admin.desk import enter
from tests.support.browser import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_pauses")]
LIST = "/admin/checkout_integration/order/"


@pytest.fixture
def unheard(checkout_sandbox: Sandbox) -> Checkout:
    """A paid checkout of which no notification has come."""
    player = User.objects.create_user("player")
    checkout = flows.create_checkout(user=player, amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.payments.pay(checkout.order_id)
    Order.objects.all().delete()
    return checkout


def ask(client: Client, text: str) -> tuple[str, str]:
    """Where the button leads, and what it says there."""
    response = client.post(f"{LIST}ask/", {"q": text}, follow=True)
    address, _code = response.redirect_chain[-1]
    return address, " ".join(str(each) for each in response.context["messages"])


@pytest.mark.parametrize("by", ["order_id", "reference", "customer"])
def test_the_order_is_fetched_and_opened(client: Client, unheard: Checkout, by: str) -> None:
    """By the service's id, the checkout's reference, and the customer's id here."""
    client.force_login(rows.make_staff("view_order", "check_order"))
    assert unheard.user is not None
    customer = str(unheard.user.pk)
    text = {"order_id": unheard.order_id, "reference": unheard.reference, "customer": customer}[by]
    page = client.get(LIST, {"q": text}).content.decode()
    assert f'formaction="{LIST}ask/" name="q" value="{text}"' in page
    address, said = ask(client, f" {text} ")
    order = Order.objects.get()
    assert (order.status, order.checkout) == ("processed", unheard)
    assert address == f"{LIST}{order.pk}/change/"
    assert said == "The service has it. What it has sent is here now."


@pytest.mark.parametrize("text", ["robin@example.com", "4242 9.99", "9.99 USD"])
@pytest.mark.parametrize("others", [0, 3])
def test_what_the_service_cannot_look_for_is_found_among_its_newest_orders(
    client: Client,
    unheard: Checkout,
    checkout_sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    others: int,
) -> None:
    """By e-mail or card, which are all that a customer knows; "the service has no such order" would be false."""
    monkeypatch.setattr(list_rows, "MOST_NEWEST", 2)
    for number in range(others):
        other = flows.create_checkout(user=unheard.user, amount=Decimal(5 + number), currency="EUR")
        checkout_sandbox.payments.pay(other.order_id)
    client.force_login(rows.make_staff("view_order", "check_order", "view_personal_data"))
    _address, said = ask(client, text)
    assert "it knows ids only" in said and "no order" not in said
    found = Order.objects.filter(status="processed")
    assert (found.count(), unheard.order_id in found.values_list("order_id", flat=True)) == (
        min(1 + others, 2),
        not others,
    )


def test_what_the_service_does_not_have_is_said(client: Client, unheard: Checkout) -> None:
    """And nothing else; a text that no database knows is none."""
    client.force_login(rows.make_staff("view_order", "check_order"))
    for text in ("nobody", "", "\0", "x" * 5000):
        assert ask(client, text)[1] == "The service has no order with this id, reference or customer."
    assert not Order.objects.exists()


def test_a_service_that_is_away_is_said(client: Client, settings: Any) -> None:
    """With the reason; the list stays."""
    away = {"BASE_URL": "http://127.0.0.1:9", "LIST_URL": "http://127.0.0.1:9"}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **away}
    client.force_login(rows.make_staff("view_order", "check_order"))
    address, said = ask(client, "order-1")
    assert address == f"{LIST}?q=order-1"
    assert said == "The service did not answer. There was no connection to the service."


def test_it_needs_the_permission_and_a_post(client: Client) -> None:
    """As the button of an order's page does."""
    assert client.post(f"{LIST}ask/", {"q": "order-1"})["Location"].startswith("/admin/login/")
    client.force_login(rows.make_staff("view_order"))
    assert "ask/" not in client.get(LIST, {"q": "order-1"}).content.decode()
    assert client.post(f"{LIST}ask/", {"q": "order-1"}).status_code == 403


@pytest.mark.browser
def test_the_button_asks_in_a_browser(page: Page, live_server: Any, unheard: Checkout) -> None:
    """A click leads to the order that the service has."""
    enter(page.context, live_server.url, rows.make_staff("view_order", "check_order"))
    page.goto(f"{live_server.url}{LIST}?q={unheard.order_id}")
    page.get_by_role("button", name="Ask the service now").click()
    expect(page.get_by_text("The service has it.")).to_be_visible()
    assert page.url.endswith(f"{LIST}{Order.objects.get().pk}/change/")
