"""Merging documents field by field: no statement, latest, fixed and settled fields, conflicts."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations

import pytest

from checkout_integration.policy.fields import Stamp
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.values import Document
from tests.support.policy.observations import ZERO_TIMES, at, creation, known, message, paid, row, written


def either_way(*observations: Observation) -> OrderState:
    """The state after these observations, which must not depend on their order."""
    states = [known(*each) for each in permutations(observations)]
    assert all(state == states[0] for state in states)
    return states[0]


def document(*observations: Observation) -> Document:
    """The merged document, which must not depend on the order of arrival."""
    return either_way(*observations).merged.document


@pytest.mark.spec("ORD-34", "ORD-48")
def test_an_absent_key_is_no_statement() -> None:
    """A message that is silent on a field leaves it as it was."""
    assert (
        document(message("payment.success", 0, country="DE"), message("payment.refund", 9))["country"] == "DE"
    )


@pytest.mark.spec("ORD-02")
@pytest.mark.parametrize("nothing", [None, ""])
def test_an_empty_value_does_not_erase(nothing: str | None) -> None:
    """The list leaves out values of the notification, or writes null or ""."""
    merged = document(
        message("payment.success", 0, transaction="t-1"), row("processed", 9, transaction=nothing)
    )
    assert merged["transaction"] == "t-1"


@pytest.mark.spec("ORD-11")
@pytest.mark.parametrize("zero", ZERO_TIMES)
@pytest.mark.parametrize(
    "field",
    [
        "refunded_at",
        pytest.param("canceled_at", marks=pytest.mark.spec("ORD-08")),
        pytest.param("created_at", marks=pytest.mark.spec("ORD-06")),
    ],
)
def test_a_zero_time_does_not_erase(field: str, zero: str | None) -> None:
    """All forms of "never" mean none, in a late copy of an old message too."""
    real = {field: written(at(3))}
    state = either_way(message("payment.refund", 5, **real), message("payment.success", 99, **{field: zero}))
    assert state.merged.document[field] == written(at(3))
    assert state.merged.conflicts == set()


@pytest.mark.spec("ORD-46")
@pytest.mark.parametrize("value", [False, 0, Decimal(0), [], {}])
def test_a_value_that_is_false_is_a_statement(value: object) -> None:
    """Only null, "" and the zero times say nothing."""
    merged = document(
        message("payment.success", 0, recurring="x"), message("payment.success", 9, recurring=value)
    )
    assert merged["recurring"] == value


@pytest.mark.spec("ORD-34")
def test_the_latest_value_of_a_changing_field_stands() -> None:
    """By the time of the message, not of its arrival."""
    assert (
        document(row("processed", 30, country="DE"), message("payment.success", 0, country="FR"))["country"]
        == "DE"
    )


@pytest.mark.spec("ORD-29")
def test_nested_objects_are_replaced_whole() -> None:
    """A wallet payment does not keep the card of an earlier attempt."""
    first = message("payment.success", 0, method={"type": "bank_card", "card": {"last4": "4242"}})
    second = message("payment.success", 9, method={"type": "wallet"})
    assert document(first, second)["method"] == {"type": "wallet"}


@pytest.mark.spec("ORD-48")
def test_the_customer_is_merged_key_by_key() -> None:
    """A list row has no ``user.id``."""
    signed = message("payment.success", 0, user={"id": "u-1", "name": "Ada"})
    listed = row("processed", 30, user={"name": "Ada L.", "email": "ada@example.com"})
    assert document(signed, listed)["user"] == {"id": "u-1", "name": "Ada L.", "email": "ada@example.com"}


@pytest.mark.spec("ORD-24")
@pytest.mark.parametrize("odd", ["text", ["name"], 5, False])
def test_a_customer_that_is_no_object_tells_nothing(odd: object) -> None:
    """It is ignored in any order and does not hide the customer."""
    assert document(
        message("payment.success", 0, user={"id": "u-1"}), message("payment.success", 9, user=odd)
    ) == {
        "id": "order-1",
        "user": {"id": "u-1"},
    }


def test_unknown_fields_are_stored() -> None:
    """They come and go; none is lost."""
    assert document(message("payment.success", 0, brand_new={"deep": [1]}), row("processed"))[
        "brand_new"
    ] == {"deep": [1]}


@pytest.mark.parametrize(
    ("field", "first", "other"),
    [
        pytest.param("id", "order-1", "order-2", marks=pytest.mark.spec("ORD-01")),
        pytest.param("created_at", written(at(0)), written(at(1)), marks=pytest.mark.spec("ORD-06")),
        pytest.param("is_production", True, False, marks=pytest.mark.spec("ORD-42")),
    ],
)
def test_of_a_fixed_field_the_earliest_value_stands(field: str, first: object, other: object) -> None:
    """Another value is a conflict, whichever arrives first."""
    state = either_way(
        message("payment.success", 0, **{field: first}),
        message("payment.success", 9, **{field: other}),
        message("payment.success", 12, **{field: first}),
    )
    assert state.merged.document[field] == first
    assert state.merged.conflicts == {field}
    assert f"conflict:{field}" in state.contradictions


@pytest.mark.spec("USR-03")
def test_the_customers_account_is_fixed() -> None:
    """``external_id`` cannot move a payment to another account; the rest of the customer may change."""
    state = either_way(
        message("payment.success", 0, user={"external_id": "ada", "name": "A"}),
        message("payment.refund", 9, user={"external_id": "eve", "name": "B"}),
    )
    assert state.merged.document["user"] == {"external_id": "ada", "name": "B"}
    assert state.merged.conflicts == {"user.external_id"}


@pytest.mark.parametrize(
    ("field", "first", "other"),
    [
        pytest.param(
            "created_at",
            "2024-05-01T12:00:00Z",
            "2024-05-01T14:00:00+02:00",
            marks=pytest.mark.spec("ORD-06"),
        ),
        ("type", "product", "products"),
        ("amount", Decimal(100), Decimal("100.0")),
        ("amount", Decimal("9.99"), "9.99"),
    ],
)
@pytest.mark.spec("ORD-35")
def test_two_spellings_of_one_value_are_no_conflict(field: str, first: object, other: object) -> None:
    """100 is 100.0, noon in London is two o'clock in Berlin, and ``products`` is the type ``product``."""
    state = either_way(
        message("payment.success", 0, **{field: first}), message("payment.refund", 9, **{field: other})
    )
    assert state.merged.conflicts == set()


