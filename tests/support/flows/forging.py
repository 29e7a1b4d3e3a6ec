"""Paid orders, and what somebody with a console does to their rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connection, transaction

from checkout_integration.models import Order, OutboxMessage, Transition
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for

WHOLE: Final = {
    "transaction": "t-1",
    "created_at": "2024-05-02T10:00:00Z",
    "country": "DE",
    "receipt_number": "r-1",
    "recurring_id": "a-1",
    "original_amount": "9.99",
    "charge_amount": "9.99",
    "charge_currency": "USD",
    "tax": {"amount": "0.50", "currency": "USD"},
    "fee": {"amount": "0.30", "currency": "USD"},
    "net_revenue": {"amount": "9.00", "currency": "USD"},
    "method": {"type": "card", "card": {"last4": "4242"}},
    "items": [{"id": "sword", "sku": "s-1", "name": "Sword", "code": "KEY"}],
}


def paid(deliver: Deliver, **changes: Any) -> Order:
    """An order that paid a checkout, as its one notification says."""
    checkout = CheckoutFactory()
    deliver(order=order_document_for(checkout, **changes))
    return Order.objects.get(order_id=checkout.order_id)


@contextmanager
def undone() -> Iterator[None]:
    """Undo in the end what was written."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def tear_out(*transitions: Transition) -> None:
    """Delete transitions past the models, as somebody with a console does."""
    keys = [each.pk for each in transitions]
    OutboxMessage.objects.filter(transition__in=keys).update(transition=None)
    table = Transition._meta.db_table
    with connection.cursor() as cursor:
        cursor.executemany(f"DELETE FROM {table} WHERE id = %s", [[key] for key in keys])
