"""Blocked customers: refused before the shop is asked, in review when they pay all the same, also after an erasure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration import flows
from checkout_integration.api.errors import error_response
from checkout_integration.flows.ledger.customers import identity_here
from checkout_integration.flows.privacy import PrivacyRequest
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Order,
    OutboxMessage,
    StaffAct,
    ValidationDecision,
)
from checkout_integration.protocol import strict_json
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.support.admin.rows import make_staff
from tests.support.admin.screens import page_address
from tests.support.documents import block
from tests.support.flows.shop import ShopHooks, record_listed

pytestmark = pytest.mark.django_db
BUYER = {"id": "service-7", "external_id": "player-7"}
NAMES = [BUYER, {"id": "service-7"}, {"external_id": "player-7"}, {**BUYER, "external_id": "player-8"}]
"""The customer under both ids, under each of them, and with a new account in the shop."""


@pytest.fixture
def staff() -> User:
    """A member of staff."""
    return User.objects.create_user("grace", is_staff=True)


def sold(user: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A payment of a customer for a checkout of this shop."""
    document: dict[str, Any] = order_document_for(CheckoutFactory(), **changes)
    return {**document, "user": UserDocumentFactory(**{"external_id": None, "id": None, **user})}


def customer(deliver: Deliver) -> CheckoutUser:
    """The customer, who has bought before."""
    deliver(order=sold(BUYER))
    return CheckoutUser.objects.get(external_id="player-7")


def set_block(row: CheckoutUser, staff: User) -> None:
    """Block the customer."""
    assert flows.operations.block_customer(row, staff=staff, reason="three chargebacks")


def erase(row: CheckoutUser) -> None:
    """Erase the customer."""
    for person in flows.privacy.find_persons(customer=row):
        flows.privacy.erase_customer(person, PrivacyRequest(reason="request 4711"))


AFTERWARDS: list[Callable[[CheckoutUser], None]] = [lambda row: None, erase]
STATES = pytest.mark.parametrize("afterwards", AFTERWARDS, ids=["stored", "erased"])


def verdict_of(deliver: Deliver, document: dict[str, Any]) -> tuple[str, str]:
    """The verdict on a payment that comes now."""
    deliver(order=document)
    order = Order.objects.get(order_id=document["id"])
    return order.verdict, order.verdict_reason


@pytest.mark.spec("EVT-02", "EVT-07", "EVT-11")
@STATES
@pytest.mark.parametrize("user", NAMES[:3], ids=["both", "service", "shop"])
def test_nobody_asks_the_shop(
    checkout_deliver: Deliver,
    hooks: type[ShopHooks],
    staff: User,
    afterwards: Callable[[CheckoutUser], None],
    user: dict[str, str],
) -> None:
    """The specification's error object, without the reason; the decision says why."""
    row = customer(checkout_deliver)
    set_block(row, staff)
    afterwards(row)
    calls = list[Any]()

    def approve(user: Any) -> bool:
        calls.append(user)
        return True

    hooks.user = staticmethod(approve)
    question = UserDocumentFactory(**{"external_id": None, "id": None, **user})
    response = checkout_deliver(event="user.validate", user=question)
    assert (response.status_code, calls) == (403, [])
    error = strict_json.loads(response.content)
    assert isinstance(error, dict)
    assert (error["code"], "chargeback" in str(error)) == ("INVALID_USER", False)
    assert ValidationDecision.objects.get().decided_by == "block"


@pytest.mark.spec("USR-01")
def test_another_account_with_the_same_id_at_the_service(
    checkout_deliver: Deliver, hooks: type[ShopHooks], staff: User
) -> None:
    """A new account in the shop does not help."""
    set_block(customer(checkout_deliver), staff)
    hooks.user = staticmethod(lambda user: True)
    question = UserDocumentFactory(**NAMES[3])
    assert checkout_deliver(event="user.validate", user=question).status_code == 403
    assert verdict_of(checkout_deliver, sold(NAMES[3])) == ("review", "blocked")


