"""A year of a shop, with any number of orders: some of each state are made, and copied by one INSERT for each table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, models

from checkout_integration.models import (
    Checkout,
    Incident,
    Order,
    PersonalData,
    StaffAct,
    SyncDifference,
)
from tests.support.admin import rows

MONEY: Final = {"tax_amount": Decimal("1.60"), "tax_currency": "EUR", "tax_rate": Decimal("0.19")}
NOW: Final = datetime.now(UTC)
STRIDE: Final = 1_000
"""The ids of a copy are so much larger than those of the one before; no table has so many of the first rows."""
RARE: Final = 15
"""Rare rows have one copy where the others have so many."""
YEAR: Final = timedelta(days=360)
HASHED: Final = {
    *("key", "body_hash", "order_id", "transaction", "reference", "notification_id", "object_id"),
    *("external_id", "user_id", "identity", "idempotency_key", "receipt_number", "code", "document_id"),
    *("request_hash", "waiting_key", "email"),
}
"""Columns whose texts name one thing: each copy has its own. Equal texts stay equal, so that rows still name each other."""
Keys = Mapping[type[models.Model], Sequence[int]]


def common_rows() -> None:
    """Make ten orders as most are, with all that belongs to them."""
    for number in range(10):
        origin = {"referrer_host": "shop.example.com"} if number % 2 else {}
        order = _order(**origin)
        if number == 0:
            Order.objects.filter(pk=order.pk).update(status="created", verdict="pending")
            Checkout.objects.filter(paid_order=order).update(status="open", paid_order=None)
        if number == 1:
            Order.objects.filter(pk=order.pk).update(status="refunded")
            rows.make_refund(order)
    rows.make_decision(external_id="player-common")
    StaffAct.objects.create(project="default", act="check", origin="admin", order=order)


def rare_rows() -> None:
    """Make an order of each kind that few are."""
    for status in ("rejected", "canceled", "pending"):
        _order(status=status, verdict="pending")
    _order(verdict="accepted")
    _order(verdict="historic")
    _order(is_production=False, live=False)
    _order(utm_source="newsletter", utm_campaign="spring", referrer_host="rare.example.com")
    rows.make_refund(_order(status="chargeback", refunded_at=NOW), status="chargeback", refunded_at=NOW)
    rows.make_notification("elsewhere", event="payment.cancel", state="test")
    Incident.objects.filter(pk=rows.make_incident(_order()).pk).update(resolved_at=NOW)
    StaffAct.objects.create(project="default", act="export", origin="command", system_user="deploy")
    rows.make_decision(external_id="player-rare", approved=False, late=True, decided_by="timeout")


def waiting_rows() -> None:
    """Make what waits for staff or for another try: no more of it in a large shop than in a small one."""
    _order(verdict="review", verdict_reason="unbound")
    rows.make_refund(None)
    for state, attempts in (("failed", 10), ("superseded", 0), ("waiting", 0), ("due", 3)):
        rows.make_granting_run(_order(), state=state, attempts=attempts, due_at=NOW + 2 * YEAR)
    for state in ("failed", "quarantined"):
        rows.make_notification("elsewhere", state=state)
    rows.make_incident(_order())
    rows.make_sync_run(state="failed")
    found = {"order_id": "order-rare", "found_at": NOW, "waiting_key": "rare"}
    SyncDifference.objects.create(run=rows.make_sync_run(), project="default", kind="status", **found)


KINDS: Final = (common_rows, rare_rows, waiting_rows)


def _order(**columns: Any) -> Order:
    number = rows.next_number()
    origin = {
        name: columns[name] for name in ("utm_source", "utm_campaign", "referrer_host") if name in columns
    }
    checkout = rows.make_checkout(
        status="paid", products=["golden-sword"], test=columns.get("live") is False, **origin
    )
    customer = rows.make_customer(f"player-{number}")
    given = {"is_production": True, "live": True, "created_at": NOW, **MONEY, **columns}
    order = rows.make_order(checkout=checkout, user=customer, **given)
    Checkout.objects.filter(pk=checkout.pk).update(order_id=order.order_id, paid_order=order)
    PersonalData.objects.filter(order=order).update(email=f"player-{number}@buyers.example", last4="4242")
    rows.make_history(order)
    Incident.objects.filter(order=order).delete()
    rows.make_granting_run(order, state="done", attempts=1, error="", finished_at=NOW)
    return order


def made(make: Callable[[], None]) -> Keys:
    """Make rows, and return their primary keys."""
    before = {model: _last_key(model) for model in copied_models()}
    make()
    return {
        model: list(model._base_manager.filter(pk__gt=last).values_list("pk", flat=True))
        for model, last in before.items()
    }


def copy(keys: Keys, numbers: range) -> None:
    """Copy these rows once for each number: evenly over a year, the last ones at the time of the first rows."""
    step = YEAR / len(numbers)
    with connection.cursor() as cursor:
        cursor.execute(
            "SET session_replication_role = replica"
        )  # copies name each other as the first rows do
        for model, chosen in keys.items():
            if chosen:
                cursor.execute(_insert(model, chosen, numbers, step))
        cursor.execute("SET session_replication_role = origin")
        for sql in connection.ops.sequence_reset_sql(no_style(), list(keys)):
            cursor.execute(sql)


def _insert(model: type[models.Model], keys: Collection[int], numbers: range, step: timedelta) -> str:
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    table = _quoted(model._meta.db_table)
    columns = ", ".join(_quoted(field.column) for field in fields)
    age = f"({numbers.stop} - copy.number) / {numbers.step} * INTERVAL '{step.total_seconds()} seconds'"
    values = ", ".join(_copied(field, age) for field in fields)
    return (
        f"INSERT INTO {table} ({columns}) SELECT {values}"
        f" FROM generate_series({numbers.start}, {numbers.stop - 1}, {numbers.step}) AS copy(number)"
        f" CROSS JOIN {table} own"
        f" WHERE own.{_quoted(model._meta.pk.column)} IN ({', '.join(map(str, keys))}) ORDER BY copy.number, 1"
    )


def _copied(field: models.Field[Any, Any], age: str) -> str:
    column = f"own.{_quoted(field.column)}"
    own = field.remote_field is None or field.remote_field.model in copied_models()
    if isinstance(field, models.AutoField) or (field.remote_field and own):
        return f"{column} + copy.number * {STRIDE}"
    if field.name == "line":
        # What the line is of, and the key of that row.
        kind, key = (f"split_part({column}, ' ', {part})" for part in (1, 2))
        return f"{kind} || ' ' || ({key}::bigint + copy.number * {STRIDE})"
    if field.name in HASHED:
        return f"CASE WHEN {column} = '' THEN '' ELSE md5({column} || ':' || copy.number) END"
    if isinstance(field, models.DateTimeField):
        return f"{column} - {age}"
    if field.name == "last4":
        return "lpad((copy.number % 10000)::text, 4, '0')"
    return column


def _quoted(name: str | None) -> str:
    return connection.ops.quote_name(name or "")


def _last_key(model: type[models.Model]) -> int:
    return model._base_manager.aggregate(last=models.Max("pk"))["last"] or 0


def copied_models() -> list[type[models.Model]]:
    """Return the models whose rows are copied."""
    every = apps.get_app_config("checkout_integration").get_models()
    return [model for model in every if not model._meta.proxy and model._meta.model_name not in SINGLE]


SINGLE: Final = {"installation", "listedrow", "refusedrequests", "synccursor"}
"""Tables with a row for each project, or that no page of the admin reads."""
