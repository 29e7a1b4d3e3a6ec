"""Gifts: bought by one account for another one, which owns the goods, while the receipt is the buyer's."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import IntegrityError, connection, transaction
from django.test import Client, RequestFactory
from django.urls import reverse
from rest_framework.test import APIClient

from checkout_integration import flows
from checkout_integration.flows.checkout import claim, signed_reference
from checkout_integration.flows.ledger import identity_here
from checkout_integration.flows.operations import undo_claim
from checkout_integration.hooks import CheckoutTerms
from checkout_integration.models import Checkout, CheckoutUser, Order
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderItemDocumentFactory
from checkout_integration.views.selling import SellMixin
from tests.support.customer import PRIVACY_REQUEST
from tests.support.documents import block
from tests.support.flows.shop import notification
from tests.support.plans import analyze, empty_tables, multiply

pytestmark = pytest.mark.django_db
PRICE: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD"}


@pytest.fixture
def ada() -> User:
    """The buyer."""
    return User.objects.create_user("ada")


@pytest.fixture
def ben() -> User:
    """The recipient."""
    return User.objects.create_user("ben")


def given(buyer: User | None, recipient: User, **changes: Any) -> Checkout:
    """A gift that is paid, or what became of it."""
    checkout = CheckoutFactory(user=buyer, recipient=recipient, gift=True)
    OrderFactory(checkout=checkout, **changes)
    checkout.refresh_from_db()
    return checkout


def owners() -> set[str]:
    """Who owns something."""
    return {each.username for each in User.objects.all() if Checkout.objects.owned_by(each).exists()}


def test_a_gift_is_sold(checkout_sandbox: Sandbox, ada: User, ben: User) -> None:
    """The row has both; the service hears of the buyer alone."""
    checkout = flows.create_checkout(user=ada, recipient=ben, description="A hat", **PRICE)
    assert (checkout.user, checkout.recipient, checkout.gift) == (ada, ben, True)
    assert (checkout.owner, checkout.owner_id) == (ben, ben.pk)
    (order,) = checkout_sandbox.ledger.newest(1)[1]
    assert (order.account, order.metadata) == (str(ada.pk), {"checkout_reference": checkout.reference})
    assert owners() == set()


def test_by_a_token_too(checkout_sandbox: Sandbox, ada: User, ben: User) -> None:
    """Of the checkout, however its form is shown."""
    assert flows.create_token(user=ada, recipient=ben, **PRICE).checkout.owner == ben


@pytest.mark.parametrize("buyer", ["themselves", "a guest", "an anonymous visitor"])
def test_who_gives(checkout_sandbox: Sandbox, ada: User, ben: User, buyer: str) -> None:
    """A gift to oneself is none; guests may give."""
    user = {"themselves": ben, "a guest": None, "an anonymous visitor": AnonymousUser()}[buyer]
    checkout = flows.create_checkout(user=user, recipient=ben, **PRICE)
    assert (checkout.owner, checkout.gift) == (ben, buyer != "themselves")


@pytest.mark.parametrize("way", [flows.create_checkout, flows.create_token])
@pytest.mark.parametrize(
    "recipient", [AnonymousUser(), User(username="new"), "ben", 1, SimpleNamespace(pk=1)]
)
def test_a_recipient_is_an_account(checkout_sandbox: Sandbox, ada: User, way: Any, recipient: Any) -> None:
    """That exists; anything else is refused before anything is stored."""
    with pytest.raises(CreationError) as refused:
        way(user=ada, recipient=recipient, **PRICE)
    assert [name for name, _ in refused.value.problems] == ["recipient"]
    assert not Checkout.objects.exists()


def test_another_row_of_the_shop_is_no_recipient(checkout_sandbox: Sandbox, ada: User) -> None:
    """Its key might be that of an account."""
    group: Any = Group.objects.create(name="friends")
    with pytest.raises(CreationError, match="recipient"):
        flows.create_checkout(user=ada, recipient=group, **PRICE)


def test_the_same_for_another_friend_is_another_purchase(
    checkout_sandbox: Sandbox, ada: User, ben: User
) -> None:
    """And the same for the same one is a double click; a key of the shop stands for one of them."""
    eve = User.objects.create_user("eve")

    def sell(recipient: User | None, **key: Any) -> Any:
        return flows.create_checkout(user=ada, recipient=recipient, **PRICE, **key).pk

    assert sell(ben) == sell(ben)
    assert len({sell(ben), sell(eve), sell(None)}) == 3
    sell(ben, idempotency_key="basket-7")
    with pytest.raises(CreationError, match="idempotency_key"):
        sell(eve, idempotency_key="basket-7")


def test_the_goods_are_the_recipients_and_the_receipt_the_buyers(ada: User, ben: User) -> None:
    """In each question of a shop."""
    gift, own = given(ada, ben), CheckoutFactory(user=ada)
    OrderFactory(checkout=own)
    assert list(Checkout.objects.owned_by(ben)) == [gift]
    assert list(Checkout.objects.owned_by(ada)) == [own]
    assert Order.objects.for_user(ada).paid().count() == 2
    assert not Order.objects.for_user(ben).exists()


@pytest.mark.parametrize("status", ["created", "canceled", "refunded", "chargeback"])
def test_what_is_not_paid_or_went_back_is_nobodys(ada: User, ben: User, status: str) -> None:
    """Neither the buyer's."""
    given(ada, ben, status=status)
    assert owners() == set()


