"""The one writer of orders: its rows, the place of personal data, and the refusal of other writers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import (
    CheckoutUser,
    Incident,
    Notification,
    Order,
    OrderItem,
    PersonalData,
    Refund,
    Transition,
)
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import ListedOrderDocumentFactory, OrderDocumentFactory
from tests.support.flows.shop import ShopHooks, notification, record_listed

pytestmark = pytest.mark.django_db

CANARY = "canary"


def personal_order() -> dict[str, Any]:
    """An order with the canary in every personal field."""
    made: dict[str, Any] = OrderDocumentFactory(
        receipt_email=f"{CANARY}-1@example.com",
        receipt_phone=f"{CANARY}-2",
        notify_sale_email=f"{CANARY}-3@example.com",
        billing_address={"country": "US", "state": f"{CANARY}-4", "zip": f"{CANARY}-5"},
        issuer={"url": f"https://{CANARY}-6.example.com", "embedded": False},
        method={
            "type": "bank_card",
            "card": {
                "first6": "424242",
                "last4": "4242",
                "masked": f"{CANARY}-7",
                "expiry_month": "12",
                "fingerprint": f"{CANARY}-8",
                "brand": "VISA",
            },
            "wallet": {"brand": "PayMe", "account": f"{CANARY}-9"},
            "crypto_currency": {"brand": "BTC", "address": f"{CANARY}-10"},
            "params": {"holder": f"{CANARY}-11"},
        },
        user={
            "id": "u-1",
            "external_id": "player-1",
            "name": f"{CANARY}-12",
            "email": f"{CANARY}-13@example.com",
            "phone": f"{CANARY}-14",
            "ip": f"{CANARY}-15",
            "locale": f"{CANARY}-16",
            "address": {"city": f"{CANARY}-17"},
            "metadata": {"nick": f"{CANARY}-18"},
            "notify_new_region_email": f"{CANARY}-19@example.com",
            "unknown": f"{CANARY}-20",
        },
    )
    return {**made, "unknown_extra": {"text": f"{CANARY}-21"}}


def columns_with_canary() -> set[str]:
    """Names of all columns of the app in which the canary is found."""
    found = set()
    for model in apps.get_app_config("checkout_integration").get_models():
        for row in model._base_manager.all():
            for field in model._meta.concrete_fields:
                value = getattr(row, field.attname)
                text = bytes(value).decode() if isinstance(value, bytes) else repr(value)
                if CANARY in text:
                    found.add(f"{model.__name__}.{field.name}")
    return found


def test_personal_data_is_in_one_place(checkout_deliver: Deliver, caplog: pytest.LogCaptureFixture) -> None:
    """In the row that one command erases, and in the bytes of the notifications; nowhere else, logs included."""
    checkout_deliver(order=personal_order())
    assert columns_with_canary() == {
        "PersonalData.document",
        "PersonalData.email",
        "Notification.body",
    }
    assert CANARY not in caplog.text


@pytest.mark.spec("ORD-24", "USR-05", "MTH-07")
def test_order_tells_the_whole_document(checkout_deliver: Deliver) -> None:
    """Split in two tables, read as one: personal attributes too."""
    document = personal_order()
    checkout_deliver(order=document)
    order = Order.objects.get()
    user = CheckoutUser.objects.get()
    assert order.receipt_email == f"{CANARY}-1@example.com"
    assert (user.name, user.ip, order.user) == (f"{CANARY}-12", f"{CANARY}-15", user)
    assert order.whole_document["unknown_extra"] == {"text": f"{CANARY}-21"}
    assert order.whole_document["method"]["card"]["masked"] == "424242******4242"


def test_erased_data_does_not_come_back(checkout_deliver: Deliver) -> None:
    """A tombstone wins over every later observation."""
    document = personal_order()
    checkout_deliver(order=document)
    PersonalData.objects.update(document={}, email="", last4="", erased_at=timezone.now())
    Notification.objects.update(body=None)
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    Notification.objects.update(body=None)
    record_listed([document])
    assert Order.objects.get().status == "refunded"
    assert columns_with_canary() == set()
    assert Order.objects.get().receipt_email is None


@pytest.mark.spec("ORD-30")
def test_items_are_rewritten(checkout_deliver: Deliver) -> None:
    """The rows are those of the latest document, no more and no fewer."""
    first = OrderDocumentFactory(type="product", products=["sword", "shield"])
    checkout_deliver(order=first)
    assert list(OrderItem.objects.values_list("position", "item_id")) == [(0, "sword"), (1, "shield")]
    items = [{**first["items"][1], "sku": "SH-1"}]
    checkout_deliver(notification(order={**first, "items": items}), delivery_try=1)
    assert list(OrderItem.objects.values_list("position", "item_id", "sku")) == [(0, "shield", "SH-1")]
    assert Order.objects.get().product == items[0]["name"]


@pytest.mark.spec("ITM-03", "ORD-05")
@pytest.mark.parametrize(
    ("document", "sold", "product"),
    [
        ({"items": [{"name": "Tin raven"}, {"name": "Feather"}]}, {"description": "Toys"}, "Tin raven"),
        ({"items": [{"sku": "raven-1"}]}, {"description": "Toys"}, "Toys"),
        (
            {"items": [{"sku": "raven"}]},
            {"description": "", "products": ["raven", "feather"]},
            "raven, feather",
        ),
        ({"description": "A toy"}, None, "A toy"),
        ({"description": None}, None, ""),
        ({"description": "x" * 300}, None, "x" * 255),
    ],
)
def test_the_product_of_an_order(document: dict[str, Any], sold: dict[str, Any] | None, product: str) -> None:
    """By the first item, else by the shop, else by the service."""
    checkout = CheckoutFactory(**sold) if sold else None
    assert OrderFactory(checkout=checkout, **document).product == product


@pytest.mark.spec("STA-04")
@pytest.mark.parametrize("way", ["notification", "list"])
@pytest.mark.parametrize(
    ("code", "reason"), [("01", "Canceled by the customer"), ("20", "The seller did not approve")]
)
def test_a_customer_cancels(checkout_deliver: Deliver, way: str, code: str, reason: str) -> None:
    """The order is canceled and says so, with the code of the reason and the reason."""
    order: Any = OrderFactory(checkout=CheckoutFactory(), status="created")
    assert (order.status, order.canceled, order.cancellation) == ("created", False, None)
    document = {**order.whole_document, "status": "canceled", "canceled": True}
    document |= {"cancellation": {"code": code, "reason": reason}}
    if way == "list":
        record_listed([document])
    else:
        checkout_deliver(notification("payment.cancel", document))
    order = Order.objects.get()
    assert (order.status, order.canceled) == ("canceled", True)
    assert (order.cancellation.code, order.cancellation.reason) == (code, reason)


@pytest.mark.spec("RFD-01", "RFD-02", "RFD-03", "RFD-05", "RFD-04")
def test_refund_is_a_row(checkout_deliver: Deliver) -> None:
    """One per order, however often it is reported."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    document = order_document_for(
        checkout,
        status="refunded",
        refund__reason="Wrong game",
        refund__code="R-1",
        refund__receipt_number="REFUND-1",
    )
    for attempt in range(2):
        checkout_deliver(notification("payment.refund", document), delivery_try=attempt)
    refund = Refund.objects.get()
    assert (refund.order.order_id if refund.order else "", refund.status) == (document["id"], "refunded")
    assert (refund.amount, refund.currency, refund.reason) == (Decimal("9.99"), "USD", "Wrong game")
    assert (refund.code, refund.receipt_number) == ("R-1", "REFUND-1")
    assert refund.refunded_at is not None


