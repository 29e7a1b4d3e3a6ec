"""Rows as the ledger leaves them: a paid order with all that belongs to it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import Permission, User

from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Grant,
    Incident,
    Installation,
    Notification,
    Order,
    OrderItem,
    OutboxMessage,
    PersonalData,
    ReceiverRun,
    Refund,
    SyncRun,
    Transition,
    ValidationDecision,
)
from checkout_integration.policy import personal
from checkout_integration.policy.product import product_of
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.order import ORDER

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
_numbers = itertools.count(1)


def next_number() -> int:
    """A number that no other row of this run has."""
    return next(_numbers)


DOCUMENT: dict[str, Any] = {
    "object": "order",
    "transaction": "tx-0001",
    "status": "processed",
    "description": "500 gems",
    "created_at": "2026-03-04T12:00:00Z",
    "amount": Decimal("9.99"),
    "currency": "USD",
    "type": "simple",
    "is_production": False,
    "country": "DE",
    "receipt_number": "R-0001",
    "receipt_url": "https://service.example/receipts/R-0001",
    "receipt_email": "ada@buyers.example",
    "user": {
        "id": "service-user-1",
        "external_id": "player-1",
        "name": "Ada Lovelace",
        "email": "ada@buyers.example",
        "phone": "+4915112345678",
        "ip": "203.0.113.7",
        "address": {"country": "DE", "city": "Berlin"},
    },
    "billing_address": {"country": "DE", "zip": "10115"},
    "method": {
        "title": "Bank card",
        "type": "BANK_CARD",
        "card": {"first6": "411111", "last4": "4242", "brand": "VISA", "expiry_month": "09"},
    },
    "tax": {"type": "VAT", "rate": Decimal("0.19"), "amount": Decimal("1.60"), "currency": "USD"},
    "metadata": {"checkout_reference": "…"},
}
PERSONAL_TEXTS = (
    "ada@buyers.example",
    "Ada Lovelace",
    "+4915112345678",
    "203.0.113.7",
    "4242",
    "10115",
    "Berlin",
)


def make_order(order_id: str = "", *, document: dict[str, Any] | None = None, **columns: Any) -> Order:
    """A paid order with its document in two parts; columns and document can be given."""
    number = next(_numbers)
    order_id = order_id or f"order-{number:04}"
    public, private = personal.split({**DOCUMENT, "id": order_id, **(document or {})})
    given = {
        "project": "default",
        "status": "processed",
        "verdict": "verified",
        "live": False,
        "is_production": False,
        "created_at": NOON,
        "amount": Decimal("9.99"),
        "currency": "USD",
        "charge_amount": Decimal("9.20"),
        "charge_currency": "EUR",
        "net_revenue_amount": Decimal("8.10"),
        "net_revenue_currency": "EUR",
        "fee_amount": Decimal("1.10"),
        "fee_currency": "EUR",
        "transaction": f"tx-{number:04}",
        "receipt_number": f"R-{number:04}",
    }
    values = {**given, **columns}
    values.setdefault("facts", _facts(str(values["status"])))
    sold = values.get("checkout")
    words = (sold.description, sold.products) if sold else ()
    values.setdefault("product", product_of(ORDER({**DOCUMENT, **(document or {})}), *words))
    order = Order.objects.create(order_id=order_id, document=public, **values)
    PersonalData.objects.create(order=order, document=private, email="ada@buyers.example", last4="4242")
    return order


def add_item(order: Order, **columns: Any) -> OrderItem:
    """Add an item after the others; the first one that has a name names the product."""
    item = OrderItem.objects.create(order=order, position=order.items.count(), **columns)
    if item.name and not item.position:
        order.product = item.name
        order.save(update_fields=["product"])
    return item


def _facts(status: str) -> dict[str, Any]:
    """The facts of an order with this status; a reversed order has its success too."""
    known = {"processed", status} if status in {"refunded", "chargeback"} else {status}
    return {"slots": {f"{each}/notification": {} for each in sorted(known)}}


def make_customer(external_id: str = "player-1") -> CheckoutUser:
    """A customer."""
    return CheckoutUser.objects.create(
        project="default", identity=f"e:{external_id}", external_id=external_id
    )


def make_checkout(**columns: Any) -> Checkout:
    """An open checkout of 9.99 USD."""
    given = {
        "project": "default",
        "type": "simple",
        "expected_amount": "9.99",
        "currency": "USD",
        "status": "open",
    }
    return Checkout.objects.create(**{**given, **columns})


def make_notification(object_id: str, event: str = "payment.success", **columns: Any) -> Notification:
    """An applied notification about an object."""
    number = next(_numbers)
    given = {
        "key": f"{number:032}",
        "state": "applied",
        "project": "default",
        "notification_id": f"notification-{number:04}",
        "created_at": NOON,
        "received_at": NOON + timedelta(seconds=4),
        "last_received_at": NOON + timedelta(seconds=4),
        "body": b'{"event": "%s", "object": {"user": {"email": "ada@buyers.example"}}}' % event.encode(),
    }
    return Notification.objects.create(object_id=object_id, event=event, **{**given, **columns})


def make_waiting_notification(state: str = "failed") -> Notification:
    """A payment of 9.99 USD that is stored, and not applied."""
    Installation.objects.get_or_create(project="default", defaults={"installed_at": NOON - timedelta(days=1)})
    order_id = f"order-{next_number():04}"
    envelope = {
        "id": f"notification-of-{order_id}",
        "type": "notification",
        "event": "payment.success",
        "live": False,
        "created_at": "2026-03-04T12:00:00Z",
        "delivery_try": 0,
        "expires_at": "",
        "object": {**DOCUMENT, "id": order_id},
    }
    body = strict_json.dumps(envelope).encode()
    return make_notification(order_id, state=state, failure="KeyError in check (shop/hooks.py:12)", body=body)


def make_run(order: Order, signal: str = "checkout_paid", **columns: Any) -> ReceiverRun:
    """A signal about an order, delivered to one receiver."""
    message = OutboxMessage.objects.create(
        idempotency_key=f"{next(_numbers):032}",
        signal=signal,
        project=order.project,
        order=order,
        checkout=order.checkout,
        state="sent",
        arguments={"source": "notification"},
    )
    given = {
        "receiver": "shop.receivers.grant",
        "state": "done",
        "attempts": 1,
        "due_at": NOON,
        "finished_at": NOON,
    }
    return ReceiverRun.objects.create(message=message, line=message.line, **{**given, **columns})


def make_granting_run(order: Order, **columns: Any) -> ReceiverRun:
    """A run of checkout_paid whose grant is open: given up, unless the columns say otherwise."""
    run = make_run(
        order, **{"state": "failed", "attempts": 10, "error": "OSError", "finished_at": None, **columns}
    )
    grant = Grant.objects.create(
        key=f"{next(_numbers):032}", project=order.project, order=order, checkout=order.checkout
    )
    OutboxMessage.objects.filter(pk=run.message_id).update(grant=grant)
    return ReceiverRun.objects.get(pk=run.pk)


def make_history(order: Order) -> None:
    """One row of each kind that an order's timeline shows."""
    notification = make_notification(order.order_id)
    Transition.objects.create(
        order=order,
        from_status="created",
        to_status="processed",
        source="notification",
        notification=notification,
    )
    make_run(order)
    add_item(order, name="Game", sku="game-1", code="CODE-1234-ABCD")
    make_incident(order)