@pytest.mark.spec("WHK-04")
def test_live_is_the_envelopes() -> None:
    """The list makes no statement on it, and a field of that name in the object is not it."""
    state = either_way(message("payment.success", 5, live=True), row("processed", 0, live=False))
    assert state.merged.live is True
    assert "live" not in state.merged.document
    assert known(row("processed")).merged.live is None


@pytest.mark.spec("WHK-04")
def test_live_is_fixed() -> None:
    """A payment does not become a real one afterwards."""
    state = either_way(message("payment.success", 0, live=False), message("payment.refund", 9, live=True))
    assert state.merged.live is False
    assert state.merged.conflicts == {"live"}


@pytest.mark.parametrize("name", ["user.external_id", "user.id"])
def test_a_field_with_a_dot_is_not_the_customers(name: str) -> None:
    """The customer's fields have such names internally; a document cannot write them."""
    state = either_way(
        message("payment.success", 0, user={"external_id": "ada"}),
        message("payment.refund", 9, **{name: "eve"}),
    )
    assert state.merged.document["user"] == {"external_id": "ada"}
    assert state.merged.conflicts == set()


@pytest.mark.parametrize(
    "field",
    [
        pytest.param("amount", marks=pytest.mark.spec("ORD-22")),
        pytest.param("original_amount", marks=pytest.mark.spec("ORD-33")),
        pytest.param("charge_amount", marks=pytest.mark.spec("ORD-40")),
    ],
)
def test_an_amount_may_change_while_the_form_is_open(field: str) -> None:
    """VAT is added when the country is known; once paid, the paid amount stands against older amounts."""
    state = either_way(
        creation(**{field: Decimal("9.99")}),
        row("created", 5, **{field: Decimal("10.50")}),
        message("payment.success", 10, **{field: Decimal("11.89")}),
        row("created", 30, **{field: Decimal("9.99")}),
    )
    assert state.merged.document[field] == Decimal("11.89")
    assert state.merged.conflicts == set()


