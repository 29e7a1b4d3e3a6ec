"""Receivers that leave one row in the shop's own database for each run that was committed."""

from __future__ import annotations

from typing import Any

from django.db import connection

from checkout_integration.models import Order
from checkout_integration.signals import SIGNALS, DurableSignal
from tests.stress.chaos.names import EFFECTS
from tests.stress.chaos.shop import crash_points

HEARD = (
    "checkout_paid",
    "checkout_reversed",
    "payment_refund",
    "payment_chargeback",
    "payment_cancel",
    "payment_review",
    "checkout_abandoned",
)
"""The other signals have no receiver here, so their outbox_messages end without one."""


def leave_trace(
    signal: DurableSignal[Any], order: Order, idempotency_key: str, attempt: int, **kwargs: Any
) -> None:
    """Write the effect; only the product prevents a second one."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {EFFECTS} (key, signal, order_id, attempt) VALUES (%s, %s, %s, %s)",
            [idempotency_key, signal.name, order.order_id, attempt],
        )
    crash_points.burn(crash_points.RECEIVER_WROTE, attempt)


for name in HEARD:
    SIGNALS[name].connect(leave_trace, weak=False, dispatch_uid=f"chaos.{name}")
