"""The rows of an order: its columns, items, personal data and refunds, its transitions, incidents and messages.

`state_of` reads rows, the other functions make them; `recording` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from checkout_integration.conf import Project
from checkout_integration.flows.database import key_of
from checkout_integration.flows.ledger.steps import OrderChange, PendingSignal
from checkout_integration.flows.outbox import message_key
from checkout_integration.models import (
    Incident,
    Order,
    OrderItem,
    OutboxMessage,
    PersonalData,
    Transition,
)
from checkout_integration.models.columns import as_column_money, as_column_rate, as_column_text
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.models.outbox import COMMON_ARGUMENTS
from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy import fields as field_rules
from checkout_integration.policy import personal
from checkout_integration.policy.attribution import ATTRIBUTION
from checkout_integration.policy.observation import Source
from checkout_integration.policy.state import OrderState, stamps_from_json, stamps_to_json
from checkout_integration.policy.verdict import FOREIGN
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.order import OrderItem as Item
from checkout_integration.protocol.vocabulary import OrderStatus


def state_of(row: Order) -> OrderState:
    """Return the state in a row."""
    return _state_of(row, row.whole_document)


def public_state_of(row: Order) -> OrderState:
    """Return the state in a row without its personal data, which payments do not depend on."""
    return _state_of(row, row.document)


def _state_of(row: Order, document: Mapping[str, Any]) -> OrderState:
    stamps = stamps_from_json(row.stamps, field_rules.stored_values(document, row.live))
    merged = field_rules.from_stored(document, row.live, stamps, row.conflicts)
    return OrderState(facts=fact_rules.from_json(row.facts), merged=merged)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns to write for one order, and the personal part of its document."""

    own: Mapping[str, Any]
    personal: Mapping[str, Any] = field(repr=False)


def columns_of(state: OrderState) -> Columns:
    """Return the columns of a state: typed copies of searched and summed fields, and the document in its two parts."""
    public, private = personal.split(state.merged.document)
    own = {
        "status": state.status.value,
        "live": state.merged.live,
        "document": public,
        "facts": fact_rules.to_json(state.facts),
        "stamps": stamps_to_json(state.merged.stamps),
        "conflicts": sorted(state.merged.conflicts),
        **_copied(state.order, _refunded(state)),
    }
    return Columns(own=own, personal=private)


def _refunded(state: OrderState) -> tuple[Decimal | None, str | None]:
    """Return what was refunded in all: the sum of the parts if they are known, else what the latest document states."""
    refund, total = state.order.refund, state.refunded_amount
    if refund is None:
        return None, None
    return (refund.amount if total is None else total), refund.currency


def _copied(order: documents.Order, refunded: tuple[Decimal | None, str | None]) -> dict[str, Any]:
    money: dict[str, tuple[Decimal | None, str | None]] = {
        "": (order.amount, order.currency),
        "charge_": (order.charge_amount, order.charge_currency),
        "tax_": (order.tax.amount, order.tax.currency) if order.tax else (None, None),
        "fee_": (order.fee.amount, order.fee.currency) if order.fee else (None, None),
        "net_revenue_": (order.net_revenue.amount, order.net_revenue.currency)
        if order.net_revenue
        else (None, None),
        "refund_": refunded,
    }
    issuer = order.issuer
    return {
        **{name: as_column_text(getattr(issuer, name, None)) for name in ATTRIBUTION},
        "is_production": order.is_production,
        "transaction": as_column_text(order.transaction),
        "type": as_column_text(order.type, 32),
        "created_at": order.created_at,
        "canceled_at": order.canceled_at,
        "refunded_at": order.refunded_at,
        "country": as_column_text(order.country, 8),
        "receipt_number": as_column_text(order.receipt_number),
        "recurring_id": as_column_text(order.recurring_id),
        "original_amount": as_column_money(order.original_amount, order.currency),
        "virtual_currency_amount": as_column_money(order.virtual_currency_amount),
        "tax_rate": as_column_rate(order.tax.rate if order.tax else None),
        "vat_payer": as_column_text(order.vat_payer, 16),
        "method_type": as_column_text(order.method.type if order.method else None, 64),
        **{
            f"{prefix}amount": as_column_money(amount, currency)
            for prefix, (amount, currency) in money.items()
        },
        **{f"{prefix}currency": as_column_text(currency, 8) for prefix, (_, currency) in money.items()},
    }


def personal_row(row: Order, state: OrderState, private: Mapping[str, Any]) -> PersonalData:
    """Return the personal part as a row of its own, with the two columns that staff search by."""
    snapshot = state.order
    email = snapshot.receipt_email or (snapshot.user.email if snapshot.user else None)
    card = snapshot.method.card if snapshot.method else None
    return PersonalData.new(
        order_id=row.pk,
        document=dict(private),
        email=as_column_text(email).lower(),
        last4=as_column_text(card.last4 if card else None, 4),
    )