@pytest.mark.spec("ORD-22")
def test_of_two_amounts_of_an_open_form_the_latest_stands() -> None:
    """Neither is paid, so neither is fixed."""
    state = either_way(row("created", 0, amount=Decimal(5)), row("created", 9, amount=Decimal(6)))
    assert state.merged.document["amount"] == Decimal(6)
    assert state.merged.conflicts == set()


@pytest.mark.parametrize(
    "field",
    [
        pytest.param("amount", marks=pytest.mark.spec("ORD-22")),
        pytest.param("original_amount", marks=pytest.mark.spec("ORD-33")),
        pytest.param("charge_amount", marks=pytest.mark.spec("ORD-40")),
        pytest.param("currency", marks=pytest.mark.spec("ORD-23")),
        pytest.param("charge_currency", marks=pytest.mark.spec("ORD-39")),
    ],
)
def test_two_amounts_of_a_paid_order_are_a_conflict(field: str) -> None:
    """The earliest stands, whichever arrives first."""
    state = either_way(
        message("payment.success", 10, **{field: "5"}),
        row("processed", 60, **{field: "500"}),
        row("refunded", 90),
    )
    assert state.merged.document[field] == "5"
    assert state.merged.conflicts == {field}


@pytest.mark.spec("ORD-22")
@pytest.mark.parametrize("end", ["payment.refund", "payment.chargeback"])
def test_a_reversal_tells_the_amounts_of_a_paid_order(end: str) -> None:
    """It is proof of a payment, although the success has not come."""
    state = either_way(row("created", 60, amount=Decimal(5)), message(end, 10, amount=Decimal(6)))
    assert state.merged.document["amount"] == Decimal(6)


@pytest.mark.spec("ORD-22")
def test_a_cancel_settles_no_amount() -> None:
    """A declined attempt may have shown another VAT."""
    state = either_way(message("payment.cancel", 5, amount=Decimal(5)), paid(10, amount=Decimal(6)))
    assert state.merged.document["amount"] == Decimal(6)
    assert state.merged.conflicts == set()


def test_the_choice_between_simultaneous_values_ignores_arrival() -> None:
    """By source, then by text."""
    messages = [message("payment.success", 0, country="DE"), message("payment.refund", 0, country="FR")]
    assert document(*messages)["country"] == "FR"
    assert document(row("processed", 0, country="ZZ"), *messages)["country"] == "FR"


def test_a_value_repeated_at_one_time_has_one_stamp() -> None:
    """Although only one of the messages shows a payment: that matters to amounts only."""
    state = either_way(
        message("payment.success", 0, country="DE"), message("payment.cancel", 0, country="DE")
    )
    assert state.merged.stamps["country"] == Stamp(at=stamp(at(0)), source=Source.NOTIFICATION)


def test_a_stamp_has_the_source_and_time_of_the_standing_value() -> None:
    """Amounts and currencies also say whether the order was known as paid."""
    stamps = known(
        message("payment.success", 3, delivery_try=2, amount=Decimal(5), country="DE")
    ).merged.stamps
    moment = stamp(at(3))
    assert stamps["amount"] == Stamp(at=moment, source=Source.NOTIFICATION, settled=True)
    assert stamps["country"] == Stamp(at=moment, source=Source.NOTIFICATION)


@pytest.mark.spec("MTH-07")
def test_a_masked_card_number_is_rebuilt_before_it_is_stored() -> None:
    """Two truncations of one number weaken it."""
    card = {"first6": "424242", "last4": "4242", "masked": "42424242****4242"}
    merged = document(message("payment.success", 0, method={"card": card}))
    assert merged["method"]["card"]["masked"] == "424242******4242"
