"""An order's state and its rows: `state_of` reads them, `columns_of` and `child_rows` write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from checkout_integration.models import Order, OrderItem, PersonalData
from checkout_integration.models.columns import as_column_money, as_column_text
from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy import fields as field_rules
from checkout_integration.policy import personal
from checkout_integration.policy.state import OrderState, stamps_from_json, stamps_to_json
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.item import OrderItem as Item


def state_of(row: Order) -> OrderState:
    """Return the state in a row."""
    return _state_of(row, row.whole_document)


def public_state_of(row: Order) -> OrderState:
    """Return the state in a row without its personal data, which says nothing of what was paid."""
    return _state_of(row, row.document)


def _state_of(row: Order, document: Mapping[str, Any]) -> OrderState:
    stamps = stamps_from_json(row.stamps, field_rules.stored_values(document, row.live))
    merged = field_rules.from_stored(document, row.live, stamps, row.conflicts)
    return OrderState(facts=fact_rules.from_json(row.facts), merged=merged)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What is written of one order: its own columns, and the personal part of its document."""

    own: Mapping[str, Any]
    personal: Mapping[str, Any] = field(repr=False)


def columns_of(state: OrderState) -> Columns:
    """The columns of a state: typed copies of what is searched and summed, and the document in its two parts."""
    public, private = personal.split(state.merged.document)
    own = {
        "status": state.status.value,
        "live": state.merged.live,
        "document": public,
        "facts": fact_rules.to_json(state.facts),
        "stamps": stamps_to_json(state.merged.stamps),
        "conflicts": sorted(state.merged.conflicts),
        **_copied(state.order),
    }
    return Columns(own=own, personal=private)


def _copied(order: documents.Order) -> dict[str, Any]:
    money: dict[str, tuple[Decimal | None, str | None]] = {
        "": (order.amount, order.currency),
        "charge_": (order.charge_amount, order.charge_currency),
        "tax_": (order.tax.amount, order.tax.currency) if order.tax else (None, None),
        "fee_": (order.fee.amount, order.fee.currency) if order.fee else (None, None),
        "net_revenue_": (order.net_revenue.amount, order.net_revenue.currency)
        if order.net_revenue
        else (None, None),
        "refund_": (order.refund.amount, order.refund.currency) if order.refund else (None, None),
    }
    return {
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
        "method_type": as_column_text(order.method.type if order.method else None, 64),
        **{
            f"{prefix}amount": as_column_money(amount, currency)
            for prefix, (amount, currency) in money.items()
        },
        **{f"{prefix}currency": as_column_text(currency, 8) for prefix, (_, currency) in money.items()},
    }


def personal_row(row: Order, state: OrderState, private: Mapping[str, Any]) -> PersonalData:
    """The personal part as a row of its own, with the two columns that support searches by."""
    told = state.order
    email = told.receipt_email or (told.user.email if told.user else None)
    card = told.method.card if told.method else None
    return PersonalData(
        order=row,
        document=dict(private),
        email=as_column_text(email).lower(),
        last4=as_column_text(card.last4 if card else None, 4),
    )


def item_rows(row: Order, state: OrderState) -> list[OrderItem]:
    """The items as rows, in their order."""
    return [_item_row(row, position, item) for position, item in enumerate(state.order.items or ())]


def _item_row(row: Order, position: int, item: Item) -> OrderItem:
    return OrderItem(
        order=row,
        position=position,
        item_id=as_column_text(item.id),
        sku=as_column_text(item.sku),
        name=item.name or "",
        description=item.description or "",
        images=list(item.images or ()),
        metadata=dict(item.metadata or {}),
        code=as_column_text(item.code),
        platform=as_column_text(item.platform or item.platform_id, 64),
    )
