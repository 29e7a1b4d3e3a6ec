"""The sales of an erased customer: those without an order, those that come later, and their orders without an id (A.47)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.client.errors import CheckoutError
from checkout_integration.models import Checkout, CheckoutUser, Notification, Order
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.creation import Customer
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.flows.shop import fault, notification, record_listed
from tests.leaks.customer import EXTERNAL_ID, NAME, SERVICE_ID
from tests.leaks.tables import columns_with

pytestmark = pytest.mark.django_db
CUSTOMER = Customer(external_id=EXTERNAL_ID, name=NAME, email="zb@canary.example")
NOTE = "canary-metadata"
CANARIES = [EXTERNAL_ID, NAME, SERVICE_ID, NOTE, "zb@canary.example"]
Sell = Callable[[], Checkout]
ASKED: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD", "metadata": {"buyer": NOTE}}


def by_order() -> Checkout:
    """Sell something by an order."""
    return flows.create_checkout(customer=CUSTOMER, **ASKED)


def by_token() -> Checkout:
    """Sell something by a token, of which no order comes."""
    return flows.create_token(customer=CUSTOMER, **ASKED).checkout


def in_vain(sandbox: Sandbox) -> Checkout:
    """Sell something while the service is out of order."""
    fault(sandbox, "api", "server_error", "order")
    with pytest.raises(CheckoutError):
        by_order()
    return Checkout.objects.latest("pk")


def erase(**whom: str) -> None:
    """Erase the one customer that is meant."""
    (person,) = flows.find_persons(**whom)  # type: ignore[arg-type]
    flows.erase(person)


def guest(sale: Checkout, **changes: Any) -> dict[str, Any]:
    """An order of a guest, as a notification tells of it."""
    user = {"id": SERVICE_ID, "external_id": "", "name": NAME, "email": "zb@canary.example"}
    told: dict[str, Any] = order_document_for(sale, **changes)
    return {**told, "user": user, "receipt_email": "zb@canary.example"}


def listed(document: dict[str, Any]) -> dict[str, Any]:
    """The order as the list tells of it, which leaves out the service's id of the customer (ORD-48)."""
    return {**document, "user": {name: each for name, each in document["user"].items() if name != "id"}}


def test_sale_without_an_order_is_erased(checkout_sandbox: Sandbox) -> None:
    """By token, and one that got no answer: nothing but the shop's id of the buyer leads to them."""
    sales = [by_token(), in_vain(checkout_sandbox)]
    assert "checkout_integration_checkout.metadata" in columns_with(CANARIES)
    erase(external_id=EXTERNAL_ID)
    assert columns_with(CANARIES) == set()
    assert [Checkout.objects.get(pk=sale.pk).identity for sale in sales] == ["", ""]


def test_sale_to_an_account_under_another_id_is_erased(checkout_sandbox: Sandbox) -> None:
    """The shop told an id that is not the account's key."""
    flows.create_token(user=User.objects.create_user("zb"), customer=CUSTOMER, **ASKED)
    erase(external_id=EXTERNAL_ID)
    assert columns_with(CANARIES) == set()


@pytest.mark.parametrize(("stranger", "key"), [(" 1", 1), ("1_0", 10), ("\u0661", 1)])
def test_account_whose_key_only_looks_alike_keeps_its_sales(
    checkout_deliver: Deliver, stranger: str, key: int
) -> None:
    """An account's key is told as it is written; Python reads more texts than that as the same number."""
    sale = CheckoutFactory(user=User.objects.create_user("ada", pk=key), metadata={"note": "ada's"})
    checkout_deliver(order=order_document_for(CheckoutFactory(), user__external_id=stranger))
    erase(external_id=stranger)
    sale.refresh_from_db()
    assert (sale.metadata, sale.erased_at) == ({"note": "ada's"}, None)


@pytest.mark.parametrize("sell", [by_order, by_token])
def test_sale_to_who_was_erased_keeps_nothing_of_them(checkout_sandbox: Sandbox, sell: Sell) -> None:
    """They buy again under the same id: they can pay, and the shop's words about them are sent and not kept."""
    by_order()
    erase(external_id=EXTERNAL_ID)
    sale = sell()
    assert columns_with(CANARIES) == set()
    assert (sale.status, sale.metadata) == ("open", {})
    assert sale.payment_form_url
    assert checkout_sandbox.ledger.find(sale.order_id) is not None or sell is by_token


def test_sale_that_turns_out_to_be_theirs_keeps_nothing(checkout_deliver: Deliver) -> None:
    """The shop did not say to whom it sold; the order says it, of one who was erased before."""
    named = order_document_for(CheckoutFactory(), user__external_id=EXTERNAL_ID, user__name=NAME)
    checkout_deliver(order=named)
    erase(external_id=EXTERNAL_ID)
    sale = CheckoutFactory(metadata={"buyer": NOTE}, payment_form_url="https://checkout.example/form?token=1")
    checkout_deliver(order=order_document_for(sale, user__external_id=EXTERNAL_ID, user__name=NAME))
    assert columns_with(CANARIES) == set()
    sale.refresh_from_db()
    assert (sale.status, sale.metadata, sale.payment_form_url) == ("paid", {}, "")
    assert sale.erased_at


