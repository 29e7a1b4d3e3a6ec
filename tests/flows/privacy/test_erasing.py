"""An erased customer does not come back, whatever is sent or read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.flows.ledger import deciding
from checkout_integration.flows.privacy import erasing
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Notification,
    Order,
    OutboxMessage,
    PersonalData,
    StaffAct,
    Transition,
    ValidationDecision,
)
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.creation import Customer, CustomerAddress
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.support.customer import (
    CANARIES,
    EXTERNAL_ID,
    NAME,
    PRIVACY_REQUEST,
    SERVICE_ID,
    again,
    live,
    order_of_customer,
    shown,
    user_of_customer,
)
from tests.support.flows.shop import ShopHooks, notification
from tests.support.tables import cells, columns_with

pytestmark = pytest.mark.django_db
BOOKS = ("order_id", "status", "verdict", "amount", "currency", "created_at", "refund_amount", "transaction")


def books() -> list[tuple[Any, ...]]:
    """Return the accounting data of every order."""
    return list(Order.objects.order_by("order_id").values_list(*BOOKS))


def unrecorded(found: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Return the cells of all tables but that of the acts themselves."""
    return [cell for cell in found if "staffact" not in cell[0] and "sqlite_sequence" not in cell[0]]


def erase(**whom: str) -> flows.privacy.Erasure:
    """Erase the one customer that is meant."""
    (person,) = flows.privacy.find_persons(**whom)  # type: ignore[arg-type]
    return flows.privacy.erase_customer(person, PRIVACY_REQUEST)


