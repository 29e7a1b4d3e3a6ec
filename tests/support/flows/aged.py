"""Sales that were made long ago, and the setting that prunes them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.apps import apps
from django.db.models import DateTimeField, F
from django.utils import timezone

from checkout_integration.models import Transition
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import notification

RETENTION: Final = {
    "notification_bodies": 30,
    "validation_decisions": 30,
    "outbox_messages": 30,
    "sync_runs": 30,
}
NOT_STATE: Final = ("due_at", "busy_until", "paused_until")
"""Times at which something is to be done."""


def prune_after(settings: Any, **days: int) -> None:
    """Set RETENTION; every kind after 30 days where none is given."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RETENTION": days or RETENTION}


def age(days: int = 31) -> None:
    """Make every row of the app so many days older; but transitions, which are never changed."""
    for model in set(apps.get_app_config("checkout_integration").get_models()) - {Transition}:
        columns = [
            field.name
            for field in model._meta.concrete_fields
            if isinstance(field, DateTimeField) and field.name not in NOT_STATE
        ]
        if columns:
            shifted = {name: F(name) - timedelta(days=days) for name in columns}
            model._default_manager.update(**shifted)


def story() -> list[dict[str, Any]]:
    """Return the notifications of four sales: paid; refunded; charged back; and one paid by two orders."""
    at = timezone.now() - timedelta(hours=3)
    sales = [order_document_for(CheckoutFactory(), id=f"order-{number}") for number in range(4)]
    second = {**sales[3], "id": "order-second", "transaction": "second"}
    later = at + timedelta(hours=1)
    return [
        *(notification(order=order, at=at) for order in [*sales, second]),
        notification("payment.refund", {**sales[1], "status": "refunded", "refunded": True}, at=later),
        notification("payment.chargeback", {**sales[2], "status": "chargeback"}, at=later),
    ]