@pytest.mark.spec("STA-03")
def test_transitions_tell_the_cause(checkout_deliver: Deliver) -> None:
    """From, to, and which notification or which staff member moved it."""
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout, amount=Decimal("0.01")))
    staff = User.objects.create_user("staff")
    flows.operations.accept_payment(Order.objects.get(), staff=staff, reason="Paid the rest in cash")
    record_listed([order_document_for(checkout, status="refunded", amount=Decimal("0.01"))])
    transitions = [
        (each.from_status, each.to_status, each.source, bool(each.notification), each.staff, each.reason)
        for each in Transition.objects.all()
    ]
    assert transitions == [
        ("", "processed", "notification", True, None, ""),
        ("processed", "processed", "staff", False, staff, "Paid the rest in cash"),
        ("processed", "refunded", "list", False, None, ""),
    ]


@pytest.mark.parametrize("fields", [None, ["status"], ["document", "country"], ["checkout"]])
def test_stale_instance_cannot_overwrite_state(fields: list[str] | None) -> None:
    """A request reads the row, the notification commits, the request saves its old row."""
    order = OrderFactory(status="created")
    stale = Order.objects.get()
    stale.status = "canceled"
    with pytest.raises(TypeError, match=r"flows"):
        stale.save(update_fields=fields)
    assert Order.objects.get().status == order.status