def test_without_the_recipients_account_nobody_owns_it(ada: User, ben: User) -> None:
    """It stays a gift: whoever has paid for it does not get it."""
    gift = given(ada, ben)
    ben.delete()
    gift.refresh_from_db()
    assert (gift.gift, gift.owner, gift.owner_id) == (True, None, None)
    assert owners() == set()


def test_without_the_buyers_account_the_recipient_owns_it(ada: User, ben: User) -> None:
    """It was paid for."""
    given(ada, ben)
    ada.delete()
    assert owners() == {"ben"}


def test_a_recipient_makes_it_a_gift(ada: User, ben: User) -> None:
    """The database refuses the contradiction."""
    checkout = CheckoutFactory(user=ada)
    with pytest.raises(IntegrityError), transaction.atomic():
        Checkout.objects.filter(pk=checkout.pk).update(recipient=ben)


def test_a_claim_changes_the_buyer_alone(ben: User, admin_user: User) -> None:
    """And so does its undoing."""
    gift, eve = given(None, ben), User.objects.create_user("eve")
    assert claim(gift, eve) and owners() == {"ben"}
    assert list(Order.objects.for_user(eve)) == [gift.paid_order]
    gift.refresh_from_db()
    assert undo_claim(gift, staff=admin_user, reason="another person")
    assert owners() == {"ben"}


def test_a_link_changes_the_buyer_alone(checkout_deliver: Deliver, ada: User, ben: User) -> None:
    """And so does its undoing."""
    gift = CheckoutFactory(recipient=ben, gift=True)
    checkout_deliver(order=order_document_for(gift, user__id="service-7"))
    customer = CheckoutUser.objects.get()
    assert flows.operations.link_account(customer, ada, reason="their receipt")
    assert owners() == {"ben"} and Order.objects.for_user(ada).count() == 1
    assert flows.operations.unlink_account(customer, staff=None, reason="another person")
    assert owners() == {"ben"} and not Order.objects.for_user(ada).exists()


def test_the_pages_of_return_and_claim_say_so(client: Client, ada: User, ben: User, settings: Any) -> None:
    """A gift is on its way; whoever claims it gets the receipt."""
    gift = given(None, ben)
    signed = signed_reference(gift.reference)
    client.force_login(ada)
    page = client.get(reverse("checkout_integration:claim", args=[signed])).content.decode()
    assert "The receipt will belong to ada; the gift stays with its recipient." in page


def block_of(account_id: str, **columns: Any) -> CheckoutUser:
    """A customer whom staff have blocked."""
    customer = CheckoutUser.objects.create(
        project="default", identity=identity_here(account_id), external_id=account_id, **columns
    )
    flows.operations.block_customer(customer, staff=None, reason="three chargebacks")
    return customer


@pytest.mark.parametrize("known", ["by id", "by account", "erased"])
def test_nothing_is_given_to_a_blocked_customer(
    checkout_sandbox: Sandbox, ada: User, ben: User, known: str
) -> None:
    """Else a second account would get round the block. What was ordered before it is delivered."""
    gift = CheckoutFactory(user=ada, recipient=ben, gift=True)
    customer = block_of("ben@other", account=ben) if known == "by account" else block_of(str(ben.pk))
    if known == "erased":
        (person,) = flows.privacy.find_persons(customer=customer)
        flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    for way in (flows.create_checkout, flows.create_token):
        with pytest.raises(flows.CustomerBlocked):
            way(user=ada, recipient=ben, **PRICE)
    assert Checkout.objects.get() == gift
    assert flows.create_checkout(user=ada, **PRICE).payment_form_url
    OrderFactory(checkout=gift)
    assert owners() == {"ben"}


def test_a_view_sells_a_gift(checkout_sandbox: Sandbox, rf: RequestFactory, ada: User, ben: User) -> None:
    """Among the terms."""

    class Give(SellMixin):
        def get_terms(self) -> CheckoutTerms:
            return {**PRICE, "recipient": ben}  # type: ignore[typeddict-item]

    request = rf.post("/")
    request.user = ada
    assert Give.as_view()(request).status_code == 302
    assert Checkout.objects.get().owner == ben


