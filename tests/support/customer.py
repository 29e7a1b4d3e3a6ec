"""One customer with personal data in every possible place, and all notifications about them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.test import Client

from checkout_integration import flows
from checkout_integration.flows.privacy import PrivacyRequest
from checkout_integration.hooks import Refusal
from checkout_integration.models import Checkout, CheckoutUser, Notification, Order, ValidationDecision
from checkout_integration.protocol import strict_json
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.support.flows.shop import ShopHooks, notification

EXTERNAL_ID = "zaphod@canary.example"
SERVICE_ID = "canary-service-id"
NAME = "Zaphod Canaryblossom"
CANARIES = [
    *(EXTERNAL_ID, SERVICE_ID, NAME, "zb@canary.example", "+4915199887766", "203.0.113.177"),
    *(
        "news@canary.example",
        "Canarytown",
        "canary-fingerprint",
        "canary-unheard-of",
        "canary-metadata",
        "canary-note",
    ),
]
PRIVACY_REQUEST = PrivacyRequest(reason="request 4711")
"""Why a customer is exported or erased."""
USER: dict[str, Any] = {
    "id": SERVICE_ID,
    "external_id": EXTERNAL_ID,
    "name": NAME,
    "email": "zb@canary.example",
    "phone": "+4915199887766",
    "ip": "203.0.113.177",
    "address__city": "Canarytown",
    "metadata": {"hobby": "canary-metadata"},
    "notify_new_region_email": "news@canary.example",
}


def user_of_customer() -> dict[str, Any]:
    """The customer as the service describes them."""
    made: dict[str, Any] = UserDocumentFactory(**USER)
    return made


def order_of_customer(order_id: str, **changes: Any) -> dict[str, Any]:
    """An order of the customer, with something of theirs in every place that has room for it."""
    document: dict[str, Any] = OrderDocumentFactory(
        id=order_id,
        user=user_of_customer(),
        transaction=f"tx-{order_id}",
        receipt_phone="+4915199887766",
        billing_address={"city": "Canarytown", "country": "DE"},
        metadata={"buyer": "canary-metadata"},
        method__card__fingerprint="canary-fingerprint",
        method__masked_name=NAME,
        unheard_of="canary-unheard-of",
        **changes,
    )
    if document["refund"]:
        document["refund"]["reason"] = f"{NAME} asked for it: canary-note"
    return document


def story() -> list[dict[str, Any]]:
    """Notifications of one customer: paid, refunded, charged back, tested, refused, and unknown events."""
    at = datetime.now(UTC) - timedelta(hours=2)
    future = datetime.now(UTC) + timedelta(days=9)
    stranger = order_of_customer("order-nameless")
    del stranger["user"]["external_id"]
    return [
        notification(order=order_of_customer("order-1"), at=at),
        notification(
            "payment.refund", order_of_customer("order-1", status="refunded"), at=at + timedelta(hours=1)
        ),
        notification(order=order_of_customer("order-2"), at=at),
        notification("payment.chargeback", order_of_customer("order-2", status="chargeback"), at=at),
        notification("payment.dispute", order_of_customer("order-2")),
        notification(order=order_of_customer("order-2"), at=future, id="from-the-future"),
        notification(order=order_of_customer("order-test", testing_case="refund"), at=at),
        notification(order=stranger, at=at),
    ]


def unreadable(delivery_try: int) -> bytes:
    """A signed body that our limits refuse, another one with each attempt: a name stands in it twice."""
    body = strict_json.dumps(
        notification(order=order_of_customer("order-unreadable"), delivery_try=delivery_try)
    )
    return body.replace('"type"', '"event"', 1).encode()


def live(deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """Deliver all of it: notifications, a refused user.validate, and notes of staff."""
    hooks.user = staticmethod(lambda user: Refusal("BANNED", f"{NAME} may not: canary-note"))
    staff = User.objects.create_user("grace", is_staff=True)
    for each in story():
        assert deliver(each).status_code == 200
    assert deliver(unreadable(0)).status_code == 200
    assert deliver(event="user.validate", user=user_of_customer()).status_code == 403
    order = Order.objects.get(order_id="order-nameless")
    flows.operations.accept_payment(order, staff=staff, reason=f"{NAME} phoned: canary-note")


def again(deliver: Deliver) -> None:
    """Deliver everything again as later attempts, and user.validate too."""
    for each in story():
        assert deliver({**each, "delivery_try": 3}).status_code == 200
    assert deliver(unreadable(3)).status_code == 200
    for delivery_try in (1, 2):
        assert (
            deliver(event="user.validate", user=user_of_customer(), delivery_try=delivery_try).status_code
            == 403
        )


def shown(client: Client) -> list[str]:
    """The canaries on any page of the admin, seen with every permission."""
    models_shown: list[type[models.Model]] = [Order, CheckoutUser, Checkout, Notification, ValidationDecision]
    addresses = ["/admin/"]
    for model in models_shown:
        name = f"/admin/checkout_integration/{model._meta.model_name}/"
        addresses += [name, *(f"{name}{row.pk}/change/" for row in model._default_manager.all())]
    pages = [client.get(address).content.decode() for address in addresses]
    return [word for page in pages for word in CANARIES if word in page]
