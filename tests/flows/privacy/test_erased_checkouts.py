"""The checkouts of an erased customer: those without an order, those that come later, and their orders without an id."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.client.errors import CheckoutError
from checkout_integration.models import Checkout, CheckoutUser, Notification, Order, PersonalData
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.creation import Customer
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.customer import EXTERNAL_ID, NAME, PRIVACY_REQUEST, SERVICE_ID
from tests.support.flows.shop import fault, notification, record_listed
from tests.support.tables import columns_with

pytestmark = pytest.mark.django_db
CUSTOMER = Customer(external_id=EXTERNAL_ID, name=NAME, email="zb@canary.example")
NOTE = "canary-metadata"
CANARIES = [EXTERNAL_ID, NAME, SERVICE_ID, NOTE, "zb@canary.example"]
Sell = Callable[[], Checkout]
TERMS: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD", "metadata": {"buyer": NOTE}}


def by_order() -> Checkout:
    """Sell something by an order."""
    return flows.create_checkout(customer=CUSTOMER, **TERMS)


def by_token() -> Checkout:
    """Sell something by a token, of which no order comes."""
    return flows.create_token(customer=CUSTOMER, **TERMS).checkout


def in_vain(sandbox: Sandbox) -> Checkout:
    """Sell something while the service is out of order."""
    fault(sandbox, "api", "server_error", "order")
    with pytest.raises(CheckoutError):
        by_order()
    return Checkout.objects.latest("pk")


def erase(**whom: str) -> None:
    """Erase the one customer that is meant."""
    (person,) = flows.privacy.find_persons(**whom)  # type: ignore[arg-type]
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)


def guest(checkout: Checkout, **changes: Any) -> dict[str, Any]:
    """The notification of a guest's order."""
    user = {"id": SERVICE_ID, "external_id": "", "name": NAME, "email": "zb@canary.example"}
    document: dict[str, Any] = order_document_for(checkout, **changes)
    return {**document, "user": user, "receipt_email": "zb@canary.example"}


def listed(document: dict[str, Any]) -> dict[str, Any]:
    """The list row of the order, without the service's id of the customer (ORD-48)."""
    return {**document, "user": {name: each for name, each in document["user"].items() if name != "id"}}


def test_checkout_without_an_order_is_erased(checkout_sandbox: Sandbox) -> None:
    """By token, and one that got no response: nothing but the shop's id of the customer leads to them."""
    checkouts = [by_token(), in_vain(checkout_sandbox)]
    assert "checkout_integration_checkout.metadata" in columns_with(CANARIES)
    erase(external_id=EXTERNAL_ID)
    assert columns_with(CANARIES) == set()
    assert [Checkout.objects.get(pk=checkout.pk).identity for checkout in checkouts] == ["", ""]


def test_checkout_to_an_account_under_another_id_is_erased(checkout_sandbox: Sandbox) -> None:
    """The shop gave an id other than the account's key."""
    flows.create_token(user=User.objects.create_user("zb"), customer=CUSTOMER, **TERMS)
    erase(external_id=EXTERNAL_ID)
    assert columns_with(CANARIES) == set()


@pytest.mark.parametrize(("stranger", "key"), [(" 1", 1), ("1_0", 10), ("\u0661", 1)])
def test_account_whose_key_only_looks_alike_keeps_its_checkouts(
    checkout_deliver: Deliver, stranger: str, key: int
) -> None:
    """Keys are compared as text; Python parses other texts as the same number."""
    checkout = CheckoutFactory(user=User.objects.create_user("ada", pk=key), metadata={"note": "ada's"})
    checkout_deliver(order=order_document_for(CheckoutFactory(), user__external_id=stranger))
    erase(external_id=stranger)
    checkout.refresh_from_db()
    assert (checkout.metadata, checkout.erased_at) == ({"note": "ada's"}, None)


@pytest.mark.parametrize("sell", [by_order, by_token])
def test_checkout_to_who_was_erased_keeps_nothing_of_them(checkout_sandbox: Sandbox, sell: Sell) -> None:
    """A new checkout under the same id can be paid; the shop's data about the customer is sent and not stored."""
    by_order()
    erase(external_id=EXTERNAL_ID)
    checkout = sell()
    assert columns_with(CANARIES) == set()
    assert (checkout.status, checkout.metadata) == ("open", {})
    assert checkout.payment_form_url
    assert checkout_sandbox.ledger.find(checkout.order_id) is not None or sell is by_token


def test_checkout_that_turns_out_to_be_theirs_keeps_nothing(checkout_deliver: Deliver) -> None:
    """The checkout has no customer; its order names one who was erased before."""
    named = order_document_for(CheckoutFactory(), user__external_id=EXTERNAL_ID, user__name=NAME)
    checkout_deliver(order=named)
    erase(external_id=EXTERNAL_ID)
    checkout = CheckoutFactory(
        metadata={"buyer": NOTE}, payment_form_url="https://checkout.example/form?token=1"
    )
    checkout_deliver(order=order_document_for(checkout, user__external_id=EXTERNAL_ID, user__name=NAME))
    assert columns_with(CANARIES) == set()
    checkout.refresh_from_db()
    assert (checkout.status, checkout.metadata, checkout.payment_form_url) == ("paid", {}, "")
    assert checkout.erased_at


