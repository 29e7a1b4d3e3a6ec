"""Moments, money and secrets."""

from __future__ import annotations

import copy
import csv
import pickle
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.protocol.values import (
    Secret,
    fits_places,
    format_moment,
    minor_units,
    parse_moment,
    parse_money,
    same_money,
)
from tests.support.corpora import corpus


@pytest.mark.spec("ORD-06", "WHK-05")
@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2024-05-01T10:00:00Z", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T10:00:00", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T10:00:00.1Z", datetime(2024, 5, 1, 10, 0, 0, 100000, tzinfo=UTC)),
        ("2024-05-01T10:00:00.123456789Z", datetime(2024, 5, 1, 10, 0, 0, 123456, tzinfo=UTC)),
        ("2024-05-01T10:00:00.999999999Z", datetime(2024, 5, 1, 10, 0, 0, 999999, tzinfo=UTC)),
        ("2024-05-01T23:30:00-02:00", datetime(2024, 5, 2, 1, 30, tzinfo=UTC)),
        ("2024-05-01t10:00:00z", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ({"seconds": 1714557600, "nanos": 500000}, datetime(2024, 5, 1, 10, 0, 0, 500, tzinfo=UTC)),
        ({"seconds": 1714557600}, datetime(2024, 5, 1, 10, tzinfo=UTC)),
    ],
)
def test_moments_are_read_as_utc(value: object, moment: datetime) -> None:
    """Every spelling seen in the field is one moment, cut to microseconds."""
    assert parse_moment(value) == moment
    assert parse_moment(value).utcoffset() == timedelta(0)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "0001-01-01T00:00:00-14:00",
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T03:00:00+03:00",
        "1970-01-01T00:00:00-05:00",
        {"seconds": -62135596800, "nanos": 0},
        {"seconds": 0, "nanos": 0},
        {},
    ],
)
@pytest.mark.spec("ORD-08", "WHK-06")
def test_every_zero_time_is_no_time(value: object) -> None:
    """Empty text, null, year 1 and the epoch all say that there is no time."""
    assert parse_moment(value) is None


@pytest.mark.parametrize(
    "value",
    [
        "yesterday",
        "2024-05-01",
        "2024-W18-3T10:00:00Z",
        "20240501T100000Z",
        "2024-13-01T00:00:00Z",
        "2024-05-01T10:00:00+25:00",
        "2024-05-01T10:00:00.1234567890Z",
        "9999-12-31T23:59:59-14:00",
        "9999-12-31T00:00:00Z",  # overflows in a zone east of UTC, wherever it is shown
        "２０２４-05-01T10:00:00Z",
        " 2024-05-01T10:00:00Z",
        1714557600,
        True,
        [],
        {"seconds": "1"},
        {"seconds": True},
        {"seconds": 10**30},
    ],
)
def test_what_is_no_moment_is_a_value_error(value: object) -> None:
    """Nothing else than ValueError comes out of an unreadable time."""
    with pytest.raises(ValueError):  # noqa: PT011 -- the message does not matter, only the type
        parse_moment(value)


@given(st.text(max_size=40) | st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"))
def test_any_text_is_a_moment_or_a_value_error(text: str) -> None:
    """No text overflows or breaks the arithmetic of zones."""
    try:
        moment = parse_moment(text)
    except ValueError:
        return
    assert moment is None or moment.utcoffset() == timedelta(0)


@pytest.mark.spec("EP3-07")
def test_moments_are_sent_in_utc_without_a_zone() -> None:
    """The filters of the list take YYYY-MM-DDThh:mm:ss, which is UTC in the field."""
    moment = datetime(2024, 5, 1, 1, 2, 3, 999, tzinfo=timezone(timedelta(hours=2)))
    assert format_moment(moment) == "2024-04-30T23:02:03"


@pytest.mark.spec("EP3-07", "EP3-08")
def test_a_moment_without_a_zone_is_not_sent() -> None:
    """Guessing its zone would move the window of a sync."""
    with pytest.raises(ValueError, match="zone"):
        format_moment(datetime(2024, 5, 1))  # noqa: DTZ001 -- the point of the test


@pytest.mark.spec("ORD-22")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (100, "100"),
        (0, "0"),
        (-5, "-5"),
        (Decimal("59.99"), "59.99"),
        (Decimal("0.10"), "0.10"),
        (Decimal("1E+2"), "100"),
        ("9.99", "9.99"),
        ("-3", "-3"),
        # As large as an amount may be.
        (10**40 - 1, "9" * 40),
        (1 - 10**40, "-" + "9" * 40),
        (Decimal("9e39"), "9" + "0" * 39),
        ("9" * 20 + "." + "1" * 20, "9" * 20 + "." + "1" * 20),
    ],
)
def test_money_is_exact_and_in_plain_notation(value: object, text: str) -> None:
    """Numbers and numeric text become the Decimal with the same digits."""
    assert str(parse_money(value)) == text


def test_the_smallest_amount_is_read() -> None:
    """The lower limit: an amount with very many places is refused."""
    assert parse_money(Decimal("1e-39")) == Decimal("1e-39")


