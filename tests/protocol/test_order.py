"""The Order snapshot: every field of the specification, and tolerance for everything else."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.protocol.order import Order, parse_order
from tests.support.protocol.vectors import vector


@pytest.fixture
def order() -> Order:
    """The order of the hand-written document, which has every field."""
    return parse_order(vector("order"))


PLAIN_FIELDS = [
    pytest.param("id", "0b8f8f0e-9d1c-4c6e-8f0b-1f7a2c3d4e5f", marks=pytest.mark.spec("ORD-01")),
    pytest.param("transaction", "tx-4711", marks=pytest.mark.spec("ORD-02")),
    pytest.param("object", "order", marks=pytest.mark.spec("ORD-03")),
    pytest.param("status", "refunded", marks=pytest.mark.spec("ORD-04")),
    pytest.param("description", "Two <maps> & one café skin", marks=pytest.mark.spec("ORD-05")),
    pytest.param(
        "created_at", datetime(2024, 5, 1, 10, 0, 0, 123456, tzinfo=UTC), marks=pytest.mark.spec("ORD-06")
    ),
    pytest.param("canceled", False, marks=pytest.mark.spec("ORD-07")),
    pytest.param("canceled_at", None, marks=pytest.mark.spec("ORD-08")),
    pytest.param("cancellation.code", "02", marks=pytest.mark.spec("ORD-09")),
    pytest.param("cancellation.reason", "declined by the bank", marks=pytest.mark.spec("ORD-09")),
    pytest.param("refunded", True, marks=pytest.mark.spec("ORD-10")),
    pytest.param("refunded_at", datetime(2024, 5, 3, 10, 30, tzinfo=UTC), marks=pytest.mark.spec("ORD-11")),
    pytest.param("receipt_email", "ada@mail.example", marks=pytest.mark.spec("ORD-12")),
    pytest.param("receipt_phone", "+4930123456", marks=pytest.mark.spec("ORD-13")),
    pytest.param("receipt_number", "R-77", marks=pytest.mark.spec("ORD-14")),
    pytest.param("receipt_url", "https://receipts.example/R-77", marks=pytest.mark.spec("ORD-15")),
    pytest.param("receipt_id", "rcpt-77", marks=pytest.mark.spec("ORD-16")),
    pytest.param("agreement_version", "3.1", marks=pytest.mark.spec("ORD-17")),
    pytest.param("agreement_accepted", True, marks=pytest.mark.spec("ORD-18")),
    pytest.param("notify_sale", True, marks=pytest.mark.spec("ORD-19")),
    pytest.param("notify_sale_email", "sale@mail.example", marks=pytest.mark.spec("ORD-20")),
    pytest.param("issuer.url", "https://shop.example/basket", marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.embedded", True, marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.reference", "link-9", marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.reference_type", "payment_link", marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.utm_source", "letter", marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.utm_medium", "email", marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.utm_campaign", "spring", marks=pytest.mark.spec("ORD-21")),
    pytest.param("issuer.referrer_host", "shop.example", marks=pytest.mark.spec("ORD-21")),
    pytest.param("amount", Decimal("59.99"), marks=pytest.mark.spec("ORD-22")),
    pytest.param("currency", "EUR", marks=pytest.mark.spec("ORD-23")),
    pytest.param("user.external_id", "player-42", marks=pytest.mark.spec("ORD-24")),
    pytest.param("billing_address.country", "US", marks=pytest.mark.spec("ORD-25")),
    pytest.param("billing_address.state", "CA", marks=pytest.mark.spec("ORD-25")),
    pytest.param("billing_address.zip", "94016", marks=pytest.mark.spec("ORD-25")),
    pytest.param("tax.type", "vat", marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.rate", Decimal("0.19"), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.amount", Decimal("9.58"), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.currency", "EUR", marks=pytest.mark.spec("ORD-26")),
    pytest.param("net_revenue.amount", Decimal("47.41"), marks=pytest.mark.spec("ORD-27")),
    pytest.param("net_revenue.currency", "USD", marks=pytest.mark.spec("ORD-27")),
    pytest.param("fee.amount", Decimal("3.0"), marks=pytest.mark.spec("ORD-28")),
    pytest.param("fee.currency", "USD", marks=pytest.mark.spec("ORD-28")),
    pytest.param("method.title", "Bank card", marks=pytest.mark.spec("ORD-29", "MTH-01")),
    pytest.param("method.external_id", "BANKCARD", marks=pytest.mark.spec("MTH-02")),
    pytest.param("method.payment_system_id", "ps-5", marks=pytest.mark.spec("MTH-03")),
    pytest.param("method.type", "cards", marks=pytest.mark.spec("MTH-04")),
    pytest.param("method.handler", "acquirer-2", marks=pytest.mark.spec("MTH-05")),
    pytest.param("method.saved", True, marks=pytest.mark.spec("MTH-06")),
    pytest.param("method.card.first6", "400000", marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.last4", "0002", marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.masked", "400000******0002", marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.expiry_month", "07", marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.expiry_year", "2031", marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.brand", "VISA", marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.fingerprint", "fp-abc", marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.card.secure3d", True, marks=pytest.mark.spec("MTH-07")),
    pytest.param("method.wallet.brand", "QuickPay", marks=pytest.mark.spec("MTH-08")),
    pytest.param("method.wallet.account", "ada-wallet", marks=pytest.mark.spec("MTH-08")),
    pytest.param("method.crypto_currency.brand", "bitcoin", marks=pytest.mark.spec("MTH-09")),
    pytest.param("method.crypto_currency.address", "bc1qexample", marks=pytest.mark.spec("MTH-09")),
    pytest.param("method.refund_allowed", True, marks=pytest.mark.spec("MTH-10")),
    pytest.param("method.recurring_allowed", False, marks=pytest.mark.spec("MTH-11")),
    pytest.param("items.0.id", "item-1", marks=pytest.mark.spec("ORD-30", "ITM-01")),
    pytest.param("items.0.sku", "map-pack", marks=pytest.mark.spec("ITM-02")),
    pytest.param("items.0.name", "Map pack", marks=pytest.mark.spec("ITM-03")),
    pytest.param("items.0.description", "Two maps", marks=pytest.mark.spec("ITM-04")),
    pytest.param(
        "items.0.images",
        ("https://img.example/1.png", "https://img.example/2.png"),
        marks=pytest.mark.spec("ITM-05"),
    ),
    pytest.param("items.0.metadata", {"shelf": "a"}, marks=pytest.mark.spec("ITM-06")),
    pytest.param("items.0.code", "AAAA-BBBB", marks=pytest.mark.spec("ITM-07")),
    pytest.param("items.1.code", None, marks=pytest.mark.spec("ITM-07")),
    pytest.param("items.0.platform", "steam", marks=pytest.mark.spec("ITM-08")),
    pytest.param("items.1.platform", None, marks=pytest.mark.spec("ITM-08")),
    pytest.param("refund.amount", Decimal("64.12"), marks=pytest.mark.spec("ORD-31", "RFD-01")),
    pytest.param("refund.currency", "USD", marks=pytest.mark.spec("RFD-02")),
    pytest.param("refund.reason", "asked by the customer", marks=pytest.mark.spec("RFD-03")),
    pytest.param("refund.code", "R1", marks=pytest.mark.spec("RFD-04")),
    pytest.param("refund.receipt_number", "RR-78", marks=pytest.mark.spec("RFD-05")),
    pytest.param("refund.receipt_url", "https://receipts.example/RR-78", marks=pytest.mark.spec("RFD-06")),
    pytest.param("metadata", {"reference": "ref-0001"}, marks=pytest.mark.spec("ORD-32")),
    pytest.param("original_amount", Decimal("50.41"), marks=pytest.mark.spec("ORD-33")),
    pytest.param("country", "DE", marks=pytest.mark.spec("ORD-34")),
    pytest.param("type", "products", marks=pytest.mark.spec("ORD-35")),
    pytest.param("platform_id", "gog", marks=pytest.mark.spec("ORD-36")),
    pytest.param("virtual_currency_amount", Decimal(0), marks=pytest.mark.spec("ORD-37")),
    pytest.param("is_buy_for_virtual_currency", False, marks=pytest.mark.spec("ORD-38")),
    pytest.param("charge_currency", "USD", marks=pytest.mark.spec("ORD-39")),
    pytest.param("charge_amount", Decimal("64.12"), marks=pytest.mark.spec("ORD-40")),
    pytest.param("vat_payer", "buyer", marks=pytest.mark.spec("ORD-41")),
    pytest.param("is_production", True, marks=pytest.mark.spec("ORD-42")),
    pytest.param("testing_case", "correct_payment", marks=pytest.mark.spec("ORD-43")),
    pytest.param("form_mode", "iframe", marks=pytest.mark.spec("ORD-44")),
    pytest.param("merchant_info.company_name", "Example Games", marks=pytest.mark.spec("ORD-45")),
    pytest.param("merchant_info.agreement_number", "A-12", marks=pytest.mark.spec("ORD-45")),
    pytest.param("recurring", True, marks=pytest.mark.spec("ORD-46")),
    pytest.param("recurring_id", "rec-3", marks=pytest.mark.spec("ORD-47")),
]


def reach(value: Any, path: str) -> Any:
    """Follow a dotted path of attributes and positions."""
    for step in path.split("."):
        value = value[int(step)] if step.isdigit() else getattr(value, step)
    return value


@pytest.mark.parametrize(("path", "expected"), PLAIN_FIELDS)
def test_every_field_is_an_attribute(order: Order, path: str, expected: object) -> None:
    """Each field of the specification is read under its own name, with its own type."""
    value = reach(order, path)
    assert value == expected
    assert type(value) is type(expected)


def test_a_complete_order_has_no_problems(order: Order) -> None:
    """Unknown fields are none, and stay in the document."""
    assert order.problems == ()
    assert order.document["recurring_plan_id"] == "an unknown field"


def test_absent_is_not_null() -> None:
    """Both are None as attributes; the document distinguishes them."""
    order = parse_order({"refund": None})
    assert order.refund is None and order.items is None
    assert "refund" in order.document and "items" not in order.document
    assert order.problems == ()


@pytest.mark.parametrize(
    "field",
    ["issuer", "billing_address", "tax", "method", "items", "refund", "cancellation", "metadata", "merchant_info",
     "net_revenue", "fee", "original_amount", "user", "canceled_at", "testing_case"],
)  # fmt: skip
@pytest.mark.spec("ORD-09", "ORD-30", "ORD-31")
def test_what_the_field_leaves_null_is_no_problem(field: str) -> None:
    """Deployed services send null for many fields."""
    order = parse_order({**vector("order"), field: None})
    assert getattr(order, field) is None
    assert order.problems == ()


@pytest.mark.spec("MTH-07", "MTH-08", "MTH-09")
def test_a_method_without_card_wallet_or_crypto_currency_has_none() -> None:
    """The three objects are null for methods of another kind."""
    method = parse_order({"method": {"card": None, "wallet": None}}).method
    assert method is not None
    assert (method.card, method.wallet, method.crypto_currency) == (None, None, None)


@pytest.mark.parametrize(
    ("sent", "read"), [("", ""), (False, None), (None, None), ("existing_user", "existing_user")]
)
def test_no_testing_case_has_several_spellings(sent: object, read: str | None) -> None:
    """Empty text and false both mean that there is none."""
    order = parse_order({"testing_case": sent})
    assert order.testing_case == read
    assert order.problems == ()


@pytest.mark.spec("ORD-43")
@pytest.mark.parametrize("sent", [True, 1, 0, {"x": 1}, ["a"], {}, []])
def test_an_unreadable_testing_case_is_one_all_the_same(sent: object) -> None:
    """Whatever it is, the order is not taken for a real one."""
    order = parse_order({"testing_case": sent})
    assert order.testing_case
    assert order.problems == ("testing_case",)


def test_unknown_words_are_parsed_as_text() -> None:
    """An unknown status, type or platform is text like any other."""
    order = parse_order({"status": "disputed", "type": "bundle", "vat_payer": "moon"})
    assert (order.status, order.type, order.vat_payer, order.problems) == ("disputed", "bundle", "moon", ())


def test_long_text_is_not_cut() -> None:
    """Columns have limits; the parser has none."""
    assert parse_order({"description": "x" * 10_000}).description == "x" * 10_000


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"id": 5}, "id"),
        ({"canceled": "true"}, "canceled"),
        ({"canceled": 0}, "canceled"),
        ({"amount": True}, "amount"),
        ({"amount": "ten"}, "amount"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"user": []}, "user"),
        ({"user": {"email": 1}}, "user.email"),
        ({"user": {"address": {"country": 49}}}, "user.address.country"),
        ({"items": {}}, "items"),
        ({"items": [1]}, "items.0"),
        ({"items": [{}, {"amount": []}]}, "items.1.amount"),
        ({"items": [{"images": [1]}]}, "items.0.images"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"method": {"card": {"secure3d": "yes"}}}, "method.card.secure3d"),
        ({"refund": "all"}, "refund"),
    ],
)
def test_a_wrong_type_is_none_and_a_problem(document: dict[str, Any], problem: str) -> None:
    """Nothing is rejected: the value reads as None and its path is listed."""
    order = parse_order(document)
    assert order.problems == (problem,)


def test_what_is_readable_beside_a_problem_is_read() -> None:
    """One unreadable value costs nothing around it."""
    order = parse_order({"items": ["x", {"id": "a", "amount": True}], "metadata": {"a": "b", "c": 1}})
    assert order.items is not None and [item.id for item in order.items] == ["a"]
    assert order.metadata == {"a": "b"}
    assert set(order.problems) == {"items.0", "items.1.amount", "metadata.c"}


@pytest.mark.parametrize("name", ["platform", "platform_id"])
def test_the_platform_of_an_item_has_two_names(name: str) -> None:
    """With either key, both attributes have the value."""
    items = parse_order({"items": [{name: "gog"}]}).items
    assert items is not None
    assert (items[0].platform, items[0].platform_id) == ("gog", "gog")


def test_items_know_the_further_fields_of_the_field() -> None:
    """Deployed services send a price, a link and times with each item."""
    items = parse_order(
        {
            "items": [
                {
                    "object": "product",
                    "amount": 9.99,
                    "currency": "USD",
                    "url": "https://shop.example/1",
                    "created_at": "2024-05-01T10:00:00Z",
                    "updated_at": {"seconds": -62135596800, "nanos": 0},
                }
            ]
        }
    ).items
    assert items is not None
    item = items[0]
    assert (item.object, item.currency, item.url) == ("product", "USD", "https://shop.example/1")
    assert (item.created_at, item.updated_at) == (datetime(2024, 5, 1, 10, tzinfo=UTC), None)


def test_the_masked_number_is_never_the_one_that_was_sent() -> None:
    """Another cut of the number, together with ours, would reveal more of it."""
    order = parse_order({"method": {"card": {"masked": "40000000****0002"}}})
    assert order.method is not None and order.method.card is not None
    assert order.method.card.masked is None


def test_a_message_may_contradict_itself() -> None:
    """Nothing is checked across fields."""
    order = parse_order({"canceled": True, "cancellation": None, "status": "created"})
    assert (order.canceled, order.cancellation, order.problems) == (True, None, ())


PERSONAL = [
    "ada@mail.example", "sale@mail.example", "region@mail.example", "+4930123456", "192.0.2.7", "Ada Example",
    "Berlin", "10115", "94016", "player-42", "400000", "0002", "fp-abc", "ada-wallet", "bc1qexample", "AAAA-BBBB",
    "R-77", "ref-0001", "shop.example/basket", "skin",
]  # fmt: skip


@pytest.mark.parametrize("text", PERSONAL)
def test_repr_shows_no_personal_data(order: Order, text: str) -> None:
    """Snapshots end up in tracebacks and logs."""
    shown = repr(order).replace("receipt_number='R-77'", "").replace("sku='skin'", "")
    assert text not in shown
    assert "0b8f8f0e" in shown


SENSIBLE = st.sampled_from(["", "x", None, True, False, 0, 1, -1, Decimal("1.5"), "2024-05-01T10:00:00Z"])
ANYTHING = st.recursive(
    SENSIBLE | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(vector("order"))), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(list(vector("order"))), ANYTHING, max_size=12))
def test_no_document_is_ever_rejected(document: dict[str, Any]) -> None:
    """Any document gives a snapshot that contains it."""
    assert parse_order(document).document is document
