"""Counts and sums of both sides, the amounts in them, and identifiers in little memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.policy.totals import (
    IdSet,
    ListedWindow,
    Totals,
    amount_of,
    compared,
    together,
)
from checkout_integration.protocol.listing import TransactionRow

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def row(identifier: str, **outline: Any) -> TransactionRow:
    """A row of the list as it is split from its page."""
    return TransactionRow(id=identifier, text="", outline=outline)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("9.99", "9.99"),
        ("100", "100"),
        ("1e2", "100"),
        ("595.0000000000001", "595"),
        ("12345678901234567890.00", "0"),
        ("NaN", "0"),
        ("much", "0"),
        (None, "0"),
        (True, "0"),
    ],
)
def test_an_amount_is_that_of_the_column(text: object, amount: str) -> None:
    """What no column holds is not summed, on either side."""
    assert amount_of(text, "USD") == Decimal(amount)


def test_windows_are_added_up() -> None:
    """Each side by itself."""
    here, there = Totals(), Totals()
    here.add("USD", "processed", Decimal("0.10"))
    there.add("USD", "processed", Decimal("0.30"), 2)
    there.add("EUR", "processed", Decimal(1))
    lines = together([compared(there, here), compared(there, here)])
    assert [(line["currency"], line["here"], line["there"]) for line in lines] == [
        ("EUR", {"count": 0, "sum": "0.0000"}, {"count": 2, "sum": "2.0000"}),
        ("USD", {"count": 2, "sum": "0.2000"}, {"count": 4, "sum": "0.6000"}),
    ]


def test_the_period_of_a_window_is_that_of_its_rows() -> None:
    """In any order and in any zone; rows without a readable time say nothing."""
    listed = ListedWindow(timedelta(0))
    listed.add([row("a", created_at="2024-05-01T10:00:00Z"), row("b", created_at="yesterday")])
    listed.add([row("c"), row("d", created_at="2024-05-01T09:00:00+01:00"), row("e", created_at="")])
    assert (listed.begin, listed.end) == (NOW - timedelta(hours=4), NOW - timedelta(hours=2))


def test_some_rows_are_not_counted() -> None:
    """Repeated ones, late ones, those without an id or a time, and tests of the webhook."""
    listed = ListedWindow(timedelta(0), NOW)
    old, late = {"created_at": "2024-05-01T10:00:00Z"}, {"created_at": "2024-05-01T12:00:01Z"}
    for _ in range(2):
        listed.add([row("a", **old, status="processed", currency="USD", amount="9.99"), row("b", **late)])
        listed.add([row("", **old), row("c"), row("d", **old, testing_case="correct_payment")])
        listed.add([row("e", **old, status="disputed")])
    assert listed.there.groups() == {("USD", "processed"), ("", "unknown")}
    assert listed.there.as_json(("USD", "processed")) == {"count": 1, "sum": "9.9900"}
    assert listed.there.as_json(("", "unknown")) == {"count": 1, "sum": "0.0000"}


def test_a_set_of_identifiers() -> None:
    """It says of each whether it is new."""
    ids = IdSet()
    assert [ids.add(str(number)) for number in [*range(300), *range(300)]] == [True] * 300 + [False] * 300
    assert all(str(number) in ids for number in range(300))
    assert "300" not in ids
