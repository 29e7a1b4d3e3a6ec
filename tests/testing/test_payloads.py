"""Payload documents have the specification's fields, and their parts agree."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.protocol import notification, order, strict_json, user
from checkout_integration.protocol.decoder import Snapshot
from checkout_integration.testing.payloads import (
    CursorPageFactory,
    ErrorDocumentFactory,
    ListedOrderDocumentFactory,
    MethodDocumentFactory,
    NotificationDocumentFactory,
    OrderDocumentFactory,
    TokenDocumentFactory,
    TransactionPageFactory,
    UserDocumentFactory,
)

OWN = {"document", "problems"}


def named(snapshot: type[Snapshot]) -> set[str]:
    """Return the specification's fields of a snapshot."""
    return {each.name for each in fields(snapshot)} - OWN


def test_an_order_has_every_field() -> None:
    """Nothing of the Order resource is left out, and nothing is made up."""
    assert set(OrderDocumentFactory()) == named(order.Order)


def test_a_user_has_every_field() -> None:
    """Nothing of the User resource is left out, and nothing is made up."""
    assert set(UserDocumentFactory()) == named(user.User)


def test_a_notification_has_every_field() -> None:
    """Nothing of the Webhook object is left out, and nothing is made up."""
    assert set(NotificationDocumentFactory()) == named(notification.Notification)


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("status", ["created", "processed", "refunded", "chargeback", "canceled", "rejected"])
def test_an_order_reads_without_problems(status: str, seen: bool) -> None:
    """Both ways of writing are ones that the parser knows."""
    body = strict_json.dumps(NotificationDocumentFactory(object__status=status, object__seen=seen)).encode()
    read = notification.parse_notification(strict_json.loads(body)).order()
    assert read.problems == ()
    assert bool(read.refund) is (status in {"refunded", "chargeback"})
    assert bool(read.cancellation) is (status in {"canceled", "rejected"})
    assert (read.canceled_at is not None) is (status == "canceled")


@pytest.mark.spec("ORD-31", "RFD-01", "RFD-02")
def test_a_refund_returns_what_was_charged() -> None:
    """The refund follows the order's charge."""
    document = OrderDocumentFactory(status="refunded", charge_amount=30, charge_currency="EUR")
    assert (document["refund"]["amount"], document["refund"]["currency"]) == (30, "EUR")


@pytest.mark.spec("ORD-48", "MTH-05")
def test_a_listed_order_differs() -> None:
    """A list row has no id of the user, but the handler of the method."""
    document = ListedOrderDocumentFactory()
    assert "id" not in document["user"]
    assert document["method"]["handler"]


@pytest.mark.spec("ITM-07")
def test_a_paid_key_has_its_code() -> None:
    """Codes are there for processed keys only."""
    paid = OrderDocumentFactory(type="key", products=["starfall-key"])
    made = OrderDocumentFactory(type="key", products=["starfall-key"], status="created")
    assert paid["items"][0]["code"]
    assert "code" not in made["items"][0]


@pytest.mark.spec("WHK-01")
def test_a_notification_keeps_its_id_over_attempts() -> None:
    """The id names order and event, as seen in the field."""
    order = OrderDocumentFactory()
    first, second = (NotificationDocumentFactory(object=order) for _ in range(2))
    assert first["id"] == second["id"]
    assert NotificationDocumentFactory(object=order, event="payment.refund")["id"] != first["id"]


@pytest.mark.spec("EVT-07", "EVT-08", "USR-02")
def test_a_validation_carries_the_user_alone() -> None:
    """The payload of user.validate is a User."""
    assert NotificationDocumentFactory(event="user.validate")["object"]["object"] == "user"


