"""What is stored is what came, on every database: identifiers compare exactly, documents keep their depth (A.39, A.40)."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from checkout_integration.models import Incident, Notification, Order, Refund
from checkout_integration.protocol.strict_json import MAX_DEPTH
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.shop import notification, record_listed
from tests.scale import times

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
    """An id is text, not a word: neither case nor accents nor spaces at its end make one order of two."""
    words = ("".join(letters) for letters in product("aA", repeat=times(5, 10)))
    order_ids = [*ALIKE, *words]
    for order_id in order_ids:
        checkout_deliver(order=OrderDocumentFactory(id=order_id))
    for order_id in order_ids[::2]:
        checkout_deliver(notification("payment.refund", OrderDocumentFactory(id=order_id)))
    expected = dict.fromkeys(order_ids, "processed") | dict.fromkeys(order_ids[::2], "refunded")
    assert dict(Order.objects.values_list("order_id", "status")) == expected


def test_projects_whose_names_look_alike_are_apart(checkout_deliver: Deliver, settings: Any) -> None:
    """The same order id in two projects is two orders (G9)."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    alike = {"Default": {**own, "SECRET_KEY": "sandbox_other_secret"}}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], **alike}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    order = OrderDocumentFactory()
    for project in projects:
        assert checkout_deliver(order=order, project=project).status_code == 200
    assert set(Order.objects.values_list("project", "order_id")) == {(each, order["id"]) for each in projects}


def test_deepest_document_is_stored(checkout_deliver: Deliver) -> None:
    """What the reader takes, every database takes: MariaDB has a limit of its own."""
    deep: Any = 1
    for _ in range(MAX_DEPTH - 2):  # below the envelope and the order
        deep = [deep]
    checkout_deliver(order=OrderDocumentFactory(unknown=deep))
    assert Notification.objects.get().state == Notification.State.APPLIED
    assert Order.objects.get().whole_document["unknown"] == deep


FINE = {"amount": Decimal("9.99001"), "fee": {"amount": Decimal(10) ** 16, "currency": "USD"}}


@pytest.mark.parametrize("first", ["notification", "list"])
def test_an_amount_that_no_column_holds_is_told_to_staff(checkout_deliver: Deliver, first: str) -> None:
    """Once for each amount, however often and by which way it comes; it is kept as it came, and stops nothing."""
    order = {**OrderDocumentFactory(), **FINE}
    if first == "list":
        record_listed([order])
    for delivery_try in (0, 1):
        assert checkout_deliver(order=order, delivery_try=delivery_try).status_code == 200
    record_listed([order])
    kept = Order.objects.get()
    assert (kept.status, kept.amount, kept.fee_amount) == ("processed", None, None)
    assert {name: kept.whole_document[name] for name in FINE} == FINE
    kinds = list(
        Incident.objects.filter(order=kept, kind__startswith="inexact").values_list("kind", flat=True)
    )
    assert sorted(kinds) == ["inexact:amount", "inexact:fee.amount"]


def test_a_refund_that_no_column_holds_is_told_to_staff(checkout_deliver: Deliver) -> None:
    """With the order that it belongs to, also where the list told of it before."""
    paid = OrderDocumentFactory(transaction="tx-1")
    back = {
        **paid,
        "id": "back",
        "created_at": "2199-01-01T00:00:00Z",
        "status": "refunded",
        "refunded": True,
    }
    record_listed([{**back, "refund": {"amount": Decimal("9.123456"), "currency": "USD"}}])
    assert Refund.objects.get().amount is None
    checkout_deliver(order=paid)
    assert Order.objects.get().status == "refunded"
    assert Incident.objects.filter(order__order_id=paid["id"], kind="inexact:refund.amount").exists()
