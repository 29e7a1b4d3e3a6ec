"""Reading the shop's tables for the audit, and whether anything is still to be done."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection
from django.db.models import Q, QuerySet

from checkout_integration.models import Checkout, Incident, Notification, Order, OutboxMessage, ReceiverRun
from tests.stress.chaos.audit import Found
from tests.stress.chaos.names import EFFECTS


def read() -> Found:
    """Read everything that the audit compares."""
    incidents = Incident.objects.filter(order__isnull=False).values_list("order__order_id", flat=True)
    # Payments without a checkout have one for all.
    kinds = Incident.objects.filter(order=None, kind__startswith="review:").values_list("kind", flat=True)
    reasons = {kind.removeprefix("review:") for kind in kinds}
    strangers = Order.objects.filter(checkout=None, verdict="review", verdict_reason__in=reasons)
    return Found(
        notifications=_states_of_notifications(),
        # An order without notifications may lack its customer: the response to its creation was lost.
        orders=dict(Order.objects.exclude(status="created").values_list("order_id", "status")),
        checkouts=dict(Checkout.objects.values_list("reference", "status")),
        incidents=frozenset(incidents) | frozenset(strangers.values_list("order_id", flat=True)),
        outbox_messages=[
            (key, signal, order_id or "")
            for key, signal, order_id in OutboxMessage.objects.values_list(
                "idempotency_key", "signal", "order__order_id"
            )
        ],
        runs=[
            (key, signal, order_id or "", state)
            for key, signal, order_id, state in ReceiverRun.objects.values_list(
                "message__idempotency_key", "message__signal", "message__order__order_id", "state"
            )
        ],
        unheard=OutboxMessage.objects.filter(state="sent", runs=None).count(),
        effects=_effects(),
    )


def _states_of_notifications() -> dict[str, str]:
    """Return the state of each notification: of its attempts, each a row, one that is not applied counts."""
    rows = Notification.objects.values_list("key", "state")
    return dict(sorted(rows, key=lambda row: row[1] != "applied"))


def left_undone() -> int:
    """Return how many notifications and runs wait to be worked on."""
    return sum(each.count() for each in _undone())


def all_done() -> bool:
    """Return whether nothing waits to be worked on. Called often beside a busy shop, so it counts nothing."""
    return not any(each.exists() for each in _undone())


def all_reminded(order_ids: Collection[str]) -> bool:
    """Return whether the signal was written for each of these orders, which nobody pays any more."""
    reminded = OutboxMessage.objects.filter(signal="checkout_abandoned", checkout__order_id__in=order_ids)
    return reminded.count() >= len(order_ids)


def _undone() -> tuple[QuerySet[Notification], QuerySet[ReceiverRun]]:
    waiting = Q(state=ReceiverRun.State.DUE) | Q(state=ReceiverRun.State.RUNNING)
    return (
        Notification.objects.filter(due_at__isnull=False),
        ReceiverRun.objects.filter(waiting),
    )


def _effects() -> list[tuple[str, str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT key, signal, order_id FROM {EFFECTS}")
        return list(cursor.fetchall())
