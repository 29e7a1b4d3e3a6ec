"""Exact storage on every database: identifiers compare exactly, documents stay complete."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from checkout_integration.models import Incident, Notification, Order, Refund
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.strict_json import MAX_DEPTH
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import notification, record_listed
from tests.support.scale import times

pytestmark = pytest.mark.django_db

ALIKE = [
    "order-a",
    "order-\u00e1",
    "order-a\u0301",
    "order-\uff41",
    "order-a ",
    "order-a\t",
    "order-\u00df",
    "order-ss",
]


def test_orders_whose_ids_look_alike_are_never_merged(checkout_deliver: Deliver) -> None:
    """Ids are compared exactly: case, accents and trailing spaces distinguish orders."""
    words = ("".join(letters) for letters in product("aA", repeat=times(5, 10, quick_run=3)))
    order_ids = [*ALIKE, *words]
    for order_id in order_ids:
        checkout_deliver(order=OrderDocumentFactory(id=order_id))
    for order_id in order_ids[::2]:
        checkout_deliver(notification("payment.refund", OrderDocumentFactory(id=order_id)))
    expected = dict.fromkeys(order_ids, "processed") | dict.fromkeys(order_ids[::2], "refunded")
    assert dict(Order.objects.values_list("order_id", "status")) == expected


def test_projects_whose_names_look_alike_are_apart(checkout_deliver: Deliver, settings: Any) -> None:
    """The same order id in two projects is two orders."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    alike = {"Default": {**own, "SECRET_KEY": "sandbox_other_secret"}}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], **alike}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    order = OrderDocumentFactory()
    for project in projects:
        assert checkout_deliver(order=order, project=project).status_code == 200
    assert set(Order.objects.values_list("project", "order_id")) == {(each, order["id"]) for each in projects}


def test_deepest_document_is_stored(checkout_deliver: Deliver) -> None:
    """Every database stores what the reader accepts: MariaDB has a limit of its own."""
    deep: Any = 1
    for _ in range(MAX_DEPTH - 2):  # below the envelope and the order
        deep = [deep]
    checkout_deliver(order=OrderDocumentFactory(unknown=deep))
    assert Notification.objects.get().state == Notification.State.APPLIED
    assert Order.objects.get().whole_document["unknown"] == deep


FINE = {"amount": Decimal("9.99001"), "fee": {"amount": Decimal(10) ** 16, "currency": "USD"}}


@pytest.mark.parametrize("first", ["notification", "list"])
def test_an_amount_that_no_column_holds_is_reported_to_staff(checkout_deliver: Deliver, first: str) -> None:
    """Once for each amount, however often and from any source; the document has it unchanged, and nothing stops."""
    order = {**OrderDocumentFactory(), **FINE}
    if first == "list":
        record_listed([order])
    for delivery_try in (0, 1):
        assert checkout_deliver(order=order, delivery_try=delivery_try).status_code == 200
    record_listed([order])
    row = Order.objects.get()
    assert (row.status, row.amount, row.fee_amount) == ("processed", Decimal("9.99"), None)
    assert {name: row.whole_document[name] for name in FINE} == FINE
    kinds = list(
        Incident.objects.filter(order=row, kind__startswith="inexact").values_list("kind", flat=True)
    )
    assert sorted(kinds) == ["inexact:amount", "inexact:fee.amount"]


def test_a_refund_that_no_column_holds_is_reported_to_staff(checkout_deliver: Deliver) -> None:
    """With its order, also where the list showed it before."""
    paid = OrderDocumentFactory(transaction="tx-1")
    back = {
        **paid,
        "id": "back",
        "created_at": "2199-01-01T00:00:00Z",
        "status": "refunded",
        "refunded": True,
    }
    record_listed([{**back, "refund": {"amount": Decimal("9.123456"), "currency": "USD"}}])
    assert Refund.objects.get().amount == Decimal("9.12")
    checkout_deliver(order=paid)
    assert Order.objects.get().status == "refunded"
    assert Incident.objects.filter(order__order_id=paid["id"], kind="inexact:refund.amount").exists()


ODD = b"1.1e-21"


def odd(order: dict[str, Any], **places: Any) -> bytes:
    """A payment.success with the text "ODD" in place of a number beyond our limits."""
    document = notification("payment.success", {**order, **places})
    return strict_json.dumps(document).encode().replace(b'"ODD"', ODD)


