"""Errors of the shop's calls, and the row afterwards: public errors only, and never a checkout without a way back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection, transaction
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.flows.checkout import creating as selling
from checkout_integration.models import Checkout, Order
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db

PRICE: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD"}
BOTH = pytest.mark.parametrize("sell", [flows.create_checkout, flows.create_token])


@pytest.fixture
def answer_not_recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Let the database refuse to record the service's response until the returned function is called."""
    refusals: list[Exception] = [OperationalError("the server closed the connection")]

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if refusals and sql.startswith("UPDATE") and "payment_form_url" in sql:
            raise refusals[0]
        return execute(sql, params, many, context)

    monkeypatch.setattr("checkout_integration.flows.database.transactions.LONGEST_PAUSE", 0)
    with connection.execute_wrapper(refuse):
        yield refusals.clear


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("heard_by", ["notification", "sync"])
def test_an_order_that_was_not_recorded_is_unknown_and_heals(
    checkout_sandbox: Sandbox,
    live_server: LiveServer,
    listen: Listening,
    answer_not_recorded: Callable[[], None],
    heard_by: str,
) -> None:
    """The error is a public one, says not to repeat, and has the form; the payment finds its checkout all the same."""
    heard = listen(checkout_paid)
    with pytest.raises(flows.NotRecorded) as caught:
        flows.create_checkout(**PRICE)
    assert isinstance(caught.value, flows.CheckoutError)
    assert (caught.value.outcome_unknown, caught.value.retry_is_safe) == (True, False)
    checkout = Checkout.objects.get()
    assert (checkout.status, checkout.failure) == ("unknown", "Unavailable")
    form = caught.value.checkout.payment_form_url
    assert form.startswith("http")
    answer_not_recorded()
    if heard_by == "sync":
        checkout_sandbox.projects.update("test-project", webhook_url="")
    checkout_sandbox.payments.pay(caught.value.checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.sync.sync_transactions()
    flows.run_due()
    checkout.refresh_from_db()
    assert (checkout.status, len(heard)) == ("paid", 1)


@pytest.mark.django_db(transaction=True)
def test_a_token_that_was_not_recorded_may_be_requested_again(
    checkout_sandbox: Sandbox, answer_not_recorded: Callable[[], None]
) -> None:
    """The token is lost, so no order can be made with it."""
    with pytest.raises(flows.NotRecorded) as caught:
        flows.create_token(**PRICE)
    assert (caught.value.outcome_unknown, caught.value.retry_is_safe) == (False, True)
    assert Checkout.objects.get().status == "unknown"


def test_a_fault_of_our_own_leaves_no_new_checkout(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug is not hidden; the order exists, so the row is unknown."""
    monkeypatch.setattr(selling, "parse_order", lambda document: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        flows.create_checkout(**PRICE)
    assert (Checkout.objects.get().status, Checkout.objects.get().failure) == ("unknown", "ZeroDivisionError")


def test_a_secret_that_cannot_be_had_leaves_no_new_checkout(checkout_sandbox: Sandbox, settings: Any) -> None:
    """The shop's own function fails at the moment of the call."""
    projects = settings.CHECKOUT_INTEGRATION["PROJECTS"]
    own = {**projects["default"], "SECRET_KEY": lambda: os.environ["NO_SUCH_VAULT"]}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": own}}
    with pytest.raises(KeyError):
        flows.create_checkout(**PRICE)
    assert Checkout.objects.get().status == "unknown"


@BOTH
def test_a_secret_that_no_header_can_carry_is_a_wrong_setting(
    checkout_sandbox: Sandbox, settings: Any, sell: Any
) -> None:
    """Said as one, without the value; a line end alone, as a mounted file has it, does no harm."""
    projects = settings.CHECKOUT_INTEGRATION["PROJECTS"]
    for ending, fails in (("\n", False), (" \n", True)):
        key = projects["default"]["SECRET_KEY"] + ending
        own = {**projects["default"], "SECRET_KEY": lambda key=key: key}
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": own}}
        if fails:
            with pytest.raises(ImproperlyConfigured, match="SECRET_KEY of") as caught:
                sell(**PRICE, description=ending)
            assert projects["default"]["SECRET_KEY"] not in str(caught.value)
        else:
            assert sell(**PRICE, description=ending)


@BOTH
@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"customer": flows.Customer(external_id="7", name="Ada \ud800")}, "name"),
        ({"customer": flows.Customer(external_id="7\udfff")}, "id"),
        ({"description": "half \ud800"}, "description"),
        ({"metadata": {"note": "half \ud800"}}, "metadata"),
        ({"metadata": {"half \ud800": "note"}}, "metadata"),
        ({"metadata": {"note": None}}, "metadata"),
        ({"metadata": [("a", "b")]}, "metadata"),
        ({"description": "nul \0"}, "description"),
        ({"metadata": {"note": "nul \0"}}, "metadata"),
        ({"products": "sword"}, "products"),
        ({"virtual_currency_amount": 5}, "virtual_currency_amount"),
        ({"url_success": "https://shop.example/"}, "url_success"),
        ({"platform_id": "gog"}, "platform_id"),
        ({"currency": "ZZZ"}, "currency"),
        ({"customer": flows.Customer(external_id="7", locale="a language")}, "locale"),
        ({"metadata": {"checkout_reference": "basket-7"}}, "metadata.checkout_reference"),
        (
            {
                "type": "virtual_currency",
                "virtual_currency_amount": 5,
                "metadata": {"virtual_currency_amount": "9"},
            },
            "metadata.virtual_currency_amount",
        ),
        ({"user": User(username="new")}, "user"),
        ({"user": User(pk=7, username="has a key, as one with a UUID has")}, "user"),
        ({"subject": User(username="new")}, "subject"),
        ({"subject": User(pk=7)}, "subject"),
    ],
)
def test_what_cannot_be_sent_or_stored_is_refused_by_its_name(
    checkout_sandbox: Sandbox, sell: Any, terms: dict[str, Any], field: str
) -> None:
    """Before the commit, with the field, and without its value."""
    with pytest.raises(flows.CreationError) as caught:
        sell(**{**PRICE, **terms})
    assert any(field in name for name, _ in caught.value.problems)
    assert not Checkout.objects.exists()