@pytest.mark.urls("tests.api.urls")
def test_over_rest_it_is_the_buyers_without_the_code(ada: User, ben: User) -> None:
    """The code is the goods. Who got it is not said."""
    given(ada, ben, items=[OrderItemDocumentFactory(code="SECRET-CODE")])
    CheckoutFactory(user=ada)
    api = APIClient()
    api.force_authenticate(ada)
    checkouts, orders = (api.get(f"/api/{name}/").json()["data"] for name in ("checkouts", "orders"))
    assert [each["gift"] for each in checkouts] == [False, True]
    assert [item["code"] for item in orders[0]["items"]] == [None]
    assert "ben" not in json.dumps([checkouts, orders])
    api.force_authenticate(ben)
    assert [api.get(f"/api/{name}/").json()["data"] for name in ("checkouts", "orders")] == [[], []]


def exported(account: User) -> list[dict[str, Any]]:
    """The projects of an account's export."""
    persons = flows.privacy.find_persons(external_id=str(account.pk))
    text = "".join(flows.privacy.export_customer(persons, PRIVACY_REQUEST))
    found: list[dict[str, Any]] = json.loads(text)["projects"]
    return found


def test_a_recipient_gets_the_gift_in_their_export_and_nothing_of_the_buyer(ada: User, ben: User) -> None:
    """Although they have never bought; the buyer's export does not say who got it."""
    gift = CheckoutFactory(user=ada, recipient=ben, gift=True, description="A hat", metadata={"from": "ada"})
    OrderFactory(checkout=gift, receipt_email="ada@buyers.example")
    (theirs,) = exported(ben)
    (found,) = theirs["gifts"]
    assert (found["reference"], found["status"], found["description"]) == (gift.reference, "paid", "A hat")
    assert not (theirs["orders"] or theirs["checkouts"])
    for text in ("ada", "9.99"):
        assert text not in json.dumps(theirs), text
    (own,) = exported(ada)
    assert own["gifts"] == [] and own["checkouts"][0]["gift"] is True
    assert "recipient" not in own["checkouts"][0]


@pytest.mark.django_db(transaction=True)
def test_an_erased_recipient_keeps_the_gift_and_the_buyer_their_data(ada: User, ben: User) -> None:
    """The link to the account stays as that of a buyer, until the account is deleted."""
    gift = CheckoutFactory(user=ada, recipient=ben, gift=True, metadata={"from": "ada"})
    OrderFactory(checkout=gift, receipt_email="ada@buyers.example")
    (person,) = flows.privacy.find_persons(external_id=str(ben.pk))
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    gift.refresh_from_db()
    assert (gift.metadata, gift.erased_at) == ({"from": "ada"}, None)
    assert Order.objects.get().snapshot.receipt_email == "ada@buyers.example"
    assert owners() == {"ben"}
    (person,) = flows.privacy.find_persons(external_id=str(ada.pk))
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    gift.refresh_from_db()
    assert (gift.metadata, owners()) == ({}, {"ben"})


def test_receivers_deliver_to_the_owner(
    checkout_deliver: Deliver, ada: User, ben: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's receivers: given to the recipient, taken from them, and the buyer is told."""
    seen: list[tuple[str, str]] = []
    package, page = ModuleType("shop"), ModuleType("shop.presents")
    package.inbox = SimpleNamespace(  # type: ignore[attr-defined]
        add=lambda account, products: seen.append(("add", account.username)),
        remove=lambda account, products: seen.append(("remove", account.username)),
        tell=lambda account, text: seen.append(("tell", account.username)),
    )
    monkeypatch.setitem(sys.modules, "shop", package)
    exec(block("docs/fulfilment.md", "# shop/presents.py"), vars(page))
    try:
        for recipient in (ben, None):
            checkout = CheckoutFactory(user=ada, recipient=recipient, gift=recipient is not None)
            document = order_document_for(checkout)
            checkout_deliver(order=document)
            checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    finally:
        checkout_paid.disconnect(page.give)
        checkout_reversed.disconnect(page.take_back)
    assert seen == [("add", "ben"), ("remove", "ben"), ("tell", "ada"), ("add", "ada"), ("remove", "ada")]


def test_indexes_find_both_parts(ada: User, ben: User) -> None:
    """What was bought and what was given, each by its own, however many other rows there are."""
    if connection.vendor == "postgresql":
        empty_tables()
        eve = User.objects.create_user("eve")
        multiply(CheckoutFactory(user=eve, status="paid"), "reference", 2_000)
        multiply(CheckoutFactory(user=eve, recipient=ada, gift=True, status="paid"), "reference", 500)
        analyze()
    else:
        Checkout.objects.bulk_create(
            Checkout(project="default", type="simple", status="paid", user=ada) for _ in range(300)
        )
    plan = Checkout.objects.owned_by(ben).explain()
    assert "ci_checkout_owned" in plan and "ci_checkout_given" in plan, plan