@STATES
@pytest.mark.parametrize("user", NAMES[:3], ids=["both", "service", "shop"])
def test_a_payment_that_comes_all_the_same(
    checkout_deliver: Deliver, staff: User, afterwards: Callable[[CheckoutUser], None], user: dict[str, str]
) -> None:
    """It waits for staff, whatever it pays for; those of others do not."""
    row = customer(checkout_deliver)
    set_block(row, staff)
    afterwards(row)
    assert verdict_of(checkout_deliver, sold(user)) == ("review", "blocked")
    unbound = {**OrderDocumentFactory(metadata={}), "user": UserDocumentFactory(**BUYER)}
    assert verdict_of(checkout_deliver, unbound) == ("review", "blocked")
    assert verdict_of(checkout_deliver, sold({"external_id": "player-9"})) == ("verified", "")
    other = OutboxMessage.objects.filter(signal="payment_review").values_list("arguments__reason", flat=True)
    assert set(other) == {"blocked"}


def test_a_row_of_the_list(checkout_deliver: Deliver, staff: User) -> None:
    """Judged as a notification is, in a page beside others."""
    set_block(customer(checkout_deliver), staff)
    documents = [sold(BUYER), sold({"external_id": "player-9"})]
    record_listed(documents)
    found = [Order.objects.get(order_id=each["id"]).verdict_reason for each in documents]
    assert found == ["blocked", ""]


def test_what_counted_before_stands(checkout_deliver: Deliver, staff: User) -> None:
    """A later notification about it takes nothing back: goods are revoked by staff alone."""
    document = sold(BUYER)
    assert verdict_of(checkout_deliver, document) == ("verified", "")
    set_block(CheckoutUser.objects.get(), staff)
    assert verdict_of(checkout_deliver, {**document, "receipt_number": "R-1"}) == ("verified", "")
    assert Checkout.objects.get().status == "paid"


def test_the_block_is_lifted(checkout_deliver: Deliver, staff: User) -> None:
    """New payments count; one that is in review stays there until staff accept it, whatever comes about it."""
    row, document = customer(checkout_deliver), sold(BUYER)
    set_block(row, staff)
    assert verdict_of(checkout_deliver, document) == ("review", "blocked")
    assert flows.operations.unblock_customer(row, staff=staff, reason="the bank was wrong")
    assert not flows.operations.unblock_customer(row, staff=staff, reason="again")
    assert verdict_of(checkout_deliver, {**document, "receipt_number": "R-1"}) == ("review", "blocked")
    assert verdict_of(checkout_deliver, sold(BUYER)) == ("verified", "")
    order = Order.objects.get(order_id=document["id"])
    flows.operations.accept_payment(order, staff=staff, reason="the bank was wrong")
    assert verdict_of(checkout_deliver, {**document, "receipt_number": "R-2"}) == ("accepted", "by_staff")
    acts = StaffAct.objects.order_by("pk").values_list("act", "reason", "staff__username", "customer")
    assert list(acts) == [
        ("block", "three chargebacks", "grace", row.pk),
        ("unblock", "the bank was wrong", "grace", row.pk),
        ("accept", "the bank was wrong", "grace", None),
    ]


def test_twice_is_once(checkout_deliver: Deliver, staff: User) -> None:
    """The first author and reason stay."""
    row = customer(checkout_deliver)
    set_block(row, staff)
    assert not flows.operations.block_customer(row, staff=staff, reason="again")
    assert StaffAct.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_no_checkout_is_made(checkout_sandbox: Sandbox, staff: User) -> None:
    """Nothing is stored, and the service is not called; other customers buy."""
    buyer, other = User.objects.create_user("eve"), User.objects.create_user("bob")
    terms: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD", "description": "coins"}
    row = CheckoutUser.objects.create(
        project="default", identity=identity_here(str(buyer.pk)), external_id=str(buyer.pk)
    )
    set_block(row, staff)
    for sell in (flows.create_checkout, flows.create_token):
        with pytest.raises(flows.CustomerBlocked):
            sell(user=buyer, **terms)
    assert not Checkout.objects.exists()
    response = error_response(flows.CustomerBlocked("blocked"), {})
    assert response is not None and response.status_code == 403  # of REST
    assert flows.create_checkout(user=other, **terms).payment_form_url


def test_never_by_itself(checkout_deliver: Deliver, admin_client: Client) -> None:
    """A chargeback blocks nobody; the page of its order offers it then, and only then."""
    document = sold(BUYER)
    checkout_deliver(order=document)
    assert not offered(admin_client)
    checkout_deliver(event="payment.chargeback", order={**document, "status": "chargeback"})
    assert CheckoutUser.objects.get().blocked_at is None
    assert offered(admin_client)


