"""The service's id of a customer: filled in whenever it becomes known, in the row of that customer and of no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.models import CheckoutUser, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import ListedOrderDocumentFactory, OrderDocumentFactory
from checkout_integration.testing.service import running_sandbox
from tests.support.customer import PRIVACY_REQUEST
from tests.support.flows.shop import ShopHooks, notification, record_listed, statements

pytestmark = pytest.mark.django_db
KNOWN = {"external_id": "ada", "id": "svc-ada"}
UNKNOWN = {"external_id": "ada"}


def order(user: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A paid order of this customer."""
    return {**OrderDocumentFactory(**changes), "user": user}


def listed(user: dict[str, Any], **changes: Any) -> None:
    """Record a row of the list of this customer."""
    record_listed([{**ListedOrderDocumentFactory(**changes), "user": user}])


def ids() -> set[tuple[str, str]]:
    """The customers by their ids here and there."""
    return set(CheckoutUser.objects.values_list("external_id", "user_id"))


@pytest.mark.parametrize("profile", ["spec", "field"])
@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("USR-01", "USR-03")
def test_a_sale_as_readme_shows_it(
    settings: Any, live_server: LiveServer, profile: str, admin_client: Client
) -> None:
    """The row is made when the order is created; the first notification fills the id in, by which staff find everything."""
    buyer = User.objects.create(username="ada")
    with running_sandbox(settings, live_server.url, profile=profile) as sandbox:
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD", user=buyer)
        assert ids() == {(str(buyer.pk), "")}
        sandbox.pay(checkout.order_id)
    customer = CheckoutUser.objects.get()
    assert customer.user_id == customer.snapshot.id != ""
    for screen, row in (("checkoutuser", customer), ("order", Order.objects.get())):
        address = f"/admin/checkout_integration/{screen}/"
        page = admin_client.get(address, {"q": customer.user_id})
        assert [each.pk for each in page.context["cl"].result_list] == [row.pk]
    (person,) = flows.privacy.find_persons(user_id=customer.user_id)
    assert person.external_ids == {str(buyer.pk)} and person.user_ids == {customer.user_id}


def by_notification(deliver: Deliver) -> None:
    """A payment."""
    deliver(order=order(KNOWN))


def by_another_order_of_a_batch(deliver: Deliver) -> None:
    """Three orders of the customer at once, of which the second one names the id."""
    record_listed([order(UNKNOWN), order(KNOWN), order(UNKNOWN)])


def by_a_later_event(deliver: Deliver) -> None:
    """The same order, whose success did not name it."""
    document = order(UNKNOWN, id="one")
    deliver(order=document)
    deliver(notification("payment.refund", {**document, "status": "refunded", "user": KNOWN}))


def by_user_validate(deliver: Deliver) -> None:
    """The shop decides about them."""
    assert deliver(event="user.validate", user=KNOWN).status_code == 200


def by_the_list(deliver: Deliver) -> None:
    """A service that has it there too."""
    listed(KNOWN)


WAYS = [by_notification, by_another_order_of_a_batch, by_a_later_event, by_user_validate, by_the_list]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("known_before", [True, False])
@pytest.mark.spec("USR-01", "USR-03")
def test_the_id_is_filled_in(
    checkout_deliver: Deliver, hooks: type[ShopHooks], way: Callable[[Deliver], None], known_before: bool
) -> None:
    """Whether the customer has a row already or not, and by whatever names the id first; it stays."""
    hooks.user = staticmethod(lambda user: True)
    if known_before:
        listed(UNKNOWN)
        assert ids() == {("ada", "")}
    way(checkout_deliver)
    assert ids() == {("ada", "svc-ada")}
    listed(UNKNOWN, created_at=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    customer = CheckoutUser.objects.get()
    assert (customer.user_id, customer.snapshot.id) == ("svc-ada", "svc-ada")


@pytest.mark.parametrize("way", WAYS)
def test_a_tombstone_stays_empty(
    checkout_deliver: Deliver, hooks: type[ShopHooks], way: Callable[[Deliver], None]
) -> None:
    """A customer who was erased before the service's id was known here is not named again."""
    hooks.user = staticmethod(lambda user: True)
    listed(UNKNOWN)
    (person,) = flows.privacy.find_persons(external_id="ada")
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    way(checkout_deliver)
    assert ids() == {("", "")}
    assert not any((each.whole_document.get("user") or {}).get("id") for each in Order.objects.all())


def test_an_erasure_finds_the_customer_by_the_id(checkout_deliver: Deliver) -> None:
    """The row, its orders from before the id was known, and those after it."""
    listed(UNKNOWN)
    checkout_deliver(order=order(KNOWN))
    (person,) = flows.privacy.find_persons(user_id="svc-ada")
    assert person.orders.count() == 2
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    assert ids() == {("", "")}


@pytest.mark.spec("USR-01", "USR-03")
def test_no_two_customers_are_merged(checkout_deliver: Deliver) -> None:
    """Customers of the shop whom the service gives one id, a guest with it, and a customer with two: each has a row."""
    listed(UNKNOWN)
    listed({"external_id": "eve"})
    for user in (
        KNOWN,
        {"external_id": "eve", "id": "svc-ada"},
        {"id": "svc-ada"},
        {**KNOWN, "id": "svc-other"},
    ):
        checkout_deliver(order=order(user))
    assert ids() == {("ada", "svc-ada"), ("eve", "svc-ada"), ("", "svc-ada")}
    (person,) = flows.privacy.find_persons(external_id="eve")
    assert person.customers.filter(external_id="ada").count() == 0


def test_a_customer_whose_id_is_known_costs_no_statement(checkout_deliver: Deliver) -> None:
    """The row is read and written once for each customer, however much they buy."""
    listed(UNKNOWN)
    counts = []
    for number in (1, 2):
        document = order(UNKNOWN, id=f"order {number}")
        listed(UNKNOWN, id=f"order {number}", status="created")
        with statements() as seen:
            checkout_deliver(order={**document, "user": KNOWN})
        counts.append(sum("checkoutuser" in each for each in seen))
    assert counts[0] - counts[1] == 2


@pytest.mark.spec("USR-01", "USR-03")
@pytest.mark.parametrize("guests", [("u-1", "u-2"), ("Guest/7", "guest/7")])
def test_a_guest_is_known_by_the_services_id(checkout_deliver: Deliver, guests: tuple[str, str]) -> None:
    """Two orders of one are one customer's, another id is another customer, and who has neither id is none."""
    for identifier in (guests[0], guests[0], guests[1], ""):
        checkout_deliver(order=order({"id": identifier, "external_id": ""}))
    customers = [each.user for each in Order.objects.order_by("pk")]
    assert [customer and customer.user_id for customer in customers] == [guests[0], *guests, None]
    assert customers[0] == customers[1] != customers[2]