@pytest.mark.parametrize("value", [None, ""])
def test_no_amount_is_none(value: object) -> None:
    """Null and empty text say that there is no amount."""
    assert parse_money(value) is None


@pytest.mark.parametrize(
    "value",
    [
        True,
        9.99,
        "1e5",
        " 5 ",
        "1_000",
        "９",
        "NaN",
        "1,5",
        "9" * 21,
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1e1000000"),
        Decimal("1e-1000000"),
        Decimal("0e1000000"),
        10**40,
        -(10**40),
        Decimal("1e40"),
        Decimal("1e-40"),
        [],
        {},
    ],
)
def test_what_is_no_money_is_a_value_error(value: object) -> None:
    """Booleans, floats, odd text and exponent bombs are not amounts."""
    with pytest.raises(ValueError, match=r"^not an amount of money$"):
        parse_money(value)


@pytest.mark.spec("ORD-22", "ORD-23")
@pytest.mark.parametrize(
    ("currency", "places"),
    [("USD", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("XAU", None), ("usd", None), ("", None)],
)
def test_currencies_know_their_places(currency: str, places: int | None) -> None:
    """ISO 4217 says how many places a currency has; unknown codes have none."""
    assert minor_units(currency) == places


@pytest.mark.spec("ORD-23", "EP1-14", "EP2-05")
def test_the_table_of_currencies_is_the_active_iso_list() -> None:
    """All active codes of the published list, and no other, with their places."""
    with corpus("currencies/codes-all.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["AlphabeticCode"]]
    active = {row["AlphabeticCode"]: row["MinorUnit"] for row in rows if not row["WithdrawalDate"]}
    assert {code: minor_units(code) for code in active} == {
        code: int(unit) if unit.isdigit() else None for code, unit in active.items()
    }
    withdrawn = {row["AlphabeticCode"] for row in rows} - set(active)
    assert [code for code in sorted(withdrawn) if minor_units(code) is not None] == []


@pytest.mark.parametrize(
    ("first", "second", "currency", "same"),
    [
        ("9.99", "9.99", "USD", True),
        ("9.990", "9.99", "USD", True),
        ("0.30000000000000004", "0.3", "USD", True),
        # A half is rounded away from zero, and not to the even side.
        ("0.125", "0.13", "USD", True),
        ("0.125", "0.12", "USD", False),
        # More digits than Python's default context has.
        ("1e35", "1e35", "USD", True),
        ("1e35", "100000000000000000000000000000000000.01", "USD", False),
        ("9.98", "9.99", "USD", False),
        ("10.00", "9.99", "USD", False),
        ("100", "1", "JPY", False),
        ("1.001", "1.002", "KWD", False),
        ("1.001", "1.002", "XYZ", False),
        ("1.00", "1", "XYZ", True),
    ],
)
def test_amounts_are_compared_to_the_last_place_of_the_currency(
    first: str, second: str, currency: str, same: bool
) -> None:
    """Not further, since some come from doubles, and not less, since a cent is a cent."""
    assert same_money(Decimal(first), Decimal(second), currency) is same


def test_an_unknown_amount_equals_nothing() -> None:
    """Not even another unknown amount: a missing amount must never verify a payment."""
    assert not same_money(None, None, "USD")
    assert not same_money(Decimal(1), None, "USD")


@pytest.mark.parametrize(
    ("amount", "currency", "fits"),
    [
        ("9.99", "USD", True),
        ("9.9900", "USD", True),
        ("9.999", "USD", False),
        ("1.5", "JPY", False),
        ("1.23456", None, True),
        ("100000000000000000000000000000000000.01", "USD", True),
        ("100000000000000000000000000000000000.001", "USD", False),
    ],
)
def test_amounts_fit_the_places_of_their_currency(amount: str, currency: str | None, fits: bool) -> None:
    """Zeros at the end are no further places, and an unknown currency has no limit."""
    assert fits_places(Decimal(amount), currency) is fits


@pytest.mark.spec("AUT-02")
def test_a_secret_does_not_show_itself() -> None:
    """Not in repr, str, formatting, or the repr of a container."""
    secret = Secret("sk-canary-123")
    assert "canary" not in repr([secret]) + str(secret)
    assert secret.reveal() == "sk-canary-123"


def test_a_secret_cannot_be_written_to_a_queue_or_a_cache() -> None:
    """Pickling and deep copies fail, so it cannot become a task argument."""
    with pytest.raises(TypeError):
        pickle.dumps(Secret("sk-canary-123"))
    with pytest.raises(TypeError):
        copy.deepcopy(Secret("sk-canary-123"))


def test_secrets_are_compared_by_text_and_not_hashed() -> None:
    """Only secrets are equal to secrets; a hash would be a fingerprint."""
    assert Secret("ä") == Secret("ä")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    with pytest.raises(TypeError):
        hash(Secret("a"))


def test_a_secret_is_text() -> None:
    """None from a missing environment variable must not become a secret."""
    with pytest.raises(TypeError, match=r"^a secret is text$"):
        Secret(None)  # type: ignore[arg-type]
