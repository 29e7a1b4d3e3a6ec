"""A shop's view that sells: by POST, to who is logged in, once."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.urls import path

from checkout_integration.hooks import CheckoutTerms
from checkout_integration.models import Checkout, CheckoutUser
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.factories import OrderFactory
from checkout_integration.views.selling import SellMixin
from tests.support.flows.shop import fault
from tests.urls import urlpatterns as others

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class Buy(SellMixin):
    """Sells a hat."""

    def get_terms(self) -> CheckoutTerms:
        """Return what is sold."""
        return {"amount": Decimal("9.99"), "currency": "USD", "description": "A hat"}


class BuyForNothing(SellMixin):
    """Sells what a coupon has paid."""

    def get_terms(self) -> CheckoutTerms:
        """Return what is sold."""
        return {"amount": Decimal(0), "currency": "USD"}


class BuyAsGuest(Buy):
    """Sells to everybody."""

    guests = True


class BuyNothing(SellMixin):
    """Forgot to say what it sells."""


urlpatterns = [
    *others,
    path("buy/", Buy.as_view()),
    path("buy-for-nothing/", BuyForNothing.as_view()),
    path("buy-nothing/", BuyNothing.as_view()),
    path("buy-as-guest/", BuyAsGuest.as_view()),
]


@pytest.fixture
def buyer(client: Client) -> Client:
    """A client that is logged in."""
    client.force_login(User.objects.create_user("ada"))
    return client


def test_a_press_leads_to_the_form(buyer: Client, checkout_sandbox: Sandbox) -> None:
    """The checkout is that of the account."""
    response = buyer.post("/buy/")
    checkout = Checkout.objects.get()
    assert (response.status_code, response["Location"]) == (302, checkout.payment_form_url)
    assert checkout.user is not None and checkout.user.get_username() == "ada"
    assert "no-store" in response["Cache-Control"]


def test_two_presses_sell_once(buyer: Client, checkout_sandbox: Sandbox) -> None:
    """Both lead to the same form."""
    assert buyer.post("/buy/")["Location"] == buyer.post("/buy/")["Location"]
    assert Checkout.objects.count() == 1


def test_terms_that_cannot_be_sold_are_a_page_and_a_line_for_engineers(
    buyer: Client, checkout_sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """The customer reads that nothing was started; the log says which rule the terms break."""
    response = buyer.post("/buy-for-nothing/")
    assert response.status_code == 503
    assert b"could not be started" in response.content
    (line,) = [record for record in caplog.records if record.name == "checkout_integration.selling"]
    assert line.levelname == "ERROR"
    assert "amount: is zero" in line.getMessage() and "BuyForNothing" in line.getMessage()
    assert not Checkout.objects.exists()


def test_who_is_not_logged_in_buys_nothing(client: Client, checkout_sandbox: Sandbox) -> None:
    """Nothing is sold."""
    response = client.post("/buy/")
    assert response.status_code == 302 and response["Location"].startswith("/accounts/login/")
    assert not Checkout.objects.exists()


@pytest.mark.parametrize("guarded", [False, True])
def test_guests_buy_where_the_shop_says_so(
    client: Client, checkout_sandbox: Sandbox, settings: Any, guarded: bool
) -> None:
    """Also where Django's middleware asks everybody to log in; whoever is logged in buys with their account."""
    if guarded:
        settings.MIDDLEWARE = [
            *settings.MIDDLEWARE,
            "django.contrib.auth.middleware.LoginRequiredMiddleware",
        ]
    assert client.post("/buy-as-guest/")["Location"] == Checkout.objects.get().payment_form_url
    assert Checkout.objects.get().user is None
    assert client.post("/buy/")["Location"].startswith("/accounts/login/")
    ada = User.objects.create_user("ada")
    client.force_login(ada)
    client.post("/buy-as-guest/")
    assert Checkout.objects.get(user=ada).status == "open"


def test_looking_buys_nothing(buyer: Client, checkout_sandbox: Sandbox) -> None:
    """A link that somebody else sends must not buy."""
    assert buyer.get("/buy/").status_code == 405
    assert not Checkout.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_it_works_with_atomic_requests(
    buyer: Client, checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout is committed before the service is called."""
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    assert buyer.post("/buy/").status_code == 302
    assert Checkout.objects.get().status == "open"


def test_where_the_customer_came_from_is_stored(buyer: Client, checkout_sandbox: Sandbox) -> None:
    """By the address of the page with the button."""
    buyer.post("/buy/", headers={"referer": "https://shop.example/hats/?utm_source=letter&utm_campaign=May"})
    checkout = Checkout.objects.get()
    assert (checkout.utm_source, checkout.utm_campaign, checkout.referrer_host) == ("letter", "May", "")


def test_a_failure_is_said(
    buyer: Client, checkout_sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """The customer reads that nothing was started; the status says that the shop cannot sell now."""
    fault(checkout_sandbox, "api", "server_error", "order")
    response = buyer.post("/buy/")
    assert response.status_code == 503
    assert "could not be started" in response.content.decode()
    (line,) = [record for record in caplog.records if record.name == "checkout_integration.selling"]
    assert line.getMessage().startswith("Buy sells nothing: InternalError: ")


@pytest.mark.django_db(transaction=True)
def test_an_order_that_was_not_recorded_has_its_form(
    buyer: Client, checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service has made the order, so that the customer can pay it, although the database was away just then."""

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE") and "payment_form_url" in sql:
            raise OperationalError("the server closed the connection")
        return execute(sql, params, many, context)

    monkeypatch.setattr("checkout_integration.flows.database.transactions.LONGEST_PAUSE", 0)
    with connection.execute_wrapper(refuse):
        form = buyer.post("/buy/")["Location"]
    assert Checkout.objects.get().status == "unknown"
    assert "/form" in form


def test_a_purchase_that_is_paid_already_is_shown(
    buyer: Client, checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shop gives a key, and the customer comes back to the button later."""
    terms: CheckoutTerms = {"amount": Decimal("9.99"), "currency": "USD", "idempotency_key": "basket-7"}
    monkeypatch.setattr(Buy, "get_terms", lambda view: terms)
    buyer.post("/buy/")
    checkout = Checkout.objects.get()
    OrderFactory(checkout=checkout, id=checkout.order_id)
    page = buyer.post("/buy/", follow=True)
    assert "<h1>Paid</h1>" in page.content.decode()


def test_a_view_must_say_what_it_sells(buyer: Client) -> None:
    """The error names the method."""
    with pytest.raises(NotImplementedError, match="get_terms"):
        buyer.post("/buy-nothing/")


def test_a_customer_who_is_blocked_reads_so(
    client: Client, checkout_sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """The page does not invite to try again, and the log has the exception."""
    buyer = User.objects.create_user("thief")
    client.force_login(buyer)
    client.post("/buy/")
    OrderFactory(checkout=Checkout.objects.get())
    CheckoutUser.objects.update(blocked_at=datetime.now(UTC))
    answer = client.post("/buy/")
    assert (answer.status_code, "You cannot buy here." in answer.text) == (403, True)
    assert "try again" not in answer.text
    (line,) = [record for record in caplog.records if record.name == "checkout_integration.selling"]
    assert "CustomerBlocked" in line.getMessage()
