"""What receivers are called with, read for a whole batch; whether it still holds is asked when an attempt begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connections

from checkout_integration.flows.database.connection import state_database
from checkout_integration.models import (
    Checkout,
    Grant,
    Order,
    OutboxMessage,
    ReceiverRun,
    ValidationDecision,
)
from checkout_integration.signals import checkout_reversed


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A claimed run with the rows of its arguments. ``order``: of a grant, the one that pays for it."""

    run: ReceiverRun
    order: Order | None
    decision: ValidationDecision | None


@dataclass(frozen=True, kw_only=True)
class Begun:
    """What was found when the run was locked: whether its rows are as loaded, and whether its grant is being granted."""

    unchanged: bool
    granting: bool


def load(runs: Sequence[ReceiverRun]) -> list[Prepared]:
    """Read messages, grants, orders and decisions, by one statement for each table."""
    alias = state_database()
    messages = OutboxMessage.objects.using(alias).select_related("grant", "transition")
    by_key = messages.in_bulk({run.message_id for run in runs})
    orders = Order.objects.using(alias).select_related("personal_data", "checkout", "user")
    payers = {_payer_of(message) for message in by_key.values()} - {None}
    paying = orders.in_bulk(payers) if payers else {}
    keys = {message.arguments["decision"] for message in by_key.values() if "decision" in message.arguments}
    decisions = ValidationDecision.objects.using(alias).in_bulk(keys) if keys else {}
    prepared = []
    for run in runs:
        run.message = message = by_key[run.message_id]
        order = paying.get(_payer_of(message))
        if order is not None and order.pk == message.order_id:
            message.order = order
        if order is not None and order.checkout_id == message.checkout_id:
            message.checkout = order.checkout
        decision = decisions.get(message.arguments.get("decision"))
        prepared.append(Prepared(run=run, order=order, decision=decision))
    return prepared


def _payer_of(message: OutboxMessage) -> int | None:
    return message.grant.order_id if message.grant else message.order_id


def lock(prepared: Prepared) -> Begun | None:
    """Lock a claimed run for the open transaction; None when another process has taken it over.

    One statement, written by hand: it is the larger part of what an empty receiver costs. Rows of other tables are read by
    subqueries, since MariaDB locks every table that is joined.
    """
    run, order, grant = prepared.run, prepared.order, prepared.run.message.grant
    connection = connections[state_database()]
    values: dict[str, Any] = {"run": run.pk, "fence": run.fence}
    conditions = []
    if grant is not None:
        conditions.append(_GRANT)
        values |= {"grant": grant.pk, "state": grant.state, "payer": grant.order_id}
    if order is not None:
        conditions.append(_ORDER)
        changed_at = Order._meta.get_field("changed_at").get_db_prep_value(order.changed_at, connection)
        values |= {"order": order.pk, "changed_at": changed_at}
        if order.checkout is not None:
            conditions.append(_CHECKOUT)
            values |= {"checkout": order.checkout.pk, "status": order.checkout.status}
    statement = _LOCK.format(
        unchanged=" AND ".join(conditions) or "1 = 1",
        granting=_GRANTING if run.message.signal == checkout_reversed.name and grant else "1 = 0",
        locking=_locking(connection.features),
    )
    tables = {model: connection.ops.quote_name(model._meta.db_table) for model in _TABLES}
    with connection.cursor() as cursor:
        cursor.execute(statement.format(**{name: tables[model] for model, name in _TABLES.items()}), values)
        row = cursor.fetchone()
    return Begun(unchanged=bool(row[0]), granting=bool(row[1])) if row else None


def _locking(features: Any) -> str:
    """Return the clause that locks; SQLite's transaction is the only one that writes."""
    if not features.has_select_for_update:
        return ""
    return "FOR NO KEY UPDATE" if features.has_select_for_no_key_update else "FOR UPDATE"


_TABLES: Final = {
    ReceiverRun: "runs",
    OutboxMessage: "messages",
    Grant: "grants",
    Order: "orders",
    Checkout: "checkouts",
}
_LOCK: Final = """SELECT CASE WHEN {unchanged} THEN 1 ELSE 0 END, CASE WHEN {granting} THEN 1 ELSE 0 END
    FROM {{runs}} WHERE id = %(run)s AND fence = %(fence)s AND state = 'running' {locking}
"""
_GRANT: Final = (
    "EXISTS (SELECT 1 FROM {grants} WHERE id = %(grant)s AND state = %(state)s AND order_id = %(payer)s)"
)
_ORDER: Final = "EXISTS (SELECT 1 FROM {orders} WHERE id = %(order)s AND changed_at = %(changed_at)s)"
_CHECKOUT: Final = "EXISTS (SELECT 1 FROM {checkouts} WHERE id = %(checkout)s AND status = %(status)s)"
_GRANTING: Final = """
    EXISTS (SELECT 1 FROM {runs} other JOIN {messages} message ON message.id = other.message_id
    WHERE other.state = 'running' AND message.grant_id = %(grant)s AND message.signal = 'checkout_paid')
"""
