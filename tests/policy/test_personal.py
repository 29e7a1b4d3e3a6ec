"""Which part of a document one command can erase."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.policy.personal import PUBLIC, join, split, without_card_number

NAMES = st.sampled_from([*PUBLIC, "unheard_of", "email", "name", "card", "brand", "last4", "id"]) | st.text(
    max_size=3
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=6)


@given(DOCUMENTS)
def test_the_two_parts_make_the_document(document: dict[str, Any]) -> None:
    """Nothing is lost or invented, whatever the document's shape."""
    assert join(*split(document)) == document


@given(DOCUMENTS)
def test_the_public_part_splits_into_itself(document: dict[str, Any]) -> None:
    """The part outside the erasable row contains nothing personal."""
    public, _ = split(document)
    assert split(public) == (public, {})


CANARY = "ada@example.com"


@pytest.mark.parametrize(
    "document",
    [
        {"unheard_of": CANARY},
        pytest.param({"receipt_email": CANARY}, marks=pytest.mark.spec("ORD-12")),
        pytest.param({"receipt_phone": CANARY}, marks=pytest.mark.spec("ORD-13")),
        {"receipt_id": CANARY},
        pytest.param({"receipt_url": CANARY}, marks=pytest.mark.spec("ORD-15")),
        pytest.param({"refund": {"amount": 5, "receipt_url": CANARY}}, marks=pytest.mark.spec("RFD-06")),
        {"refund": {"unheard_of": CANARY}},
        pytest.param({"notify_sale_email": CANARY}, marks=pytest.mark.spec("ORD-20")),
        pytest.param({"billing_address": {"zip": CANARY}}, marks=pytest.mark.spec("ORD-25")),
        pytest.param({"issuer": {"url": CANARY}}, marks=pytest.mark.spec("ORD-21")),
        pytest.param({"user": {"name": CANARY}}, marks=pytest.mark.spec("USR-04")),
        pytest.param({"user": {"email": CANARY}}, marks=pytest.mark.spec("USR-05")),
        pytest.param({"user": {"phone": CANARY}}, marks=pytest.mark.spec("USR-07")),
        pytest.param({"user": {"ip": CANARY}}, marks=pytest.mark.spec("USR-09")),
        pytest.param({"user": {"address": {"city": CANARY}}}, marks=pytest.mark.spec("USR-11")),
        pytest.param({"user": {"metadata": {"x": CANARY}}}, marks=pytest.mark.spec("USR-12")),
        pytest.param({"user": {"notify_new_region_email": CANARY}}, marks=pytest.mark.spec("USR-14")),
        {"user": {"metadata": {"x": CANARY}, "unheard_of": CANARY}},
        {"user": {"id": "u-1", "name": CANARY}},
        pytest.param(
            {"method": {"type": "bank_card", "card": {"brand": "VISA", "last4": CANARY}}},
            marks=pytest.mark.spec("MTH-07"),
        ),
        {"user": CANARY},
        {"user": [CANARY]},
        {"issuer": CANARY},
        {"method": [{"card": CANARY}]},
        {"method": {"card": CANARY}},
        {
            "method": {
                "card": {"last4": CANARY, "fingerprint": CANARY, "unheard_of": CANARY},
                "params": CANARY,
            }
        },
        pytest.param({"method": {"wallet": {"account": CANARY}}}, marks=pytest.mark.spec("MTH-08")),
        pytest.param({"method": {"crypto_currency": {"address": CANARY}}}, marks=pytest.mark.spec("MTH-09")),
    ],
)
def test_personal_and_unknown_fields_are_in_the_erasable_part(document: dict[str, Any]) -> None:
    """The list names the public fields; all others are personal, including unknown fields and shapes."""
    public, personal = split({"id": "order-1", **document})
    assert CANARY not in str(public)
    assert CANARY in str(personal)
    assert join(public, personal) == {"id": "order-1", **document}


@pytest.mark.spec("ORD-22", "ORD-30", "ORD-32", "USR-01", "USR-03", "MTH-04")
@pytest.mark.parametrize(
    "document",
    [
        {"id": "1", "amount": 5, "metadata": {"checkout_reference": "r"}, "items": [{"id": "gem"}]},
        {"user": {"id": "u", "external_id": "ada"}},
        {"method": {"type": "bank_card", "card": {"brand": "VISA"}}},
        {"user": None, "method": None},
    ],
)
def test_what_the_books_need_is_not_personal(document: dict[str, Any]) -> None:
    """Accounting data stays after an erasure."""
    assert split(document) == (document, {})


@pytest.mark.spec("MTH-07")
@pytest.mark.parametrize(
    ("card", "masked"),
    [
        ({"first6": "424242", "last4": "4242", "masked": "4242424242424242"}, "424242******4242"),
        ({"first6": "42424242", "last4": "0004242", "masked": "x"}, "424242******4242"),
        ({"first6": 424242, "last4": 4242, "masked": "x"}, "424242******4242"),
        ({"first6": None, "masked": "4242424242424242"}, "******"),
    ],
)
def test_masked_is_rebuilt(card: dict[str, Any], masked: str) -> None:
    """From the first six and the last four digits, whatever was sent."""
    rebuilt = without_card_number({"id": "1", "method": {"type": "bank_card", "card": card}})
    assert rebuilt["method"]["card"]["masked"] == masked
    assert rebuilt == {
        "id": "1",
        "method": {"type": "bank_card", "card": {**card, **rebuilt["method"]["card"]}},
    }


@pytest.mark.spec("MTH-07")
@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ({"first6": "4242424242424242"}, {"first6": "424242"}),
        ({"last4": "4242424242424242"}, {"last4": "4242"}),
        ({"first6": 4242424242424242, "last4": 4242}, {"first6": "424242", "last4": 4242}),
    ],
)
def test_at_most_ten_digits_of_a_card_number_are_stored(
    card: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Even if the service puts the whole number into one of its parts."""
    assert without_card_number({"method": {"card": card}}) == {"method": {"card": expected}}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"method": None},
        {"method": "card"},
        {"method": {"card": None}},
        {"method": {"card": "4"}},
        {"method": {"card": {"last4": "4242"}}},
        {"method": {"card": {"last4": "4242", "masked": ""}}},
        {"method": {"card": {"first6": "424242", "last4": "4242", "masked": "424242******4242"}}},
    ],
)
def test_a_document_with_nothing_to_hide_stays_as_it_is(document: dict[str, Any]) -> None:
    """No number is invented, and a document that need not change is not copied."""
    assert without_card_number(document) is document
