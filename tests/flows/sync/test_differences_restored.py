"""A database that was restored to yesterday's dump: one full pass makes it equal, and the report lists what differed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models, transaction

from checkout_integration.models import Checkout, Grant, Order, Refund
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.list_service import HOUR_AGO, ListService, listed, report
from tests.support.scale import times

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("installed_long_ago")]
ORDERS = times(100, 10_000)
CHANGED = ORDERS * 3 // 10
LEARNT = times(5, 500)
"""So many orders more were made and paid elsewhere on that day."""
STATUSES = ("processed", "refunded", "chargeback", "canceled", "rejected")
Dump = Mapping[type[models.Model], Sequence[models.Model]]


def dump() -> Dump:
    """All rows of the app's tables."""
    tables = apps.get_app_config("checkout_integration").get_models()
    return {model: list(model._default_manager.all()) for model in tables if not model._meta.proxy}


def restore(dump: Dump) -> None:
    """Put these rows in the place of all others. First the tables are empty, as history and orders go together only."""
    with transaction.atomic(), connection.constraint_checks_disabled():
        for model in dump:
            model._default_manager.all()._raw_delete(connection.alias)
        connection.check_constraints()  # what is deferred is checked now, while the orders are gone
    with transaction.atomic(), connection.constraint_checks_disabled():
        for model, rows in dump.items():
            model._default_manager.bulk_create(rows, batch_size=100)


def sold() -> list[dict[str, Any]]:
    """The rows of checkouts: half of them are paid, the others are open."""
    rows = []
    for number in range(ORDERS):
        status = "processed" if number % 2 else "created"
        row = listed("", number % 50, status=status)
        rows.append({**order_document_for(CheckoutFactory(), **row_changes(row))})
    return rows


def row_changes(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row of the list is made from."""
    return {name: row[name] for name in ("status", "created_at")}


def changed(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The row a day later: paid, declined or cancelled if it was open; reversed if it was paid."""
    at = (HOUR_AGO + timedelta(minutes=55)).isoformat()
    if row["status"] == "created":
        status = ("processed", "canceled", "rejected")[number % 3]
        return {**row, "status": status, **({"canceled_at": at} if status == "canceled" else {})}
    refund = {"amount": Decimal("9.99"), "currency": "USD"}
    status = ("refunded", "chargeback")[number % 2]
    return {**row, "status": status, "refunded": True, "refunded_at": at, "refund": refund}


def state_of_the_shop() -> list[object]:
    """Everything that counts: orders, checkouts, grants and refunds."""
    return [
        sorted(Order.objects.values_list("order_id", "status", "verdict", "verdict_reason", "refund_amount")),
        sorted(Checkout.objects.values_list("reference", "status", "order_id", "paid_order__order_id")),
        sorted(Grant.objects.values_list("key", "state", "order__order_id")),
        sorted(Refund.objects.values_list("key", "status", "amount", "order__order_id")),
        {order.order_id: order.whole_document for order in Order.objects.select_related("personal_data")},
    ]


@pytest.mark.slow
def test_one_full_pass_after_a_restored_dump(service: ListService, record_property: Any) -> None:
    """As if the day had not been lost."""
    rows = sold()
    service.rows, service.ahead = list(rows), -timedelta(days=1)
    assert report("all").totals_agree
    yesterday = dump()
    service.rows[:CHANGED] = [changed(row, number) for number, row in enumerate(rows[:CHANGED])]
    service.rows += [listed(f"learnt {number}", 51) for number in range(LEARNT)]
    service.ahead = timedelta(0)
    lost = report("all")
    expected = state_of_the_shop()
    restore(yesterday)
    assert state_of_the_shop() != expected
    restored = report("all")
    assert state_of_the_shop() == expected
    assert restored.counts == lost.counts == {"missing_here": LEARNT, "status": CHANGED}
    assert Counter(each.there.partition(" ")[0] for each in restored.differences) == Counter(
        row["status"] for row in [*service.rows[:CHANGED], *service.rows[ORDERS:]]
    )
    assert (restored.waiting, restored.totals_agree) == ([], True)
    assert report("all").differences == []
    record_property("orders restored to a day-old dump", f"{ORDERS}, {CHANGED} of them changed")
