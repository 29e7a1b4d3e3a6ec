"""Every field of the specification is an attribute of the rows, until it is erased."""

from __future__ import annotations

import csv
import json
from dataclasses import fields
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from checkout_integration.conf import app_settings
from checkout_integration.flows.ledger import Cause
from checkout_integration.models import Order
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.decoder import Snapshot
from checkout_integration.protocol.order import parse_order
from tests.specification.mapping import STATEMENTS
from tests.support.flows.recording import record
from tests.support.protocol import vectors

pytestmark = pytest.mark.django_db

VECTOR = vectors.FOLDER / "order.json"


def fields_of(chapter: str) -> list[str]:
    """The names of the fields that a chapter of the specification lists."""
    with STATEMENTS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["id"].startswith(chapter)]
    return [row["statement"].split(" — ")[0] for row in rows if " — " in row["statement"]]


@pytest.fixture
def document() -> documents.Order:
    """The complete order of the hand-written vector."""
    return parse_order(json.loads(VECTOR.read_text(encoding="utf-8"), parse_float=Decimal))


@pytest.fixture
def order(document: documents.Order) -> Order:
    """Its row in the ledger."""
    observation = Observation(
        source=Source.NOTIFICATION, order=document, event="payment.success", observed_at=timezone.now()
    )
    record(app_settings().project(), [observation], Cause(source=Source.NOTIFICATION))
    return Order.objects.get(order_id=document.id)


@pytest.mark.spec("ORD-48")
@pytest.mark.parametrize("name", sorted(set(fields_of("ORD-")) - {"object", "status", "user", "items"}))
def test_order(order: Order, document: documents.Order, name: str) -> None:
    """Each field of an Order is an attribute of the row, with the same value."""
    value = getattr(document, name)
    expected = "product" if name == "type" else value
    assert plain(getattr(order, {"id": "order_id"}.get(name, name))) == plain(expected)


@pytest.mark.spec("ORD-26", "ORD-27", "ORD-28", "ORD-39", "RFD-02")
def test_each_amount_has_the_currency_that_came_with_it() -> None:
    """Tax, revenue, fee, charge and refund may each be in another currency than the order; exact digits of that one."""
    document = json.loads(VECTOR.read_text(encoding="utf-8"), parse_float=Decimal)
    given = {"tax": "JPY", "net_revenue": "USD", "fee": "KWD", "refund": "CHF"}
    for name, currency in given.items():
        document[name] = {**document[name], "amount": 7, "currency": currency}
    changed = parse_order({**document, "currency": "EUR", "charge_currency": "SEK"})
    observation = Observation(
        source=Source.NOTIFICATION, order=changed, event="payment.success", observed_at=timezone.now()
    )
    record(app_settings().project(), [observation], Cause(source=Source.NOTIFICATION))
    row = Order.objects.get()
    assert {name: getattr(row, f"{name}_currency") for name in given} == given
    assert (row.currency, row.charge_currency) == ("EUR", "SEK")


def test_rows_of_their_own(order: Order, document: documents.Order) -> None:
    """Items and the customer are rows; the service's status is in the snapshot."""
    assert document.items is not None
    assert [item.item_id for item in order.items.all()] == [item.id for item in document.items]
    assert (order.snapshot.object, order.snapshot.status) == (document.object, document.status)


@pytest.mark.parametrize("name", sorted(set(fields_of("USR-")) - {"object"}))
def test_user(order: Order, document: documents.Order, name: str) -> None:
    """Each field of a User is an attribute of the customer's row."""
    assert order.user is not None
    assert plain(getattr(order.user, {"id": "user_id"}.get(name, name))) == plain(
        getattr(document.user, name)
    )


@pytest.mark.parametrize("name", fields_of("MTH-"))
def test_method(order: Order, document: documents.Order, name: str) -> None:
    """Each field of the payment method."""
    assert plain(getattr(order.method, name)) == plain(getattr(document.method, name))


@pytest.mark.parametrize("name", fields_of("ITM-"))
def test_item(order: Order, document: documents.Order, name: str) -> None:
    """Each field of an item is an attribute of its row."""
    assert document.items is not None
    item = order.items.get(position=0)
    value = getattr(item, {"id": "item_id"}.get(name, name))
    assert plain(value) == plain(getattr(document.items[0], name))


@pytest.mark.parametrize("name", fields_of("RFD-"))
def test_refund(order: Order, document: documents.Order, name: str) -> None:
    """Each field of a refund, on the order and on the refund's own row."""
    assert getattr(order.refund, name) == getattr(document.refund, name) == getattr(order.refunds.get(), name)


@pytest.mark.spec("ORD-31")
@pytest.mark.parametrize("charge", [None, Decimal("64.12")])
def test_a_refund_that_states_no_amount_is_shown(charge: Decimal | None) -> None:
    """It is one of the whole charge; where that is not known either, only the amount is missing."""
    document = json.loads(VECTOR.read_text(encoding="utf-8"), parse_float=Decimal)
    refund = {**document["refund"], "amount": None}
    paid = {"amount": None, "original_amount": None, "charge_amount": charge}
    observation = Observation(
        source=Source.NOTIFICATION,
        order=parse_order({**document, **paid, "refund": refund}),
        event="payment.refund",
        observed_at=timezone.now(),
    )
    record(app_settings().project(), [observation], Cause(source=Source.NOTIFICATION))
    shown = Order.objects.get().refund
    assert shown is not None
    assert (shown.reason, shown.code, shown.amount) == (refund["reason"], refund["code"], charge)


def plain(value: Any) -> Any:
    """A value without the document it was read from."""
    if isinstance(value, Snapshot):
        return {
            each.name: plain(getattr(value, each.name)) for each in fields(value) if each.name != "document"
        }
    return list(value) if isinstance(value, tuple) else value