PAID = OrderDocumentFactory(user__external_id="ada", type="key", products=["game"])
REFUNDED = OrderDocumentFactory(
    status="refunded", amount=Decimal(20), currency="EUR", charge_amount=Decimal(30), charge_currency="PLN"
)
CANCELED = OrderDocumentFactory(status="canceled", seen=True)
PARTS = [
    # field, and what it is in PAID, REFUNDED and CANCELED; ... where it is some text
    pytest.param("id", (..., ..., ...), marks=pytest.mark.spec("ORD-01")),
    pytest.param("transaction", (..., ..., ...), marks=pytest.mark.spec("ORD-02")),
    pytest.param("object", ("order", "order", "order"), marks=pytest.mark.spec("ORD-03")),
    pytest.param("status", ("processed", "refunded", "canceled"), marks=pytest.mark.spec("ORD-04", "STA-01")),
    pytest.param("description", (..., ..., ...), marks=pytest.mark.spec("ORD-05")),
    pytest.param("created_at", (..., ..., ...), marks=pytest.mark.spec("ORD-06")),
    pytest.param("canceled", (False, False, True), marks=pytest.mark.spec("ORD-07", "STA-04")),
    pytest.param("canceled_at", ("", "", ...), marks=pytest.mark.spec("ORD-08")),
    pytest.param("cancellation.code", (None, None, "02"), marks=pytest.mark.spec("ORD-09")),
    pytest.param("cancellation.reason", (None, None, "Declined"), marks=pytest.mark.spec("ORD-09")),
    pytest.param("refunded", (False, True, False), marks=pytest.mark.spec("ORD-10", "STA-06")),
    pytest.param("refunded_at", ("", ..., "0001-01-01T00:00:00Z"), marks=pytest.mark.spec("ORD-11")),
    pytest.param("receipt_email", ("ada@example.com", ..., ...), marks=pytest.mark.spec("ORD-12")),
    pytest.param("receipt_phone", ("", "", ""), marks=pytest.mark.spec("ORD-13")),
    pytest.param("receipt_number", (..., ..., ...), marks=pytest.mark.spec("ORD-14")),
    pytest.param("receipt_url", (..., ..., ...), marks=pytest.mark.spec("ORD-15")),
    pytest.param("receipt_id", (..., ..., ...), marks=pytest.mark.spec("ORD-16")),
    pytest.param("agreement_version", ("1.0", "1.0", "1.0"), marks=pytest.mark.spec("ORD-17")),
    pytest.param("agreement_accepted", (True, True, True), marks=pytest.mark.spec("ORD-18")),
    pytest.param("notify_sale", (False, False, False), marks=pytest.mark.spec("ORD-19")),
    pytest.param("notify_sale_email", ("", "", ""), marks=pytest.mark.spec("ORD-20")),
    pytest.param("issuer.url", (..., ..., None), marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.embedded", (False, False, None), marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.referrer_host", (..., ..., None), marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.utm_campaign", ("", "", None), marks=pytest.mark.spec("ORD-21")),
    pytest.param("amount", (Decimal("9.99"), 20, Decimal("9.99")), marks=pytest.mark.spec("ORD-22")),
    pytest.param("currency", ("USD", "EUR", "USD"), marks=pytest.mark.spec("ORD-23")),
    pytest.param("billing_address.country", ("DE", "DE", None), marks=pytest.mark.spec("ORD-25")),
    pytest.param("tax.type", ("VAT", "VAT", "VAT"), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.rate", (0, 0, 0), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.amount", (0, 0, 0), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.currency", ("USD", "EUR", "USD"), marks=pytest.mark.spec("ORD-26")),
    pytest.param("net_revenue.amount", (Decimal("9.99"), 20, None), marks=pytest.mark.spec("ORD-27")),
    pytest.param("net_revenue.currency", ("USD", "EUR", None), marks=pytest.mark.spec("ORD-27")),
    pytest.param("fee.amount", (0, 0, None), marks=pytest.mark.spec("ORD-28")),
    pytest.param("fee.currency", ("USD", "EUR", None), marks=pytest.mark.spec("ORD-28")),
    pytest.param("items.0.id", ("game", None, None), marks=pytest.mark.spec("ORD-30", "ITM-01")),
    pytest.param("items.0.sku", ("game", None, None), marks=pytest.mark.spec("ITM-02")),
    pytest.param("items.0.name", ("Product", None, None), marks=pytest.mark.spec("ITM-03")),
    pytest.param("items.0.description", ("A product", None, None), marks=pytest.mark.spec("ITM-04")),
    pytest.param("items.0.images", ([], None, None), marks=pytest.mark.spec("ITM-05")),
    pytest.param("items.0.metadata", ({}, None, None), marks=pytest.mark.spec("ITM-06")),
    pytest.param("items.0.code", ("AB3D5-FG7H9-JK2M4", None, None), marks=pytest.mark.spec("ITM-07")),
    pytest.param("items.0.platform", ("steam", None, None), marks=pytest.mark.spec("ITM-08", "ORD-36")),
    pytest.param("refund.amount", (None, 30, None), marks=pytest.mark.spec("ORD-31", "RFD-01")),
    pytest.param("refund.currency", (None, "PLN", None), marks=pytest.mark.spec("RFD-02")),
    pytest.param("refund.reason", (None, ..., None), marks=pytest.mark.spec("RFD-03")),
    pytest.param("refund.code", (None, "requested_by_customer", None), marks=pytest.mark.spec("RFD-04")),
    pytest.param("refund.receipt_number", (None, ..., None), marks=pytest.mark.spec("RFD-05")),
    pytest.param("refund.receipt_url", (None, ..., None), marks=pytest.mark.spec("RFD-06")),
    pytest.param("metadata", ({}, {}, {}), marks=pytest.mark.spec("ORD-32")),
    pytest.param("original_amount", (Decimal("9.99"), 20, Decimal("9.99")), marks=pytest.mark.spec("ORD-33")),
    pytest.param("country", ("DE", "DE", "DE"), marks=pytest.mark.spec("ORD-34")),
    pytest.param("type", ("key", "simple", "simple"), marks=pytest.mark.spec("ORD-35")),
    pytest.param("platform_id", ("steam", "", ""), marks=pytest.mark.spec("ORD-36")),
    pytest.param("virtual_currency_amount", (0, 0, 0), marks=pytest.mark.spec("ORD-37")),
    pytest.param("is_buy_for_virtual_currency", (False, False, False), marks=pytest.mark.spec("ORD-38")),
    pytest.param("charge_currency", ("USD", "PLN", "USD"), marks=pytest.mark.spec("ORD-39")),
    pytest.param("charge_amount", (Decimal("9.99"), 30, Decimal("9.99")), marks=pytest.mark.spec("ORD-40")),
    pytest.param("vat_payer", ("nobody", "nobody", "nobody"), marks=pytest.mark.spec("ORD-41")),
    pytest.param("is_production", (False, False, False), marks=pytest.mark.spec("ORD-42")),
    pytest.param("testing_case", ("", "", ""), marks=pytest.mark.spec("ORD-43")),
    pytest.param("form_mode", ("embed", "embed", "embed"), marks=pytest.mark.spec("ORD-44")),
    pytest.param("merchant_info.company_name", (..., ..., ...), marks=pytest.mark.spec("ORD-45")),
    pytest.param("merchant_info.agreement_number", (..., ..., ...), marks=pytest.mark.spec("ORD-45")),
    pytest.param("recurring", (False, False, False), marks=pytest.mark.spec("ORD-46")),
    pytest.param("recurring_id", ("", "", ""), marks=pytest.mark.spec("ORD-47")),
    pytest.param("method.title", ("Bank card",) * 3, marks=pytest.mark.spec("ORD-29", "MTH-01")),
    pytest.param("method.external_id", ("BANKCARD",) * 3, marks=pytest.mark.spec("MTH-02")),
    pytest.param("method.payment_system_id", (..., ..., ...), marks=pytest.mark.spec("MTH-03")),
    pytest.param("method.type", ("bank_card",) * 3, marks=pytest.mark.spec("MTH-04")),
    pytest.param("method.saved", (False, False, False), marks=pytest.mark.spec("MTH-06")),
    pytest.param("method.card.first6", ("424242",) * 3, marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.last4", ("4242",) * 3, marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.masked", ("424242******4242",) * 3, marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.secure3d", (True, True, True), marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.refund_allowed", (True, True, True), marks=pytest.mark.spec("MTH-10")),
    pytest.param("method.recurring_allowed", (False, False, False), marks=pytest.mark.spec("MTH-11")),
    pytest.param("user.id", (..., ..., ...), marks=pytest.mark.spec("ORD-24", "USR-01")),
    pytest.param("user.object", ("user", "user", "user"), marks=pytest.mark.spec("USR-02")),
    pytest.param("user.external_id", ("ada", ..., ...), marks=pytest.mark.spec("USR-03")),
    pytest.param("user.name", (..., ..., ...), marks=pytest.mark.spec("USR-04")),
    pytest.param("user.email", ("ada@example.com", ..., ...), marks=pytest.mark.spec("USR-05")),
    pytest.param("user.email_verified", (True, True, True), marks=pytest.mark.spec("USR-06")),
    pytest.param("user.phone", (..., ..., ...), marks=pytest.mark.spec("USR-07")),
    pytest.param("user.phone_verified", (False, False, False), marks=pytest.mark.spec("USR-08")),
    pytest.param("user.ip", (..., ..., ...), marks=pytest.mark.spec("USR-09")),
    pytest.param("user.locale", ("en-US", "en-US", "en-US"), marks=pytest.mark.spec("USR-10")),
    pytest.param("user.address.country", ("DE", "DE", "DE"), marks=pytest.mark.spec("USR-11")),
    pytest.param("user.address.city", (..., ..., ...), marks=pytest.mark.spec("USR-11")),
    pytest.param("user.address.postal_code", (..., ..., ...), marks=pytest.mark.spec("USR-11")),
    pytest.param("user.address.state", ("BE", "BE", "BE"), marks=pytest.mark.spec("USR-11")),
    pytest.param("user.metadata", ({}, {}, {}), marks=pytest.mark.spec("USR-12")),
    pytest.param("user.notify_new_region", (False, False, False), marks=pytest.mark.spec("USR-13")),
    pytest.param("user.notify_new_region_email", ("", "", ""), marks=pytest.mark.spec("USR-14")),
]


@pytest.mark.parametrize(("path", "values"), PARTS)
def test_an_order_says_what_its_status_and_its_keywords_ask_for(path: str, values: tuple[Any, ...]) -> None:
    """A paid key, a refund in another currency, and a cancelled order as deployed services write it."""
    for document, value in zip((PAID, REFUNDED, CANCELED), values, strict=True):
        *rooms, name = path.split(".")
        room: Any = document
        for step in rooms:
            room = room and room[int(step) if step.isdigit() else step]
        found = room and room[name]
        assert (isinstance(found, str) and found) if value is ... else found == value, path


@pytest.mark.spec("ORD-07", "ORD-08", "ORD-09", "ORD-10", "ORD-11", "ORD-31")
@pytest.mark.parametrize(
    ("status", "canceled", "stopped", "reversed_"),
    [
        pytest.param("created", False, False, False, marks=pytest.mark.spec("STA-02")),
        pytest.param("processed", False, False, False, marks=pytest.mark.spec("STA-03")),
        pytest.param("canceled", True, True, False, marks=pytest.mark.spec("STA-04")),
        pytest.param("rejected", False, True, False, marks=pytest.mark.spec("STA-05")),
        pytest.param("refunded", False, False, True, marks=pytest.mark.spec("STA-06")),
        pytest.param("chargeback", False, False, True, marks=pytest.mark.spec("STA-07")),
    ],
)
@pytest.mark.parametrize(("seen", "never"), [(False, ""), (True, "0001-01-01T00:00:00Z")])
def test_its_parts_agree_with_its_status(
    status: str, canceled: bool, stopped: bool, reversed_: bool, seen: bool, never: str
) -> None:
    """What did not happen is false or null, and has the time of its profile."""
    order = OrderDocumentFactory(status=status, seen=seen)
    assert (order["canceled"], order["refunded"]) == (canceled, reversed_)
    assert [order["cancellation"] is None, order["refund"] is None] == [not stopped, not reversed_]
    assert [order["canceled_at"] == never, order["refunded_at"] == never] == [not canceled, not reversed_]


@pytest.mark.spec("MTH-08", "MTH-09")
def test_a_card_is_neither_a_wallet_nor_a_crypto_currency() -> None:
    """Both are null for other methods."""
    method = MethodDocumentFactory()
    assert (method["wallet"], method["crypto_currency"]) == (None, None)
    wallet = {"brand": "QuickPay", "account": "ada"}
    assert MethodDocumentFactory(card=None, wallet=wallet)["wallet"] == wallet


@pytest.mark.spec("WHK-02", "WHK-03", "WHK-04", "WHK-05", "WHK-06", "WHK-07", "WHK-08", "EVT-08", "EVT-10")
def test_a_notification_is_made_of_its_event_and_object() -> None:
    """Of a live payment and of a question about a customer."""
    paid = NotificationDocumentFactory(object__is_production=True, object__id="o-1")
    asks = NotificationDocumentFactory(event="user.validate", object__external_id="ada")
    assert [(each["type"], each["event"], each["live"]) for each in (paid, asks)] == [
        ("notification", "payment.success", True),
        ("notification", "user.validate", False),
    ]
    assert (paid["object"]["id"], asks["object"]["external_id"]) == ("o-1", "ada")
    assert (paid["delivery_try"], asks["delivery_try"], paid["expires_at"]) == (0, 1, "")
    assert datetime.fromisoformat(paid["created_at"]).tzinfo is not None


@pytest.mark.spec("TOK-01", "TOK-02", "EP1-23")
def test_a_token_is_in_the_address_of_its_form() -> None:
    """Of two tokens that differ."""
    first, second = TokenDocumentFactory(), TokenDocumentFactory(token="t-2")
    assert first["token"] and first["token"] != second["token"] == "t-2"
    assert first["payment_form_url"].endswith(first["token"]) and second["payment_form_url"].endswith("t-2")


@pytest.mark.spec("EP3-12", "LST-01", "LST-02", "LST-03", "LST-04", "LST-05", "EP4-04")
def test_lists_count_what_is_in_them() -> None:
    """Both kinds of list, without and with objects."""
    rows = [{"id": "a"}, {"id": "b"}]
    pages = [TransactionPageFactory(), TransactionPageFactory(items=rows)]
    assert pages == [{"items": None, "count": 0}, {"items": rows, "count": 2}]
    assert [CursorPageFactory(), CursorPageFactory(data=rows, has_more=True, has_before=True)] == [
        {"object": "list", "data": [], "has_more": False, "has_before": False, "total_count": 0},
        {"object": "list", "data": rows, "has_more": True, "has_before": True, "total_count": 2},
    ]


@pytest.mark.spec("ERR-01", "ERR-02", "ERR-03", "HTT-01")
def test_an_error_has_three_texts() -> None:
    """Those of deployed services, or the test's own."""
    assert ErrorDocumentFactory() == {"code": "fm000048", "message": "invalid request data", "details": ""}
    own = {"code": "c", "message": "m", "details": "d"}
    assert ErrorDocumentFactory(**own) == own