def test_what_was_told_first_of_a_new_order_of_theirs_goes_too(checkout_deliver: Deliver) -> None:
    """An event that nobody knows names an order of which nobody knows yet whose it is; and again, when it is known."""
    sale = CheckoutFactory()
    record_listed([listed(guest(sale, status="rejected"))])
    erase(order_id=sale.order_id)
    again = guest(sale, id="again")
    strange = notification("payment.strange", again)
    checkout_deliver(strange)
    checkout_deliver(order=again)
    assert columns_with(CANARIES) == set()
    body = strict_json.dumps(strange).encode()
    on_its_way = {"body": body, "state": "stored", "due_at": timezone.now()}
    Notification.objects.filter(event="payment.strange").update(**on_its_way)
    flows.apply_due()
    assert Notification.objects.get(event="payment.strange").body is None


def test_question_about_another_is_no_news_of_an_order(checkout_deliver: Deliver) -> None:
    """The object of a user.validate is a customer, whose id at the service may be that of an order."""
    order = order_document_for(CheckoutFactory(), id="77", user__external_id=EXTERNAL_ID)
    checkout_deliver(order=order)
    checkout_deliver(event="user.validate", user={"id": "77", "external_id": "arthur"})
    erase(external_id=EXTERNAL_ID)
    checkout_deliver(order=order_document_for(CheckoutFactory(), id="78", user__external_id=EXTERNAL_ID))
    assert Notification.objects.get(event="user.validate").body


def test_id_that_is_too_long_for_an_account_is_nobodys_key(checkout_deliver: Deliver) -> None:
    """A number, but no column holds it."""
    checkout_deliver(order=order_document_for(CheckoutFactory(), user__external_id="9" * 25))
    erase(external_id="9" * 25)
    assert not CheckoutUser.objects.filter(erased_at=None).exists()


def test_guest_who_tries_again_stays_erased(checkout_deliver: Deliver) -> None:
    """The list tells no id of a guest, and the first notification a new one: their sale knows them."""
    sale = CheckoutFactory()
    record_listed([listed(guest(sale, status="rejected"))])
    erase(order_id=sale.order_id)
    again = guest(sale, id="again")
    record_listed([listed(again)])
    assert columns_with(CANARIES) == set()
    checkout_deliver(order=again)
    checkout_deliver(order=guest(sale, id="once more"))
    assert columns_with(CANARIES) == set()
    assert not CheckoutUser.objects.filter(erased_at=None).exists()
    sale.refresh_from_db()
    assert (sale.status, sale.paid_order and sale.paid_order.order_id) == ("paid", "again")


@pytest.mark.parametrize("whom", [{"order_id": "first"}, {"order_id": "again"}, {"user_id": SERVICE_ID}])
def test_orders_of_a_guests_sale_are_erased_together(checkout_deliver: Deliver, whom: dict[str, str]) -> None:
    """One was told by a notification, the other by the list, without an id."""
    sale = CheckoutFactory(order_id="first")
    checkout_deliver(notification("payment.cancel", guest(sale, status="canceled")))
    record_listed([listed(guest(sale, id="again"))])
    assert {"checkout_integration_personaldata.document"} <= columns_with([NAME])
    erase(**whom)
    assert columns_with(CANARIES) == set()


def test_another_customer_of_the_same_sale_stays(checkout_deliver: Deliver) -> None:
    """Both are known by ids of the shop: the one who is meant is erased."""
    sale = CheckoutFactory()
    checkout_deliver(order=order_document_for(sale, user__external_id=EXTERNAL_ID))
    other = order_document_for(sale, id="other", user__external_id="arthur", user__name="Arthur")
    checkout_deliver(order=other)
    erase(external_id=EXTERNAL_ID)
    checkout_deliver(notification("payment.refund", {**other, "status": "refunded"}))
    order = Order.objects.get(order_id="other")
    assert order.snapshot.user and order.snapshot.user.name == "Arthur"
    assert order.user and order.user.external_id == "arthur"


def test_customer_is_found_by_what_stands_in_no_column(
    checkout_sandbox: Sandbox, checkout_deliver: Deliver
) -> None:
    """The service's id of one whom the shop knows by its own; an address that is the shop's own id."""
    sale = flows.create_checkout(customer=Customer(external_id="zb@canary.example"), **ASKED)
    (by_address,) = flows.find_persons(email="zb@canary.example")
    told = order_document_for(sale, user__external_id="zb@canary.example", user__id=SERVICE_ID)
    checkout_deliver(order=told)
    (by_id,) = flows.find_persons(user_id=SERVICE_ID)
    assert by_address.users == by_id.users != set()
    erase(user_id=SERVICE_ID)
    assert columns_with(CANARIES) == set()
