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


def test_a_complete_order_has_no_problems(order: Order) -> None:
    """Unknown fields are none, and stay in the document."""
    assert order.problems == ()
    assert order.document["recurring_plan_id"] == "an unknown field"


@pytest.mark.spec("ORD-48")
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


@pytest.mark.spec("ORD-43")
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


@pytest.mark.spec("ORD-04", "ORD-35", "ORD-36")
def test_unknown_words_are_parsed_as_text() -> None:
    """An unknown status, type or platform is text like any other."""
    order = parse_order({"status": "disputed", "type": "bundle", "vat_payer": "moon"})
    assert (order.status, order.type, order.vat_payer, order.problems) == ("disputed", "bundle", "moon", ())


@pytest.mark.spec("ORD-05")
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


@pytest.mark.spec("ITM-08")
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


@pytest.mark.spec("MTH-07")
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
