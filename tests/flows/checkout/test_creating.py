"""Creating checkouts: the row is committed, then the service is called; over sockets, against the sandbox."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import requests
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.flows.checkout.return_page import checkout_of
from checkout_integration.models import Checkout, Order
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid, checkout_reversed, order_changed, payment_success
from checkout_integration.testing.assertions import assert_granted, assert_revoked
from tests.support.flows.shop import Listening, fault

pytestmark = pytest.mark.django_db

PRICE: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD"}
SALES: dict[str, dict[str, Any]] = {
    "simple": PRICE,
    "product": {"type": "product", "products": ["sword", "shield"]},
    "key": {"type": "key", "products": ["quest"], "platform_id": "steam"},
}


@pytest.mark.spec("EP2-01", "EP2-07", "EP2-17", "SVC-01", "SVC-02", "SVC-03", "EVT-03", "STA-03")
@pytest.mark.parametrize("terms", SALES.values(), ids=SALES)
def test_checkout_is_made_and_paid(
    checkout_sandbox: Sandbox, live_server: LiveServer, listen: Listening, terms: dict[str, Any]
) -> None:
    """From the shop's call through the form to the goods, each type."""
    heard = listen(checkout_paid)
    basket = Group.objects.create(name="basket")
    checkout = flows.create_checkout(subject=basket, description="For you", **terms)
    assert (checkout.status, checkout.test, checkout.subject_id) == ("open", True, str(basket.pk))
    assert requests.get(checkout.payment_form_url, timeout=10).status_code == 200
    order = Order.objects.get()
    assert (order.order_id, order.status, order.checkout) == (checkout.order_id, "created", checkout)
    checkout_sandbox.payments.pay(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    assert_granted(checkout)
    assert [(each["checkout"], each["source"]) for each in heard] == [(checkout, "notification")]


@pytest.mark.spec("SVC-03", "ORD-37")
def test_checkout_of_virtual_currency(checkout_sandbox: Sandbox, live_server: LiveServer) -> None:
    """The payment is compared by the amount of the game's currency, or by the price."""
    checkout = flows.create_checkout(type="virtual_currency", products=["gems-500"])
    checkout_sandbox.payments.pay(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    assert_granted(checkout)


@pytest.mark.spec("STA-02")
def test_our_own_creation_is_no_news(checkout_sandbox: Sandbox, listen: Listening) -> None:
    """The order is known as created, and nothing is announced for it."""
    heard = listen(order_changed)
    flows.create_checkout(**PRICE)
    flows.run_due()
    assert heard == []


@pytest.mark.spec("EP2-06", "EP2-13", "USR-03")
def test_buyer_travels_as_external_id(checkout_sandbox: Sandbox, live_server: LiveServer) -> None:
    """The account's key reaches the service, and the customer of the order is that account."""
    ada = User.objects.create_user("ada")
    checkout = flows.create_checkout(user=ada, **PRICE)
    checkout_sandbox.payments.pay(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.inbox.apply_due()
    order = Order.objects.get()
    assert order.user is not None
    assert (order.user.external_id, order.user.account) == (str(ada.pk), ada)
    assert list(Order.objects.for_user(ada).paid()) == [order]


@pytest.mark.spec("EP1-01", "EP1-23", "EP1-24", "SVC-02", "TOK-02")
def test_token_sells_too(checkout_sandbox: Sandbox, live_server: LiveServer, listen: Listening) -> None:
    """The order is made later with the token, and is bound by its reference."""
    heard = listen(checkout_paid)
    issued = flows.create_token(**PRICE)
    assert requests.get(issued.payment_form_url, timeout=10).status_code == 200
    assert issued.checkout.payment_form_url == issued.payment_form_url
    _, orders = checkout_sandbox.ledger.newest(1)
    checkout_sandbox.payments.pay(orders[0].id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    assert_granted(issued.checkout)
    assert len(heard) == 1
    assert issued.token not in repr(issued)


@pytest.mark.spec("EP6-05", "EP1-24", "EP2-12", "EP2-17", "SVC-02", "TOK-01")
def test_token_becomes_an_order_on_the_server(checkout_sandbox: Sandbox, live_server: LiveServer) -> None:
    """The order is made by the token alone; the checkout knows its id and its form before anyone pays."""
    issued = flows.create_token(**PRICE)
    checkout = flows.create_order_from_token(issued)
    assert Order.objects.get().order_id == checkout.order_id
    assert checkout.payment_form_url != issued.payment_form_url
    assert requests.get(checkout.payment_form_url, timeout=10).status_code == 200
    assert checkout.order_id in checkout.payment_form_url
    stored = Checkout.objects.get()
    assert (stored.order_id, stored.payment_form_url) == (checkout.order_id, checkout.payment_form_url)
    checkout_sandbox.payments.pay(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    assert_granted(checkout)


@pytest.mark.parametrize("sell", [flows.create_checkout, flows.create_token])
def test_open_transaction_is_refused(checkout_sandbox: Sandbox, sell: Any) -> None:
    """The checkout could vanish after the customer has paid; the message names the mend."""
    with transaction.atomic(), pytest.raises(flows.TransactionOpen, match="non_atomic_requests"):
        sell(**PRICE)
    assert not Checkout.objects.exists()
    assert checkout_sandbox.ledger.newest(1)[0] == 0


@pytest.mark.spec("EP2-04")
@pytest.mark.parametrize("sell", [flows.create_checkout, flows.create_token])
def test_checkout_that_breaks_a_rule_is_not_stored(checkout_sandbox: Sandbox, sell: Any) -> None:
    """All problems are reported before anything happens."""
    with pytest.raises(CreationError, match="amount"):
        sell(type="simple")
    assert not Checkout.objects.exists()


@pytest.mark.spec("EP2-04", "EP2-05")
@pytest.mark.parametrize("sell", [flows.create_checkout, flows.create_token])
@pytest.mark.parametrize(
    "sold", [*list(SALES.values())[1:], {"type": "virtual_currency"}], ids=lambda sold: sold["type"]
)
@pytest.mark.parametrize(
    ("price", "wrong"),
    [
        ({"amount": 9.99, "currency": "USD"}, ["amount"]),
        ({"amount": Decimal("9.99"), "currency": "usd"}, ["currency"]),
        ({"amount": Decimal(-3), "currency": ""}, ["amount", "currency"]),
        ({"amount": Decimal("9.999999"), "currency": "USD"}, ["amount"]),
        ({"amount": None, "currency": "USD"}, ["amount"]),
        ({"amount": Decimal(3), "description": "x" * 256}, ["description", "currency"]),
    ],
)
def test_price_that_is_only_compared_is_checked_too(
    checkout_sandbox: Sandbox, sell: Any, sold: dict[str, Any], price: dict[str, Any], wrong: list[str]
) -> None:
    """Payments are compared with it: a price that cannot be compared is never stored."""
    with pytest.raises(CreationError) as caught:
        sell(**sold, **price)
    assert [field.rpartition(".")[2] for field, _ in caught.value.problems] == wrong
    assert not Checkout.objects.exists()


@pytest.mark.spec("HTT-05")
def test_refused_checkout_is_failed(checkout_sandbox: Sandbox) -> None:
    """The service said no: there is no order."""
    checkout_sandbox.projects.update("test-project", live=True, activated=False)
    with pytest.raises(flows.CheckoutError):
        flows.create_checkout(**PRICE)
    checkout = Checkout.objects.get()
    assert (checkout.status, checkout.order_id) == ("failed", "")
    assert "402" in checkout.failure


def test_unreachable_service_is_failed(checkout_sandbox: Sandbox, settings: Any) -> None:
    """Nothing was sent, so nothing can have been made."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "CHECKOUT_URL": "http://127.0.0.1:9",
    }
    with pytest.raises(flows.CheckoutError):
        flows.create_checkout(**PRICE)
    assert Checkout.objects.get().status == "failed"


@pytest.mark.parametrize("paid", [False, True])
def test_lost_answer_is_unknown_until_the_sync_finds_it(
    checkout_sandbox: Sandbox, listen: Listening, paid: bool
) -> None:
    """The order may exist: it is never made a second time, and the sync finds it by the reference."""
    heard = listen(checkout_paid)
    fault(checkout_sandbox, "api", "lost_after_commit", "order")
    with pytest.raises(flows.CheckoutError):
        flows.create_checkout(**PRICE)
    checkout = Checkout.objects.get()
    assert checkout.status == "unknown"
    count, (order,) = checkout_sandbox.ledger.newest(2)
    assert count == 1
    if paid:
        checkout_sandbox.payments.pay(order.id)
    flows.sync.sync_transactions()
    flows.run_due()
    checkout.refresh_from_db()
    assert (checkout.status, checkout.order_id) == ("paid" if paid else "open", order.id)
    assert len(heard) == paid


def test_lost_answer_of_a_token_is_requested_again(checkout_sandbox: Sandbox) -> None:
    """A token can be made twice without harm."""
    fault(checkout_sandbox, "api", "lost_after_commit", "tokens", times=1)
    assert flows.create_token(**PRICE).checkout.status == "open"


@pytest.mark.spec("STA-03", "STA-06", "STA-07", "EVT-04", "EVT-05")
@pytest.mark.parametrize("event", ["refund", "chargeback"])
def test_reversal_takes_the_goods_back(
    checkout_sandbox: Sandbox, live_server: LiveServer, listen: Listening, event: str
) -> None:
    """Over sockets: paid, granted, reversed, taken back, each once."""
    granted, taken = listen(checkout_paid), listen(checkout_reversed)
    checkout = flows.create_checkout(**PRICE)
    checkout_sandbox.payments.pay(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    getattr(checkout_sandbox.payments, event)(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    assert (len(granted), len(taken)) == (1, 1)
    assert_revoked(checkout)


@pytest.mark.spec("EP2-08", "EVT-06", "STA-05")
def test_declined_payment_cancels_the_checkout(
    checkout_sandbox: Sandbox, live_server: LiveServer, listen: Listening
) -> None:
    """The customer may try again, which makes a new order; the form of this one is over."""
    heard = listen(payment_success)
    checkout = flows.create_checkout(**PRICE)
    checkout_sandbox.payments.decline(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    checkout.refresh_from_db()
    assert (checkout.status, Order.objects.get().status, heard) == ("cancelled", "rejected", [])


@pytest.mark.spec("EP2-08", "ORD-32")
def test_own_metadata_travels_beside_the_reference(checkout_sandbox: Sandbox) -> None:
    """The shop's attributes are sent, and the order has them here before any notification."""
    checkout = flows.create_checkout(metadata={"level": "7"}, **PRICE)
    (order,) = checkout_sandbox.ledger.newest(1)[1]
    assert order.metadata == {"level": "7", "checkout_reference": checkout.reference}
    assert Order.objects.get().metadata == order.metadata


@pytest.mark.spec("EP2-09", "EP2-10")
@pytest.mark.parametrize("dynamic", [True, False])
def test_return_address_carries_a_signed_reference(
    checkout_sandbox: Sandbox, settings: Any, dynamic: bool
) -> None:
    """Only where the project allows addresses; the form appends nothing by itself."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "DYNAMIC_URLS": dynamic,
        "RETURN_URL": "https://shop.example.com/thanks/{reference}",
    }
    checkout = flows.create_checkout(**PRICE)
    (order,) = checkout_sandbox.ledger.newest(1)[1]
    signed = order.url_success.rpartition("/")[2]
    assert (checkout_of(signed) if dynamic else order.url_success) == (checkout if dynamic else "")
    assert checkout_of(signed + "x") is None


def test_secret_never_reaches_what_is_stored(
    checkout_sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the failure of a checkout nor a log line contains it."""
    fault(checkout_sandbox, "api", "server_error", "order")
    with pytest.raises(flows.CheckoutError) as caught:
        flows.create_checkout(**PRICE)
    shown = f"{caught.value!r}{vars(Checkout.objects.get())}{caplog.text}"
    assert "sandbox_test_secret" not in shown


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_account_that_is_gone_is_the_shops_own_error(checkout_sandbox: Sandbox) -> None:
    """The database's own error is raised, not one of ours."""
    gone = User.objects.create(username="gone")
    User.objects.get().delete()
    with pytest.raises(IntegrityError):
        flows.create_checkout(amount=Decimal("9.99"), currency="USD", user=gone)
    assert not Checkout.objects.exists()
