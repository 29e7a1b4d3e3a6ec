"""Counts and sums of both sides, the amounts in them, and identifiers in little memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.policy.totals import (
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


@pytest.mark.spec("ORD-22")
@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("9.99", "9.99"),
        ("100", "100"),
        ("1e2", "100"),
        ("595.0000000000001", "595"),
        ("0.00", "0"),
        ("12345678901234567890.00", None),
        ("NaN", None),
        ("much", None),
        (None, None),
        (True, None),
    ],
)
def test_an_amount_is_that_of_the_column(text: object, amount: str | None) -> None:
    """What no column holds is not summed, on either side: it is unknown, and no zero."""
    assert amount_of(text, "USD") == (None if amount is None else Decimal(amount))


@pytest.mark.parametrize("text", ["0", "0.00", "0.000"])
def test_a_zero_without_a_currency_is_no_amount(text: str) -> None:
    """Neither is it one in the column."""
    assert amount_of(text, "") is None
    assert amount_of("3.00", "") == 3


def test_windows_are_added_up() -> None:
    """Each side by itself."""
    here, there = Totals(), Totals()
    here.add("USD", "processed", Decimal("0.10"))
    there.add("USD", "processed", Decimal("0.30"), 2)
    there.add("EUR", "processed", Decimal(1))
    lines = together([compared(there, here), compared(there, here)])
    assert [(line["currency"], line["here"], line["there"]) for line in lines] == [
        (
            "EUR",
            {"count": 0, "unknown": 0, "sum": "0.0000"},
            {"count": 2, "unknown": 0, "sum": "2.0000"},
        ),
        (
            "USD",
            {"count": 2, "unknown": 0, "sum": "0.2000"},
            {"count": 4, "unknown": 0, "sum": "0.6000"},
        ),
    ]


def test_what_is_unknown_is_no_zero() -> None:
    """Through the sums of windows too: the sum is that of the others, and there is none where each amount is unknown."""
    here, there = Totals(), Totals()
    for amount in (Decimal("0.10"), None, Decimal(0)):
        here.add("USD", "processed", amount)
    there.add("USD", "processed", Decimal("0.10"), 3, 1)
    here.add("USD", "created", None, 2)
    there.add("USD", "created", Decimal(0), 2)
    created, processed = together([compared(there, here), compared(there, here)])
    assert processed["here"] == processed["there"] == {"count": 6, "unknown": 2, "sum": "0.2000"}
    assert created["here"] == {"count": 4, "unknown": 4, "sum": None}
    assert created["there"] == {"count": 4, "unknown": 0, "sum": "0.0000"}


def test_the_period_of_a_window_is_that_of_its_rows() -> None:
    """In any order and in any zone; rows without a readable time say nothing."""
    listed = ListedWindow(timedelta(0))
    listed.add([row("a", created_at="2024-05-01T10:00:00Z"), row("b", created_at="yesterday")])
    listed.add([row("c"), row("d", created_at="2024-05-01T09:00:00+01:00"), row("e", created_at="")])
    assert (listed.begin, listed.end) == (NOW - timedelta(hours=4), NOW - timedelta(hours=2))


@pytest.mark.spec("ORD-01", "ORD-04", "ORD-06", "ORD-22", "ORD-23", "ORD-43")
def test_some_rows_are_not_counted() -> None:
    """Repeated ones, late ones, those without an id or a time, and tests of the webhook."""
    listed = ListedWindow(timedelta(0), NOW)
    old, late = {"created_at": "2024-05-01T10:00:00Z"}, {"created_at": "2024-05-01T12:00:01Z"}
    for _ in range(2):
        listed.add([row("a", **old, status="processed", currency="USD", amount="9.99"), row("b", **late)])
        listed.add([row("", **old), row("c"), row("d", **old, testing_case="correct_payment")])
        listed.add([row("e", **old, status="disputed")])
    assert listed.there.groups() == {("USD", "processed"), ("", "unknown")}
    assert listed.there.as_json(("USD", "processed")) == {"count": 1, "unknown": 0, "sum": "9.9900"}
    assert listed.there.as_json(("", "unknown")) == {"count": 1, "unknown": 1, "sum": None}