def test_what_was_observed_first_of_a_new_order_of_theirs_goes_too(checkout_deliver: Deliver) -> None:
    """An unknown event names an order without a known customer; later the customer is known."""
    checkout = CheckoutFactory()
    record_listed([listed(guest(checkout, status="rejected"))])
    erase(order_id=checkout.order_id)
    again = guest(checkout, id="again")
    strange = notification("payment.strange", again)
    checkout_deliver(strange)
    checkout_deliver(order=again)
    assert columns_with(CANARIES) == set()
    body = strict_json.dumps(strange).encode()
    on_its_way = {"body": body, "state": "stored", "due_at": timezone.now()}
    Notification.objects.filter(event="payment.strange").update(**on_its_way)
    flows.inbox.apply_due()
    assert Notification.objects.get(event="payment.strange").body is None


def test_question_about_another_is_no_news_of_an_order(checkout_deliver: Deliver) -> None:
    """The object of a user.validate is a customer; the service's id of it may equal that of an order."""
    order = order_document_for(CheckoutFactory(), id="77", user__external_id=EXTERNAL_ID)
    checkout_deliver(order=order)
    checkout_deliver(event="user.validate", user={"id": "77", "external_id": "arthur"})
    erase(external_id=EXTERNAL_ID)
    checkout_deliver(order=order_document_for(CheckoutFactory(), id="78", user__external_id=EXTERNAL_ID))
    assert Notification.objects.get(event="user.validate").body


def test_id_that_is_too_long_for_an_account_is_nobodys_key(checkout_deliver: Deliver) -> None:
    """A number that fits no column."""
    checkout_deliver(order=order_document_for(CheckoutFactory(), user__external_id="9" * 25))
    erase(external_id="9" * 25)
    assert not CheckoutUser.objects.filter(erased_at=None).exists()


def test_guest_who_tries_again_stays_erased(checkout_deliver: Deliver) -> None:
    """The list has no id of a guest, and the first notification a new one: the checkout identifies them."""
    checkout = CheckoutFactory()
    record_listed([listed(guest(checkout, status="rejected"))])
    erase(order_id=checkout.order_id)
    again = guest(checkout, id="again")
    record_listed([listed(again)])
    assert columns_with(CANARIES) == set()
    checkout_deliver(order=again)
    checkout_deliver(order=guest(checkout, id="once more"))
    assert columns_with(CANARIES) == set()
    assert not CheckoutUser.objects.filter(erased_at=None).exists()
    checkout.refresh_from_db()
    assert (checkout.status, checkout.paid_order and checkout.paid_order.order_id) == ("paid", "again")


@pytest.mark.parametrize("whom", [{"order_id": "first"}, {"order_id": "again"}, {"user_id": SERVICE_ID}])
def test_orders_of_a_guests_checkout_are_erased_together(
    checkout_deliver: Deliver, whom: dict[str, str]
) -> None:
    """One came by a notification, the other by the list, without an id."""
    checkout = CheckoutFactory(order_id="first")
    checkout_deliver(notification("payment.cancel", guest(checkout, status="canceled")))
    record_listed([listed(guest(checkout, id="again"))])
    assert {"checkout_integration_personaldata.document"} <= columns_with([NAME])
    erase(**whom)
    assert columns_with(CANARIES) == set()


def test_another_customer_of_the_same_checkout_stays(checkout_deliver: Deliver) -> None:
    """Both have ids of the shop: only the given one is erased."""
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout, user__external_id=EXTERNAL_ID))
    other = order_document_for(checkout, id="other", user__external_id="arthur", user__name="Arthur")
    checkout_deliver(order=other)
    erase(external_id=EXTERNAL_ID)
    checkout_deliver(notification("payment.refund", {**other, "status": "refunded"}))
    order = Order.objects.get(order_id="other")
    assert order.snapshot.user and order.snapshot.user.name == "Arthur"
    assert order.user and order.user.external_id == "arthur"


def test_customer_is_found_by_what_stands_in_no_column(
    checkout_sandbox: Sandbox, checkout_deliver: Deliver
) -> None:
    """By the service's id of a customer with an id of the shop; by an address that is the shop's id."""
    checkout = flows.create_checkout(customer=Customer(external_id="zb@canary.example"), **TERMS)
    (by_address,) = flows.privacy.find_persons(email="zb@canary.example")
    document = order_document_for(checkout, user__external_id="zb@canary.example", user__id=SERVICE_ID)
    checkout_deliver(order=document)
    (by_id,) = flows.privacy.find_persons(user_id=SERVICE_ID)
    assert by_address.users == by_id.users != set()
    erase(user_id=SERVICE_ID)
    assert columns_with(CANARIES) == set()


@pytest.mark.parametrize("address", ["zb@canary.example", "news@canary.example"])
def test_guest_is_found_by_an_address_that_stands_only_in_a_document(
    checkout_deliver: Deliver, address: str
) -> None:
    """The column has one address only, that of the receipt if there is one. The case does not matter."""
    document = order_document_for(CheckoutFactory(), user={"email": "ZB@canary.example"})
    checkout_deliver(order={**document, "receipt_email": "news@canary.example"})
    PersonalData.objects.update(email="")
    erase(email=address)
    assert columns_with(["zb@canary.example", "news@canary.example"]) == set()