def item_rows(row: Order, state: OrderState) -> list[OrderItem]:
    """Return the items as rows, in their order."""
    return [_item_row(row, position, item) for position, item in enumerate(state.order.items or ())]


def _item_row(row: Order, position: int, item: Item) -> OrderItem:
    return OrderItem.new(
        order=row,
        position=position,
        item_id=as_column_text(item.id),
        sku=as_column_text(item.sku),
        name=item.name or "",
        code=as_column_text(item.code),
        platform=as_column_text(item.platform or item.platform_id, 64),
    )


# Rows of refunds and chargebacks: one for each reversal document, else one for a notification's statement.


def transition_of(change: OrderChange) -> Transition | None:
    """Return the row of a change of status, or of a decision of staff; None where there is neither."""
    cause = change.cause
    if not (change.moved or cause.source is Source.STAFF):
        return None
    return Transition.new(
        order=change.row,
        from_status="" if change.is_new else change.before.status.value,
        to_status=change.after.status.value,
        source=cause.source.value,
        notification=cause.notification,
        sync_run=cause.sync_run,
        staff_id=cause.staff.pk if cause.staff else None,
        act=cause.act,
        reason=cause.reason[:LONGEST_REASON],
    )


def messages_of(
    project: Project, change: OrderChange, transition: Transition | None
) -> Iterator[OutboxMessage]:
    """Yield a message for each signal of the change."""
    signals = list(change.signals)
    if transition is not None and sends_order_changed(change):
        signals.append(PendingSignal("order_changed", ("changed", str(transition.pk))))
    common = {
        "source": change.cause.word,
        "previous_status": "" if change.is_new else change.before.status.value,
        "live": change.after.merged.live,
        "partial": change.after.partial,
    }
    for signal in signals:
        yield OutboxMessage.new(
            idempotency_key=signal_key(project, signal),
            signal=signal.name,
            project=project.alias,
            order=signal.order or change.row,
            checkout=change.checkout,
            grant=signal.grant,
            transition=transition,
            arguments={
                name: value
                for name, value in {**common, **signal.arguments}.items()
                if name not in COMMON_ARGUMENTS or value != COMMON_ARGUMENTS[name]
            },
        )


GROUPED = frozenset(f"review:{reason}" for reason in FOREIGN)
"""Kinds of incidents about payments without a checkout: a row for each project and day."""
NAMED_ORDERS = 5


def incidents_of(project: Project, change: OrderChange) -> Iterator[Incident]:
    """Yield the incidents that the change opens about one order each."""
    for kind, order in incident_kinds(change):
        if not is_grouped(change, kind):
            yield Incident(
                key=incident_key(project, order.order_id, kind),
                kind=kind[:64],
                project=project.alias,
                order=order,
                notification=change.cause.notification,
            )


def grouped_incidents(project: Project, changes: Iterable[OrderChange]) -> list[Incident]:
    """Return the incidents of the day about the changes' payments without a checkout: one a kind, which names a few."""
    orders: dict[str, dict[str, None]] = {}
    today = datetime.now(UTC).date().isoformat()
    for change in changes:
        for kind, order in incident_kinds(change):
            if is_grouped(change, kind):
                orders.setdefault(kind, {})[order.order_id] = None
    return [
        Incident(
            key=key_of("day", project.alias, kind, today),
            kind=kind,
            project=project.alias,
            detail=f"For instance {', '.join(list(order_ids)[:NAMED_ORDERS])}",
        )
        for kind, order_ids in orders.items()
    ]


def is_grouped(change: OrderChange, kind: str) -> bool:
    """Return whether the incident is one of the day: about a payment without a checkout."""
    return change.checkout is None and kind in GROUPED


def incident_kinds(change: OrderChange) -> list[tuple[str, Order]]:
    """Return the kinds of incidents that the change opens, each with the order that it is about."""
    kinds = [(kind, change.row) for kind in change.incidents]
    kinds += [(f"review:{reason}", order) for reason, order in change.reviews]
    # An order that is not inserted yet cannot be hashed.
    return list({(kind, order.order_id): (kind, order) for kind, order in kinds}.values())


def incident_key(project: Project, order_id: str, kind: str) -> str:
    """Return the key that makes an incident about an order unique."""
    return key_of("order", project.alias, order_id, kind)


def signal_key(project: Project, signal: PendingSignal) -> str:
    """Return the key that lets a signal be sent once."""
    return message_key(project.alias, *signal.idempotency_parts)


def sends_order_changed(change: OrderChange) -> bool:
    """Return whether ``order_changed`` is sent: not for a historic order, nor for a new one that waits for its payment."""
    waits = change.after.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return change.moved and not change.silent and not (change.is_new and waits)