@pytest.fixture
def customer(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> Deliver:
    """Let a customer have bought here; the fixture's value delivers more."""
    live(checkout_deliver, hooks)
    return checkout_deliver


WAYS: list[Mapping[str, str]] = [
    {"external_id": EXTERNAL_ID},
    {"user_id": SERVICE_ID},
    {"email": "ZB@canary.example"},
    {"email": "news@canary.example"},
    {"order_id": "order-1"},
    {"external_id": EXTERNAL_ID, "project": "default"},
]


@pytest.mark.parametrize("whom", WAYS, ids=[" ".join(way) for way in WAYS])
def test_nothing_of_an_erased_customer_is_left(customer: Deliver, whom: Mapping[str, str]) -> None:
    """No cell of any table contains it; accounting data is unchanged, and the counts are returned."""
    before = books()
    personal = ("notification.body", "personaldata.document", "checkoutuser.validated")
    assert {f"checkout_integration_{name}" for name in personal} <= columns_with(CANARIES)
    erasure = erase(**whom)
    assert columns_with(CANARIES) == set()
    assert books() == before
    assert (erasure.orders, erasure.notifications, erasure.decisions) == (3, 10, 1)


def test_an_erased_customer_does_not_come_back(customer: Deliver) -> None:
    """Neither by later attempts nor by user.validate; amounts and statuses of orders are unchanged."""
    erase(external_id=EXTERNAL_ID)
    before, rows = books(), Notification.objects.count()
    about_orders = OutboxMessage.objects.exclude(order=None)
    transitions, announced = Transition.objects.count(), about_orders.count()
    again(customer)
    assert columns_with(CANARIES) == set()
    assert books() == before
    # Each attempt has bytes of its own, hence a row of its own, without them.
    assert (Notification.objects.count(), Transition.objects.count()) == (2 * rows + 1, transitions)
    assert about_orders.count() == announced
    attempts = Notification.objects.filter(object_id="order-1").values_list("delivery_try", "state")
    assert {attempt for attempt, state in attempts if state == "applied"} >= {3}


LATER: dict[str, tuple[str, dict[str, Any], str]] = {
    "success": ("payment.success", {}, "both"),
    "known by the shop's id": ("payment.success", {}, "external_id"),
    "known by the service's id": ("payment.success", {}, "id"),
    "refund": ("payment.refund", {"status": "refunded"}, "both"),
    "unknown event": ("payment.dispute", {}, "both"),
    "test": ("payment.success", {"testing_case": "refund"}, "both"),
    "test of a user": ("payment.success", {"testing_case": "existing_user"}, "id"),
}


@pytest.mark.parametrize(("event", "changes", "identity"), LATER.values(), ids=LATER)
def test_orders_that_come_later_are_stored_without_the_customer(
    customer: Deliver, event: str, changes: dict[str, Any], identity: str
) -> None:
    """A tombstone matches either id of the customer; the order itself is stored, and counts."""
    erase(external_id=EXTERNAL_ID)
    order = order_of_customer("order-later", **changes)
    order["user"] = {k: v for k, v in order["user"].items() if identity in ("both", k) or "id" not in k}
    customer(notification(event, order))
    assert columns_with(CANARIES) == set()
    if not changes.get("testing_case") and event != "payment.dispute":
        later = Order.objects.get(order_id="order-later")
        assert later.amount == Decimal("9.99")
        assert later.user is not None and later.user.erased_at
        assert later.personal_data.erased_at


def test_an_order_that_turns_out_to_be_theirs_is_erased_then(customer: Deliver) -> None:
    """The first notification has a name but no ids; a later one identifies the customer."""
    erase(external_id=EXTERNAL_ID)
    nameless = order_of_customer("order-nobody")
    nameless["user"] = {"name": NAME}
    customer(notification(order=nameless))
    assert columns_with([NAME])
    customer(notification("payment.refund", order_of_customer("order-nobody", status="refunded")))
    assert columns_with(CANARIES) == set()


def test_other_customers_stay(customer: Deliver) -> None:
    """Their data, their bodies, their ids; also where they share the service's id with the erased one."""
    other = UserDocumentFactory(external_id="arthur", id=SERVICE_ID, email="arthur@earth.example")
    customer(notification(order=OrderDocumentFactory(id="order-arthur", user=other)))
    erase(external_id=EXTERNAL_ID)
    order = Order.objects.get(order_id="order-arthur")
    assert (order.user and order.user.external_id, order.receipt_email) == ("arthur", "arthur@earth.example")
    assert Notification.objects.get(object_id="order-arthur").body
    assert PersonalData.objects.get(order=order).erased_at is None


def test_the_customer_of_another_project_stays(checkout_deliver: Deliver, settings: Any) -> None:
    """Projects are apart."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    projects = {"default": own, "second": own | {"SECRET_KEY": "sandbox_second_secret"}}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    for project in projects:
        checkout_deliver(notification(order=order_of_customer("order-1")), project=project)
    assert len(flows.privacy.find_persons(external_id=EXTERNAL_ID)) == 2
    erase(external_id=EXTERNAL_ID, project="second")
    assert [order.receipt_email or "" for order in Order.objects.order_by("project")] == [
        "zb@canary.example",
        "",
    ]


def test_erasing_again_changes_nothing(customer: Deliver) -> None:
    """It may be interrupted and repeated; the time of the first one stands."""
    erase(external_id=EXTERNAL_ID)
    before = sorted(unrecorded(cells()))
    erase(external_id=EXTERNAL_ID)
    assert sorted(unrecorded(cells())) == before
    erasures = StaffAct.objects.filter(act="erase").order_by("pk")
    assert list(erasures.values_list("reason", flat=True)) == ["", "request 4711"]


def test_a_new_key_of_django_needs_the_old_one_beside_it(customer: Deliver, settings: Any) -> None:
    """The hash is keyed: with the old key among the fallbacks the tombstone still matches."""
    erase(external_id=EXTERNAL_ID)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"
    customer(notification(order=order_of_customer("order-later")))
    assert columns_with(CANARIES) == set()


def test_a_tombstone_does_not_tell_whose_it_is(customer: Deliver, settings: Any) -> None:
    """Without the key ids cannot be guessed: another key gives another hash."""
    identity = CheckoutUser.objects.get(external_id=EXTERNAL_ID).identity
    erase(external_id=EXTERNAL_ID)
    assert not CheckoutUser.objects.filter(identity=identity).exists()
    settings.SECRET_KEY = "another"
    assert flows.privacy.find_persons(external_id=EXTERNAL_ID) == []


def test_who_was_only_validated_can_be_erased(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """user.validate, and never an order."""
    checkout_deliver(event="user.validate", user=user_of_customer())
    erase(external_id=EXTERNAL_ID)
    checkout_deliver(event="user.validate", user=user_of_customer(), delivery_try=2)
    another = notification("user.validate", user_of_customer(), id="asked-anew")
    assert checkout_deliver(another).status_code == 403
    assert columns_with(CANARIES) == set()
    assert ValidationDecision.objects.count() == 3


def test_approved_customer_is_erased_and_does_not_come_back(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """Neither by the same request, which gets its recorded response, nor by another one: a tombstone wins."""
    hooks.user = staticmethod(lambda user: True)
    question = notification("user.validate", user_of_customer())
    assert checkout_deliver(question).status_code == 200
    erase(external_id=EXTERNAL_ID)
    for each in (question, {**question, "id": "another"}):
        assert checkout_deliver(each).status_code == 200
        assert columns_with(CANARIES) == set()
    assert (CheckoutUser.objects.exclude(erased_at=None).count(), ValidationDecision.objects.count()) == (
        2,
        2,
    )


def test_events_that_nobody_knows_are_erased_too(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """They have no order, but name the customer."""
    checkout_deliver(event="user.validate", user=user_of_customer())
    checkout_deliver(
        notification("subscription.created", {"id": "subscription-1", "user": user_of_customer()})
    )
    erase(external_id=EXTERNAL_ID)
    assert columns_with(CANARIES) == set()


def test_what_comes_while_they_are_erased_is_erased_too(
    customer: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown event has no row that could be locked: such bodies are searched at the end."""
    leave = erasing._leave_tombstones

    def leave_later(*arguments: Any) -> Any:
        customer(notification("subscription.created", {"id": "subscription-1", "user": user_of_customer()}))
        return leave(*arguments)

    monkeypatch.setattr(erasing, "_leave_tombstones", leave_later)
    erase(external_id=EXTERNAL_ID)
    assert Notification.objects.filter(object_id="subscription-1").exists()
    assert columns_with(CANARIES) == set()


@pytest.mark.parametrize(
    ("external_id", "written"),
    [("tom&jerry", "tom\\u0026Jerry"), ("a/b", "A\\/b"), ("\U0001f600", "\\ud83d\\ude00"), ("Ä", "ä")],
)
def test_unread_bodies_are_searched_however_they_are_written(
    checkout_deliver: Deliver, external_id: str, written: str
) -> None:
    """Senders escape letters as they like; the signed bytes are the sent bytes."""
    user = UserDocumentFactory(external_id=external_id, id="")
    checkout_deliver(event="user.validate", user=user)
    test = notification(
        order=OrderDocumentFactory(testing_case="refund", user={**user, "external_id": "HERE"})
    )
    assert checkout_deliver(strict_json.dumps(test).replace("HERE", written).encode()).status_code == 200
    erase(external_id=external_id)
    assert [row.body for row in Notification.objects.all()] == [None, None]


def test_nobody_is_found_who_is_not_here(customer: Deliver) -> None:
    """An empty result, not all customers."""
    assert flows.privacy.find_persons(external_id="nobody") == []
    assert flows.privacy.find_persons(email="nobody@canary.example") == []
    assert flows.privacy.find_persons() == []


def test_what_fails_keeps_no_body_either(customer: Deliver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our own rules fail on a notification of an erased customer, only its row stays."""
    erase(external_id=EXTERNAL_ID)

    def fail(*_: object) -> None:
        raise ValueError("our rules")

    with monkeypatch.context() as patch:
        patch.setattr(deciding, "judge", fail)
        customer(notification(order=order_of_customer("order-later")))
    assert Notification.objects.get(object_id="order-later").state == "failed"
    assert columns_with(CANARIES) == set()


@pytest.mark.django_db(transaction=True)
def test_the_sync_brings_nobody_back(
    checkout_sandbox: Sandbox, live_server: LiveServer, admin_client: Client, hooks: type[ShopHooks]
) -> None:
    """Sold, paid and refunded in the sandbox, erased; sent and read again it is the same order, without the customer."""
    account = User.objects.create_user("zb")
    customer = Customer(
        external_id=EXTERNAL_ID,
        name=NAME,
        email="zb@canary.example",
        phone="+4915199887766",
        ip="203.0.113.177",
        address=CustomerAddress(city="Canarytown", country="DE"),
    )
    checkout = flows.create_checkout(
        amount=Decimal("9.99"),
        currency="USD",
        user=account,
        customer=customer,
        metadata={"buyer": "canary-metadata"},
    )
    checkout_sandbox.payments.pay(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    checkout_sandbox.payments.refund(checkout.order_id, reason="canary-note")
    assert checkout_sandbox.wait_idle()
    assert flows.sync.sync_transactions("default", "all").state == "complete"
    assert columns_with(CANARIES)
    before = books()
    erase(external_id=EXTERNAL_ID)
    assert columns_with(CANARIES) == set()
    checkout_sandbox.payments.resend(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.inbox.apply_due()
    for lane in ("recent", "all"):
        assert flows.sync.sync_transactions("default", lane).state == "complete"
    assert flows.refresh_order(Order.objects.get())
    flows.run_due()
    assert columns_with(CANARIES) == set()
    assert books() == before
    assert Checkout.objects.get(pk=checkout.pk).status == "reversed"
    assert Order.objects.for_user(account).exists()
    assert shown(admin_client) == []
