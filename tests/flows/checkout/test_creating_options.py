"""Each of the four types of checkout, as an order and as a token, in both profiles, paid on the hosted form."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.models import Checkout, Order
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.assertions import assert_granted
from checkout_integration.testing.service import running_sandbox
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db

VIRTUAL: dict[str, Any] = {"type": "virtual_currency"}
PRICE: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD"}
OPTIONS: dict[str, dict[str, Any]] = {
    "simple": PRICE,
    "product": {"type": "product", "products": ["sword", "shield"]},
    "key": {"type": "key", "products": ["quest"], "platform_id": "gog"},
    "virtual currency by price": {**VIRTUAL, **PRICE},
    "virtual currency by units": {**VIRTUAL, "virtual_currency_amount": Decimal(500)},
    "virtual currency by units and price": {**VIRTUAL, **PRICE, "virtual_currency_amount": 500},
    "virtual currency by product": {**VIRTUAL, "products": ["gems-500"]},
    "virtual currency by product and units": {
        **VIRTUAL,
        "products": ["gems-500"],
        "virtual_currency_amount": 500,
    },
}
CARD = {"number": "4242 4242 4242 4242", "expiry": "12/34", "cvc": "123", "email": "ada@example.com"}


@pytest.fixture(params=["field", pytest.param("spec", marks=pytest.mark.slow)])
def sandbox(request: pytest.FixtureRequest, settings: Any, live_server: LiveServer) -> Any:
    """Run the sandbox in each profile."""
    with running_sandbox(settings, live_server.url, profile=request.param) as sandbox:
        yield sandbox


def by_order(**terms: Any) -> Checkout:
    """Sell by an order."""
    return flows.create_checkout(**terms)


def by_token(**terms: Any) -> Checkout:
    """Sell by a token; its form makes the order."""
    return flows.create_token(**terms).checkout


def pay(checkout: Checkout) -> None:
    """Open the form as a customer does, and pay with a card."""
    form = requests.get(checkout.payment_form_url, timeout=10)
    address = urlsplit(form.url)
    (order_id,) = parse_qs(address.query)["order_id"]
    answer = requests.post(
        f"{address.scheme}://{address.netloc}/form/pay", {"order_id": order_id, **CARD}, timeout=10
    )
    assert answer.status_code == 200


@pytest.mark.spec(
    "SVC-03", "SVC-04", "EP1-15", "EP1-17", "EP1-19", "EP2-04", "EP2-05", "EP2-11", "EP2-15", "ORD-37"
)
@pytest.mark.spec("SVC-01", "SVC-02", "EVT-03", "STA-03", "TOK-02", "ORD-36")
@pytest.mark.parametrize("sell", [by_order, by_token])
@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_each_option_is_sold_paid_verified_and_granted(
    sandbox: Sandbox, listen: Listening, sell: Any, option: dict[str, Any]
) -> None:
    """From the shop's call through the form to the signal that grants the goods."""
    heard = listen(checkout_paid)
    checkout = sell(**option)
    pay(checkout)
    assert sandbox.wait_idle()
    flows.run_due()
    order = Order.objects.get()
    assert (order.verdict, order.type) == ("verified", checkout.type)
    assert (order.platform_id or "") == option.get("platform_id", "")
    assert_granted(checkout)
    assert [each["checkout"] for each in heard] == [checkout]


@pytest.mark.spec("ORD-37")
@pytest.mark.parametrize("units", [500, 99])
def test_other_units_than_sold_are_reviewed(sandbox: Sandbox, listen: Listening, units: int) -> None:
    """The service counts itself: more or fewer were sold, and its package has 100."""
    heard = listen(checkout_paid)
    checkout = flows.create_checkout(**VIRTUAL, products=["gems-100"], virtual_currency_amount=units)
    pay(checkout)
    assert sandbox.wait_idle()
    flows.run_due()
    order = Order.objects.get()
    assert (order.verdict, order.verdict_reason, heard) == ("review", "virtual_currency", [])


@pytest.mark.spec("EP1-20", "ORD-38", "EP1-21")
def test_an_order_may_be_paid_with_virtual_currency(sandbox: Sandbox) -> None:
    """The token says so, and the order comes back with it."""
    issued = flows.create_token(
        type="product",
        products=["sword"],
        is_buy_for_virtual_currency=True,
        button_caption="Back to the game",
    )
    pay(issued.checkout)
    assert sandbox.wait_idle()
    flows.inbox.apply_due()
    order = Order.objects.get()
    assert (order.is_buy_for_virtual_currency, order.verdict) == (True, "verified")
    assert sandbox.ledger.newest(1)[1][0].button_caption == "Back to the game"