def offered(client: Client) -> bool:
    """Whether the page of the order has the button."""
    return "/block/" in client.get(page_address("order", Order.objects.get())).content.decode()


def test_staff_see_it_and_lift_it(checkout_deliver: Deliver, admin_client: Client) -> None:
    """By the buttons of the customer's page, which then says since when, by whom and why."""
    row = customer(checkout_deliver)
    address = page_address("checkoutuser", row)
    admin_client.post(address.replace("/change/", "/block/"), {"reason": "three chargebacks"})
    page = admin_client.get(address).content.decode()
    assert "by admin: three chargebacks" in page and f"{datetime.now(UTC):%Y}" in page
    assert "/unblock/" in page and "/block/" not in page
    admin_client.post(address.replace("/change/", "/unblock/"), {"reason": "a mistake"})
    page = admin_client.get(address).content.decode()
    assert "three chargebacks" not in page and "/block/" in page
    listed = admin_client.get("/admin/checkout_integration/staffact/").content.decode()
    assert "customer blocked" in listed and "block lifted" in listed


LISTED: Final = "/admin/checkout_integration/checkoutuser/"


@pytest.mark.parametrize("found_by", ["player-7", "service-7"])
def test_a_block_of_an_erased_customer_is_lifted_in_one_place(
    checkout_deliver: Deliver, client: Client, hooks: type[ShopHooks], staff: User, found_by: str
) -> None:
    """Staff find a tombstone by any id that the customer writes to them; to lift its block lifts that of all of theirs."""
    hooks.user = staticmethod(lambda user: True)
    checkout_deliver(order=sold({"id": "service-8", "external_id": "player-8"}))
    for row in (customer(checkout_deliver), CheckoutUser.objects.get(external_id="player-8")):
        set_block(row, staff)
        erase(row)
    assert CheckoutUser.objects.filter(blocked_at__isnull=False).count() == 4
    rights = ("view_checkoutuser", "block_customer", "view_personal_data")
    client.force_login(make_staff(*rights, name="ada"))
    (tombstone,) = client.get(f"{LISTED}?q={found_by}").context["cl"].result_list
    page = client.get(page_address("checkoutuser", tombstone)).content.decode()
    assert "by grace" in page and found_by not in page
    address = page_address("checkoutuser", tombstone).replace("/change/", "/unblock/")
    client.post(address, {"reason": "they paid"})
    act = StaffAct.objects.latest("pk")
    assert (act.act, act.customer, act.counts) == ("unblock", tombstone, {"customers": 2})
    for user in NAMES[:3]:
        assert verdict_of(checkout_deliver, sold(user)) == ("verified", "")
    question = UserDocumentFactory(**{"external_id": None, **NAMES[1]})
    assert checkout_deliver(event="user.validate", user=question).status_code < 300
    assert verdict_of(checkout_deliver, sold({"external_id": "player-8"})) == ("review", "blocked")


def test_an_erased_customer_is_blocked_under_all_of_their_ids(checkout_deliver: Deliver, staff: User) -> None:
    """Also where that is decided after the erasure."""
    erase(customer(checkout_deliver))
    set_block(CheckoutUser.objects.exclude(erased_at=None).latest("pk"), staff)
    for user in NAMES[:3]:
        assert verdict_of(checkout_deliver, sold(user)) == ("review", "blocked")


def test_a_guess_of_an_erased_id_is_not_confirmed(checkout_deliver: Deliver, client: Client) -> None:
    """To those who may not see personal data."""
    erase(customer(checkout_deliver))
    client.force_login(make_staff("view_checkoutuser", name="ada"))
    assert not client.get(f"{LISTED}?q=player-7").context["cl"].result_list


def test_the_page_about_it(checkout_deliver: Deliver, staff: User) -> None:
    """What docs/validation.md shows."""
    row = customer(checkout_deliver)
    names: dict[str, Any] = {}
    exec(block("docs/validation.md", "# shop/blocking.py"), names)
    names["block_after_disputes"](row, staff)
    assert CheckoutUser.objects.get(pk=row.pk).blocked_at
    assert names["forgive"](row, staff)
    assert CheckoutUser.objects.get(pk=row.pk).blocked_at is None