@pytest.mark.spec("EP2-04")
@BOTH
@pytest.mark.parametrize("amount", [Decimal(0), Decimal("0.00"), Decimal("-0")])
def test_a_total_of_zero_says_what_to_do_instead(
    checkout_sandbox: Sandbox, sell: Any, amount: Decimal
) -> None:
    """As after a coupon of the whole price: it is no mistake of the developer's."""
    with pytest.raises(flows.CreationError, match="nothing to pay; grant the goods without a checkout"):
        sell(amount=amount, currency="USD")
    assert not Checkout.objects.exists()


@pytest.mark.spec("EP2-08")
@BOTH
def test_the_key_of_the_reference_is_the_settings(
    checkout_sandbox: Sandbox, settings: Any, sell: Any
) -> None:
    """With another REFERENCE_KEY, that one is refused, and the default's is the shop's own."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "REFERENCE_KEY": "ours"}
    with pytest.raises(flows.CreationError, match=r"metadata\.ours: is a key of the app"):
        sell(**PRICE, metadata={"ours": "basket-7"})
    sell(**PRICE, metadata={"checkout_reference": "basket-7"})
    assert Checkout.objects.get().metadata == {"checkout_reference": "basket-7"}


@BOTH
def test_a_deleted_account_is_refused(checkout_sandbox: Sandbox, sell: Any) -> None:
    """Its sale would be a guest's."""
    account = User.objects.create_user("ada")
    account.delete()
    with pytest.raises(flows.CreationError, match="user: is not in the database"):
        sell(**PRICE, user=account)


@pytest.mark.spec("EP1-09", "EP2-13")
@pytest.mark.parametrize(("name", "sent"), [("zh-hans", "zh-Hans-CN"), ("fr", "fr"), ("hsb", None)])
def test_a_locale_of_django_is_translated_or_left_out(
    checkout_sandbox: Sandbox, name: str, sent: str | None
) -> None:
    """No customer is turned away for a language; the rest of what the shop says of them stays."""
    ada = flows.Customer(external_id="7", name="Ada", locale=name)
    checkout = flows.create_checkout(**PRICE, customer=ada)
    order = checkout_sandbox.ledger.find(checkout.order_id)
    assert order is not None
    assert (order.user.get("locale") or None, order.user["name"]) == (sent, "Ada")
    assert flows.create_token(**{**PRICE, "amount": Decimal(1)}, customer=ada).token


