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


@pytest.mark.spec(
    "ORD-02", "ORD-06", "ORD-08", "ORD-11", "ORD-14", "ORD-22", "ORD-26", "ORD-27", "ORD-28", "ORD-33"
)
@pytest.mark.spec(
    "ORD-34", "ORD-36", "ORD-37", "ORD-39", "ORD-40", "ORD-41", "ORD-42", "ORD-47", "MTH-04", "ORD-23"
)
@pytest.mark.parametrize("second", [False, True])
def test_each_column_is_a_copy_of_its_own_field(second: bool) -> None:
    """What SQL searches and sums is what was sent, and no other field: all of them differ, and two orders from each other."""
    number = 100 if second else 0
    document = json.loads(VECTOR.read_text(encoding="utf-8"), parse_float=Decimal)
    sent: dict[str, Any] = {
        "amount": Decimal(number + 1), "currency": "EUR", "original_amount": Decimal(number + 2),
        "charge_amount": Decimal(number + 3), "charge_currency": "SEK" if second else "CHF",
        "country": "FR" if second else "DE", "transaction": f"tx-{number}", "receipt_number": f"R-{number}",
        "recurring_id": f"agreement-{number}", "vat_payer": "seller" if second else "buyer", "is_production": second,
        "virtual_currency_amount": Decimal(number + 4),
    }  # fmt: skip
    times = {
        name: f"2025-0{month}-01T00:00:{number % 60:02}+00:00"
        for month, name in enumerate(("created_at", "canceled_at", "refunded_at"), start=1)
    }
    parts = {
        "tax": {
            "type": "vat",
            "rate": Decimal("0.21") if second else Decimal("0.19"),
            "amount": number + 5,
            "currency": "USD",
        },
        "net_revenue": {"amount": number + 6, "currency": "GBP"},
        "fee": {"amount": number + 7, "currency": "PLN"},
        "method": {**document["method"], "type": f"TYPE-{number}", "title": "T"},
    }
    observation = Observation(
        source=Source.NOTIFICATION,
        order=parse_order({**document, **sent, **times, **parts, "type": "simple"}),
        event="payment.success",
        observed_at=timezone.now(),
    )
    record(app_settings().project(), [observation], Cause(source=Source.NOTIFICATION))
    row = Order.objects.get()
    assert {name: getattr(row, name) for name in sent} == sent
    assert {name: getattr(row, name).isoformat() for name in times} == times
    columns = ("tax_rate", "tax_amount", "tax_currency", "net_revenue_amount", "net_revenue_currency", "fee_amount",
               "fee_currency", "method_type")  # fmt: skip
    assert [getattr(row, name) for name in columns] == [
        parts["tax"]["rate"], number + 5, "USD", number + 6, "GBP", number + 7, "PLN", f"TYPE-{number}",
    ]  # fmt: skip


@pytest.mark.spec("ORD-43")
@pytest.mark.parametrize("case", ["correct_payment", "invalid_signature", ""])
def test_the_testing_case_is_an_attribute(case: str) -> None:
    """Of a row that the list has shown; a notification with one is no order."""
    document = {**json.loads(VECTOR.read_text(encoding="utf-8"), parse_float=Decimal), "testing_case": case}
    observation = Observation(source=Source.LIST, order=parse_order(document), observed_at=timezone.now())
    record(app_settings().project(), [observation], Cause(source=Source.LIST))
    assert (Order.objects.get().testing_case or "") == case


@pytest.mark.spec("ORD-03", "ORD-04", "ORD-30", "ITM-01", "ORD-24")
def test_rows_of_their_own(order: Order, document: documents.Order) -> None:
    """Items and the customer are rows; the service's status is in the snapshot."""
    assert document.items is not None
    assert [item.item_id for item in order.items.all()] == [item.id for item in document.items]
    assert (order.snapshot.object, order.snapshot.status) == (document.object, document.status)


@pytest.mark.spec(
    "USR-01",
    "USR-03",
    "USR-04",
    "USR-05",
    "USR-06",
    "USR-07",
    "USR-08",
    "USR-09",
    "USR-10",
    "USR-11",
    "USR-12",
    "USR-13",
    "USR-14",
)
@pytest.mark.parametrize("name", sorted(set(fields_of("USR-")) - {"object"}))
def test_user(order: Order, document: documents.Order, name: str) -> None:
    """Each field of a User is an attribute of the customer's row."""
    assert order.user is not None
    assert plain(getattr(order.user, {"id": "user_id"}.get(name, name))) == plain(
        getattr(document.user, name)
    )


@pytest.mark.spec(
    "MTH-01",
    "MTH-02",
    "MTH-03",
    "MTH-04",
    "MTH-05",
    "MTH-06",
    "MTH-07",
    "MTH-08",
    "MTH-09",
    "MTH-10",
    "MTH-11",
)
@pytest.mark.parametrize("name", fields_of("MTH-"))
def test_method(order: Order, document: documents.Order, name: str) -> None:
    """Each field of the payment method."""
    assert plain(getattr(order.method, name)) == plain(getattr(document.method, name))


@pytest.mark.spec("ITM-01", "ITM-02", "ITM-03", "ITM-04", "ITM-05", "ITM-06", "ITM-07", "ITM-08")
@pytest.mark.parametrize("name", fields_of("ITM-"))
def test_item(order: Order, document: documents.Order, name: str) -> None:
    """Each field of an item is an attribute of its row."""
    assert document.items is not None
    item = order.items.get(position=0)
    value = getattr(item, {"id": "item_id"}.get(name, name))
    assert plain(value) == plain(getattr(document.items[0], name))


@pytest.mark.spec("RFD-01", "RFD-02", "RFD-03", "RFD-04", "RFD-05", "RFD-06")
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