@pytest.mark.parametrize(
    ("places", "incidents"),
    [
        ({"from_the_future": "ODD"}, ["unreadable:other"]),
        ({"items": [{"id": "hat", "amount": "ODD"}]}, ["unreadable:items"]),
        ({"tax": {"amount": "ODD", "currency": "USD"}, "fee": "ODD"}, ["unreadable:fee", "unreadable:tax"]),
    ],
)
def test_a_number_beyond_our_limits_costs_its_field(
    checkout_deliver: Deliver, places: dict[str, Any], incidents: list[str]
) -> None:
    """The notification is applied, the checkout verified and granted; an incident names the empty field."""
    checkout = CheckoutFactory()
    body = odd(order_document_for(checkout), **places)
    for _ in range(2):
        assert checkout_deliver(body).status_code == 200
    order = Order.objects.get()
    assert (order.status, order.verdict, Notification.objects.get().state) == (
        "processed",
        "verified",
        "applied",
    )
    assert sorted(Incident.objects.values_list("kind", flat=True)) == incidents
    assert bytes(Notification.objects.get().body or b"") == body


def test_an_amount_beyond_our_limits_is_looked_at(checkout_deliver: Deliver) -> None:
    """It is the field that the verdict needs."""
    checkout_deliver(odd(order_document_for(CheckoutFactory()), amount="ODD"))
    order = Order.objects.get()
    assert (order.status, order.amount, order.verdict, order.verdict_reason) == (
        "processed",
        None,
        "review",
        "amount",
    )
    assert "unreadable:amount" in set(Incident.objects.values_list("kind", flat=True))


def test_float_noise_loses_no_checkout(checkout_deliver: Deliver) -> None:
    """The checkout is verified; the column has the paid amount, the document the sent one; staff get an incident."""
    noise = Decimal("595.0000000000001")
    checkout = CheckoutFactory(expected_amount=Decimal(595))
    sent = dict.fromkeys(("amount", "original_amount", "charge_amount"), noise)
    order = {**order_document_for(checkout), **sent}
    checkout_deliver(order=order)
    record_listed([{**order, **dict.fromkeys(sent, Decimal(595))}])
    stored = Order.objects.get()
    assert (stored.verdict, stored.amount, stored.original_amount, stored.charge_amount) == (
        "verified",
        *[595] * 3,
    )
    assert stored.whole_document["amount"] == noise
    assert set(Incident.objects.values_list("kind", flat=True)) == {f"inexact:{name}" for name in sent}


@pytest.mark.parametrize(("charged", "back"), [("595.0000000000001", "595"), ("595", "594.9999999999999")])
def test_float_noise_is_no_refund_in_part(checkout_deliver: Deliver, charged: str, back: str) -> None:
    """All of the money went back, so the goods are taken back."""
    checkout = CheckoutFactory(expected_amount=Decimal(595))
    order = {**order_document_for(checkout), "charge_amount": Decimal(charged)}
    checkout_deliver(order=order)
    refund = {"amount": Decimal(back), "currency": order["charge_currency"], "reason": "", "code": ""}
    ended = {**order, "status": "refunded", "refunded": True, "refund": refund}
    checkout_deliver(notification("payment.refund", ended))
    checkout.refresh_from_db()
    assert (checkout.status, Order.objects.get().status) == ("reversed", "refunded")


@pytest.mark.parametrize("amount", ["594.996", "595.00001", "595.000001", "594.999999"])
def test_what_is_more_than_noise_is_looked_at(checkout_deliver: Deliver, amount: str) -> None:
    """It is no price in this currency, so it is not the checkout's."""
    checkout = CheckoutFactory(expected_amount=Decimal(595))
    checkout_deliver(order={**order_document_for(checkout), "amount": Decimal(amount)})
    order = Order.objects.get()
    assert (order.verdict, order.verdict_reason) == ("review", "amount")
    assert "inexact:amount" in set(Incident.objects.values_list("kind", flat=True))


@pytest.mark.spec("ORD-26", "ORD-27", "ORD-28", "ORD-39", "ORD-40", "RFD-02")
def test_each_amount_has_its_own_currency(checkout_deliver: Deliver) -> None:
    """Tax, fee and revenue are in currencies of their own, beside that of the order and that of the card."""
    currencies = {
        "": "USD",
        "charge_": "JPY",
        "tax_": "EUR",
        "fee_": "GBP",
        "net_revenue_": "CHF",
        "refund_": "SEK",
    }
    amounts = {name: Decimal(number) for number, name in enumerate(currencies, start=1)}
    parts = {
        name.rstrip("_"): {"amount": amounts[name], "currency": currencies[name]}
        for name in ("tax_", "fee_", "net_revenue_", "refund_")
    }
    amounts_and_currencies = {
        "amount": amounts[""],
        "currency": "USD",
        "charge_amount": amounts["charge_"],
        "charge_currency": "JPY",
    }
    order = {**OrderDocumentFactory(status="refunded"), **amounts_and_currencies, **parts}
    checkout_deliver(notification("payment.refund", order))
    stored = Order.objects.get()
    assert {name: getattr(stored, f"{name}currency") for name in currencies} == currencies
    assert {name: getattr(stored, f"{name}amount") for name in currencies} == amounts