@pytest.mark.spec("ORD-37")
@BOTH
@pytest.mark.parametrize("units", [0, -5, True, 2.5, "500", Decimal("NaN"), Decimal("0.00001"), 10**15])
def test_units_that_cannot_be_compared_are_refused(checkout_sandbox: Sandbox, sell: Any, units: Any) -> None:
    """A number of units is positive, exact, and fits its column."""
    with pytest.raises(flows.CreationError, match="virtual_currency_amount"):
        sell(type="virtual_currency", virtual_currency_amount=units)
    assert not Checkout.objects.exists()


@BOTH
def test_virtual_currency_without_any_measure_is_refused(checkout_sandbox: Sandbox, sell: Any) -> None:
    """The service would take it; no payment of it could ever be verified."""
    with pytest.raises(flows.CreationError, match="say what is sold"):
        sell(type="virtual_currency")
    assert not Checkout.objects.exists()


@pytest.mark.django_db(transaction=True)
@BOTH
def test_a_connection_without_autocommit_is_a_transaction(checkout_sandbox: Sandbox, sell: Any) -> None:
    """Without autocommit a later rollback could remove the checkout."""
    transaction.set_autocommit(False)
    try:
        with pytest.raises(flows.TransactionOpen):
            sell(**PRICE)
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)
    assert not Checkout.objects.exists()