def make_incident(order: Order | None, kind: str = "unknown_event") -> Incident:
    """An open incident."""
    return Incident.objects.create(
        key=f"{next(_numbers):032}", kind=kind, project="default", order=order, detail="seen"
    )


def make_refund(order: Order | None, **columns: Any) -> Refund:
    """A refund, of an order or waiting for one."""
    given = {
        "key": f"{next(_numbers):032}",
        "project": "default",
        "amount": "9.20",
        "currency": "EUR",
        "refunded_at": NOON,
    }
    return Refund.objects.create(order=order, **{**given, **columns})


def make_decision(**columns: Any) -> ValidationDecision:
    """An approved user.validate."""
    given = {
        "request_hash": f"request-{next_number()}",
        "project": "default",
        "external_id": "player-1",
        "approved": True,
        "latency": 0.012,
        "decided_at": NOON,
    }
    return ValidationDecision.objects.create(**{**given, **columns})


def make_sync_run(**columns: Any) -> SyncRun:
    """A complete pass."""
    given = {"project": "default", "lane": "recent", "state": "complete", "started_at": NOON}
    return SyncRun.objects.create(**{**given, **columns})


def make_staff(*codenames: str, name: str = "staff") -> User:
    """A member of staff with these permissions of the app and no others."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="checkout_integration", codename__in=codenames)
    )
    return user