def test_own_columns_can_be_saved() -> None:
    """Columns without state may be saved by the shop."""
    OrderFactory()
    order = Order.objects.get()
    order.country = "FR"
    order.save(update_fields=["country"])
    assert Order.objects.get().country == "FR"


def test_absent_is_no_statement(checkout_deliver: Deliver) -> None:
    """Neither a missing key nor null or "" erases an earlier value."""
    document = OrderDocumentFactory(receipt_url="https://service.example.com/receipt")
    checkout_deliver(order=document)
    later = {**document, "receipt_url": "", "method": None}
    del later["country"]
    checkout_deliver(notification(order=later), delivery_try=1)
    order = Order.objects.get()
    assert (order.receipt_url, order.country) == (document["receipt_url"], document["country"])
    assert order.method is not None


@pytest.mark.spec("USR-03")
def test_customer_is_found_by_the_shops_own_id(checkout_deliver: Deliver) -> None:
    """Two orders of one external_id have one customer, with any id of the service; "" is no id."""
    for user in (
        {"id": "a", "external_id": "player-1"},
        {"id": "b", "external_id": "player-1"},
        {"id": "c", "external_id": ""},
        {"id": "c"},
        {"id": ""},
    ):
        checkout_deliver(order={**OrderDocumentFactory(), "user": user})
    assert CheckoutUser.objects.count() == 2
    assert Order.objects.filter(user=None).count() == 1


def test_account_is_found_by_the_hook(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """A new customer gets the shop's account."""
    account = User.objects.create_user("ada")
    hooks.find = staticmethod(lambda user: account if user.external_id == "ada-7" else None)
    checkout_deliver(order=OrderDocumentFactory(user__external_id="ada-7"))
    assert CheckoutUser.objects.get().account == account


@pytest.mark.parametrize(
    ("events", "status", "kinds"),
    [
        (["payment.success", "payment.cancel"], "canceled", {"review:paid_and_canceled"}),
        (["payment.refund", "payment.chargeback"], "chargeback", {"review:double_loss"}),
        (["payment.chargeback", "payment.refund"], "refunded", {"review:double_loss"}),
    ],
)
def test_contradictions_are_incidents(
    checkout_deliver: Deliver, events: list[str], status: str, kinds: set[str]
) -> None:
    """The later one is shown, both are stored, and staff get an incident."""
    begun = datetime.now(UTC) - timedelta(hours=1)
    order = {**OrderDocumentFactory(), "status": "created"}
    for hour, event in enumerate(events):
        checkout_deliver(notification(event, order, at=begun + timedelta(minutes=20 * hour)))
    assert Order.objects.get().status == status
    assert kinds <= set(Incident.objects.values_list("kind", flat=True))


@pytest.mark.parametrize("again", [False, True])
def test_rows_do_not_depend_on_the_order_of_arrival(checkout_orderings: Any, again: bool) -> None:
    """Six messages in many orders, some twice: one end."""
    checkout = CheckoutFactory()
    begun = datetime.now(UTC) - timedelta(days=1)
    paid = order_document_for(checkout)
    retried = {**paid, "receipt_url": "https://service.example.com/later"}
    refunded = order_document_for(checkout, status="refunded", transaction=paid["transaction"])
    documents = [
        notification(order=paid, at=begun),
        notification(order=retried, at=begun + timedelta(minutes=30)) | {"delivery_try": 3},
        notification("payment.cancel", paid | {"status": "rejected"}, at=begun - timedelta(minutes=5)),
        notification("payment.refund", refunded, at=begun + timedelta(hours=3)),
        notification(
            "payment.chargeback", refunded | {"status": "chargeback"}, at=begun + timedelta(hours=4)
        ),
    ]
    if again:
        documents = documents + documents[:2]

    def outcome() -> str:
        order = Order.objects.get()
        state = [order.status, order.facts, order.stamps, sorted(order.conflicts), order.whole_document]
        return json.dumps(state, sort_keys=True, default=str)

    assert len(set(checkout_orderings(documents, outcome, limit=12).values())) == 1


@pytest.mark.spec("ORD-48", "USR-01")
def test_listed_row_without_user_id_keeps_it(checkout_deliver: Deliver) -> None:
    """The list's user has no id: the customer stays the same (ORD-48)."""
    document = {**OrderDocumentFactory(), "user": {"id": "u-7", "external_id": ""}}
    checkout_deliver(order=document)
    listed = {**ListedOrderDocumentFactory(id=document["id"]), "user": {"external_id": "", "name": "Ada"}}
    record_listed([listed])
    order = Order.objects.get()
    assert order.user is not None and order.user.user_id == "u-7"