def test_another_runtime_error_is_no_open_transaction(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is inspected, so errors of the shop's own code are raised unchanged."""

    def raised(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("of the shop's own handler")

    monkeypatch.setattr(Checkout, "save", raised)
    with pytest.raises(RuntimeError, match="own handler"):
        flows.create_checkout(**PRICE)


@BOTH
def test_an_unknown_project_is_named_with_the_known_ones(checkout_sandbox: Sandbox, sell: Any) -> None:
    """A typing error costs no search."""
    with pytest.raises(flows.UnknownAlias, match="no project 'defualt'; it has: default"):
        sell(**PRICE, project="defualt")


def test_an_unknown_lane_is_named_with_the_known_ones(checkout_sandbox: Sandbox) -> None:
    """The same for the ways of reading the list."""
    with pytest.raises(flows.sync.UnknownLane, match="no lane 'weekly'; the lanes are: recent, "):
        flows.sync.sync_transactions(lane="weekly")


def test_a_visitor_who_has_not_signed_in_is_a_guest(checkout_sandbox: Sandbox) -> None:
    """``user=request.user`` is right on every page."""
    checkout = flows.create_checkout(user=AnonymousUser(), **PRICE)
    assert (checkout.user, checkout.identity) == (None, "")
    assert checkout_sandbox.ledger.newest(1)[1][0].account == ""


@pytest.mark.spec("EP2-06")
def test_the_account_travels_as_account_and_as_customer(checkout_sandbox: Sandbox) -> None:
    """Both parameters name the shop's own customer."""
    flows.create_checkout(customer=flows.Customer(external_id="player-7"), **PRICE)
    (exchange,) = [exchange for exchange in checkout_sandbox.log.entries() if exchange.url.endswith("/order")]
    request = json.loads(exchange.request)
    assert (request["account"], request["user"]) == ("player-7", {"external_id": "player-7"})


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("EP2-06")
def test_a_customer_without_an_identifier_is_the_account(checkout_sandbox: Sandbox) -> None:
    """A shop that adds a name only need not repeat who the customer is."""
    ada = User.objects.create_user("ada")
    checkout = flows.create_checkout(user=ada, customer=flows.Customer(name="Ada"), **PRICE)
    (order,) = checkout_sandbox.ledger.newest(1)[1]
    assert (order.account, order.user["name"], checkout.user) == (str(ada.pk), "Ada", ada)


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("EP1-03", "EP1-04", "EP1-07", "USR-03")
def test_the_account_is_the_customer_of_a_token(checkout_sandbox: Sandbox) -> None:
    """Alone, beside what the shop adds, and not where the shop gives another id; a guest's token has no customer."""
    ada = User.objects.create_user("ada")
    for customer in (None, flows.Customer(name="Ada"), flows.Customer(external_id="player-7")):
        flows.create_token(user=ada, customer=customer, **PRICE)
    flows.create_token(**PRICE)
    exchanges = [each for each in checkout_sandbox.log.entries() if each.url.endswith("/tokens")]
    sent_users = [json.loads(each.request).get("user") for each in exchanges]
    own = {"id": str(ada.pk)}
    assert sent_users == [own, {**own, "name": {"value": "Ada"}}, {"id": "player-7"}, None]


ADA = flows.Customer(
    external_id="player-7",
    name="Ada Lovelace",
    email="ada@example.com",
    email_verified=True,
    phone="+441234567",
    phone_verified=False,
    ip="192.0.2.7",
    locale="en-GB",
    address=flows.CustomerAddress(country="GB", city="London", postal_code="N1 9GU", state="GB-LND"),
)
ADDRESS = {"country": "GB", "city": "London", "postal_code": "N1 9GU", "state": "GB-LND"}


@pytest.mark.spec("EP2-03", "EP2-06", "EP2-08", "EP2-11", "EP2-13", "EP2-15", "EP2-16")
def test_everything_about_a_sale_is_in_its_order(checkout_sandbox: Sandbox) -> None:
    """Each argument of the shop is a parameter, in the shape of order creation; the app adds its reference only."""
    terms: Any = {"type": "key", "products": ["quest"], "platform_id": "gog", "metadata": {"gift": "yes"}}
    checkout = flows.create_checkout(customer=ADA, description="A quest", **terms)
    assert sent(checkout_sandbox, "/order") == {
        "project": "test-project",
        "type": "key",
        "products": ["quest"],
        "platform_id": "gog",
        "description": "A quest",
        "account": "player-7",
        "metadata": {"gift": "yes", "checkout_reference": checkout.reference},
        "user": {
            "external_id": "player-7",
            "name": "Ada Lovelace",
            "email": "ada@example.com",
            "email_verified": True,
            "phone": "+441234567",
            "phone_verified": False,
            "ip": "192.0.2.7",
            "locale": "en-GB",
            "address": ADDRESS,
        },
    }


@pytest.mark.spec("EP1-03", "EP1-04", "EP1-05", "EP1-06", "EP1-07", "EP1-08", "EP1-09", "EP1-10", "EP1-11")
@pytest.mark.spec("EP1-12", "EP1-14", "EP1-15", "EP1-19", "EP1-21", "EP1-22")
def test_everything_about_a_sale_is_in_its_token(checkout_sandbox: Sandbox) -> None:
    """In the shape of token creation, with the caption of its button."""
    issued = flows.create_token(
        customer=ADA, description="A hat", metadata={"gift": "yes"}, button_caption="Back", **PRICE
    )
    assert sent(checkout_sandbox, "/tokens") == {
        "settings": {
            "project_id": "test-project",
            "type": "simple",
            "amount": Decimal("9.99"),
            "currency": "USD",
            "description": "A hat",
            "button_caption": "Back",
            "metadata": {"gift": "yes", "checkout_reference": issued.checkout.reference},
        },
        "user": {
            "id": "player-7",
            "name": {"value": "Ada Lovelace"},
            "email": {"value": "ada@example.com", "verified": True},
            "phone": {"value": "+441234567", "verified": False},
            "ip": {"value": "192.0.2.7"},
            "locale": {"value": "en-GB"},
            "address": ADDRESS,
        },
    }


@pytest.mark.spec("EP2-03", "EP2-06", "EP2-07", "EP2-08", "EP2-09", "EP2-10", "EP2-13", "EP2-14", "EP2-16")
def test_what_the_shop_leaves_out_of_an_order_is_not_sent(checkout_sandbox: Sandbox) -> None:
    """Nothing is made up but the reference, and nothing is sent empty."""
    checkout = flows.create_checkout(**PRICE)
    assert sent(checkout_sandbox, "/order") == {
        "project": "test-project",
        "type": "simple",
        "amount": Decimal("9.99"),
        "currency": "USD",
        "metadata": {"checkout_reference": checkout.reference},
    }


@pytest.mark.spec("EP1-03", "EP1-12", "EP1-13", "EP1-16", "EP1-18", "EP1-20", "EP1-21", "EP1-22")
@pytest.mark.parametrize("given", [{}, {"is_buy_for_virtual_currency": False, "button_caption": "Back"}])
def test_what_the_shop_leaves_out_of_a_token_is_not_sent(
    checkout_sandbox: Sandbox, given: dict[str, Any]
) -> None:
    """Of a caption and a no that are given, nothing is lost."""
    issued = flows.create_token(**PRICE, **given)
    assert sent(checkout_sandbox, "/tokens") == {
        "settings": {
            "project_id": "test-project",
            "type": "simple",
            "amount": Decimal("9.99"),
            "currency": "USD",
            "metadata": {"checkout_reference": issued.checkout.reference},
            **given,
        }
    }


def sent(sandbox: Sandbox, end: str) -> Any:
    """Return the body of the one request to this path."""
    (exchange,) = [exchange for exchange in sandbox.log.entries() if exchange.url.endswith(end)]
    return json.loads(exchange.request, parse_float=Decimal)


@pytest.mark.spec("EP1-16", "EP2-07")
@BOTH
@pytest.mark.parametrize("description", ["A hat", " Größe\n„XL“ ✓ ", "x" * 255])
def test_the_description_travels_to_the_letter(
    checkout_sandbox: Sandbox, sell: Any, description: str
) -> None:
    """Of the longest one no character is lost, and no space of any."""
    sold = sell(**PRICE, description=description)
    if sell is flows.create_token:
        flows.create_order_from_token(sold)
    assert checkout_sandbox.ledger.newest(1)[1][0].description == description


@pytest.mark.spec("EP1-18")
def test_a_tokens_platform_is_that_of_its_key(checkout_sandbox: Sandbox) -> None:
    """The platform travels in the token."""
    flows.create_order_from_token(flows.create_token(type="key", products=["quest"], platform_id="gog"))
    assert checkout_sandbox.ledger.newest(1)[1][0].platform_id == "gog"


@pytest.mark.spec("EP1-13", "EP2-09", "EP2-10")
@BOTH
def test_success_and_failure_may_lead_to_different_places(
    checkout_sandbox: Sandbox, settings: Any, sell: Any
) -> None:
    """Each address is the shop's own for this checkout; the one that is not given is the usual one."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "DYNAMIC_URLS": True,
        "RETURN_URL": "https://shop.example/back/{reference}",
    }
    sold = [
        sell(
            **PRICE, url_success="https://shop.example/paid", url_fail="https://shop.example/no?r={reference}"
        ),
        sell(**PRICE, url_fail="https://shop.example/no"),
    ]
    if sell is flows.create_token:
        for issued in sold:
            flows.create_order_from_token(issued)
    second, first = checkout_sandbox.ledger.newest(2)[1]
    assert first.url_success == "https://shop.example/paid"
    assert first.url_fail.startswith("https://shop.example/no?r=")
    assert "{" not in first.url_fail
    assert second.url_success.startswith("https://shop.example/back/")
    assert second.url_fail == "https://shop.example/no"


@pytest.mark.spec("EP1-13", "EP2-09", "EP2-10")
@pytest.mark.parametrize("address", ["https://shop.example/paid", "https://shop.example/back?r={reference}"])
def test_a_service_may_take_addresses_in_tokens_only(
    checkout_sandbox: Sandbox, settings: Any, address: str
) -> None:
    """Orders have a condition of the project's settings, tokens have none."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "DYNAMIC_URLS": "tokens"}
    flows.create_order_from_token(flows.create_token(**PRICE, url_success=address))
    (order,) = checkout_sandbox.ledger.newest(1)[1]
    assert order.url_success.startswith(address.partition("{")[0])
    assert order.url_fail == ""
    with pytest.raises(flows.CreationError, match="DYNAMIC_URLS"):
        flows.create_checkout(**PRICE, url_success=address)
    flows.create_checkout(**PRICE)
    assert checkout_sandbox.ledger.newest(1)[1][0].url_success == ""


@pytest.mark.spec("EP2-09", "EP2-10")
@pytest.mark.parametrize("name", ["url_success", "url_fail"])
@pytest.mark.parametrize("address", ["https://shop.example/a", "https://shop.example/b?r={reference}"])
def test_either_address_of_an_order_needs_the_projects_option(
    checkout_sandbox: Sandbox, settings: Any, name: str, address: str
) -> None:
    """The app says so by its name, and sends it where the option is on."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "DYNAMIC_URLS": False}
    sold: dict[str, Any] = {**PRICE, name: address}
    with pytest.raises(flows.CreationError) as caught:
        flows.create_checkout(**sold)
    assert [field for field, _ in caught.value.problems] == [name]
    assert checkout_sandbox.ledger.newest(1)[1] == []
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "DYNAMIC_URLS": True}
    flows.create_checkout(**sold)
    (order,) = checkout_sandbox.ledger.newest(1)[1]
    assert getattr(order, name).startswith(address.partition("{")[0])


@pytest.mark.spec("EP1-13")
def test_an_address_that_cannot_be_sent_says_what_to_set(checkout_sandbox: Sandbox) -> None:
    """In a token too."""
    with pytest.raises(flows.CreationError, match='"tokens"'):
        flows.create_token(**PRICE, url_fail="https://shop.example/no")


@pytest.mark.spec("EP2-14")
def test_a_prepared_order_is_sold(
    checkout_sandbox: Sandbox, live_server: LiveServer, listen: Listening
) -> None:
    """The service has made it; the checkout is bound to it by its identifier, and compared as any other."""
    heard = listen(checkout_paid)
    request = {"project": "test-project", "type": "simple", "amount": Decimal("9.99"), "currency": "USD"}
    prepared = checkout_sandbox.creation.create_order(request, None)
    checkout = flows.create_checkout(order=prepared.id, **PRICE)
    assert (checkout.order_id, Order.objects.get().checkout) == (prepared.id, checkout)
    checkout_sandbox.payments.pay(prepared.id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    checkout.refresh_from_db()
    assert (checkout.status, len(heard)) == ("paid", 1)


@pytest.mark.spec("USR-12")
def test_a_tokens_customer_takes_attributes_along(checkout_sandbox: Sandbox) -> None:
    """Tokens take them; an order has no place for them, and says so."""
    player = flows.Customer(external_id="7", metadata={"level": "7"})
    flows.create_order_from_token(flows.create_token(customer=player, **PRICE))
    assert checkout_sandbox.ledger.newest(1)[1][0].user["metadata"] == {"level": "7"}
    with pytest.raises(flows.CreationError, match=r"user\.metadata"):
        flows.create_checkout(customer=player, **PRICE)


@pytest.mark.spec("EP1-15", "EP2-04", "EP2-05", "EP2-11")
@BOTH
@pytest.mark.parametrize(
    ("terms", "sent"),
    [
        ({"type": "simple", **PRICE}, {"amount": Decimal("9.99"), "currency": "USD"}),
        ({"type": "virtual_currency", **PRICE}, {"amount": Decimal("9.99"), "currency": "USD"}),
        ({"type": "virtual_currency", "products": ["gems-500"], **PRICE}, {}),
        ({"type": "product", "products": ["sword"], "amount": Decimal(500), "currency": "JPY"}, {}),
        ({"type": "key", "products": ["quest"], **PRICE}, {}),
    ],
)
def test_a_price_is_sent_where_the_shop_sets_it(
    checkout_sandbox: Sandbox, sell: Any, terms: dict[str, Any], sent: dict[str, Any]
) -> None:
    """Products and packages have their prices at the service; the shop's is stored, and compared with the payment."""
    sell(**terms)
    (exchange,) = checkout_sandbox.log.entries()
    request = json.loads(exchange.request, parse_float=Decimal)
    values = request.get("settings", request)
    assert {name: values[name] for name in ("amount", "currency") if name in values} == sent
    assert Checkout.objects.get().expected_amount == terms["amount"]
