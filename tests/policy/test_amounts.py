"""Amounts with too many digits: which are reported to staff."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import pytest

from checkout_integration.policy.amounts import column_amount, fits_column, inexact_amounts, without_noise
from checkout_integration.policy.incidents import REVIEWED
from checkout_integration.protocol.order import parse_order
from tests.support.policy.observations import known, paid

LARGEST = Decimal("999999999999999.9999")


@pytest.mark.parametrize("amount", [LARGEST, -LARGEST, Decimal("0.0001"), Decimal(0), Decimal("1E+2")])
def test_a_column_holds_nineteen_digits_of_which_four_are_places(amount: Decimal) -> None:
    """On either side of zero."""
    assert fits_column(amount)


@pytest.mark.parametrize(
    "amount",
    [LARGEST + Decimal("0.0001"), -LARGEST - 1, Decimal("0.00001"), Decimal("NaN"), Decimal("-Infinity")],
)
def test_a_column_never_rounds(amount: Decimal) -> None:
    """Neither one more digit nor a value that is not a number fits."""
    assert not fits_column(amount)


@pytest.mark.parametrize(
    ("amount", "fits"), [(LARGEST, True), (LARGEST + 1, False), (Decimal("1.00001"), False)]
)
def test_the_decimal_precision_of_the_host_changes_nothing(amount: Decimal, fits: bool) -> None:
    """The precision of decimals is the host's own setting, for its own sums."""
    with localcontext(prec=3):
        assert fits_column(amount) == fits


@pytest.mark.parametrize(
    ("amount", "currency", "stored"),
    [
        ("595.0000000000001", "USD", "595.00"),
        ("9.9950", "USD", "9.9950"),
        ("9.99500001", "USD", "10.00"),
        ("9.98500000", "USD", "9.98500000"),
        ("0.125000000", "USD", "0.125"),
        ("0.12500001", "JPY", "0"),
        ("0.000005", "KWD", "0.000"),
        ("0.00015000", "USD", "0"),
        ("1.00005000", None, "1.0001"),
        ("-594.9999999999999", "USD", "-595.00"),
        ("1e15", "USD", None),
        ("999999999999999.99999", "USD", None),
        ("999999999999998.99999", "USD", "999999999999999.00"),
    ],
)
def test_a_column_holds_the_rounded_amount(amount: str, currency: str | None, stored: str | None) -> None:
    """Exact where it fits, else rounded half up to the currency's places; to four without a currency."""
    column = column_amount(Decimal(amount), currency)
    assert column == (None if stored is None else Decimal(stored))
    assert column is None or fits_column(column)


@pytest.mark.parametrize(
    ("amount", "currency", "meant"),
    [
        ("595.0000000000001", "USD", "595"),
        ("594.9999991", "USD", "595"),
        ("594.999999", "USD", None),
        ("9.985", "USD", None),
        ("9.985", "KWD", "9.985"),
        ("1200.5", "JPY", None),
    ],
)
def test_noise_differs_from_another_price(amount: str, currency: str, meant: str | None) -> None:
    """A difference of a millionth is not noise."""
    assert without_noise(Decimal(amount), currency) == (None if meant is None else Decimal(meant))


def inexact(**amounts: Any) -> set[str]:
    """The fields of an order in US dollars that are inexact."""
    return set(inexact_amounts(parse_order({"currency": "USD", "charge_currency": "JPY", **amounts})))


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ({"amount": Decimal("9.99"), "original_amount": 9, "charge_amount": 1200}, set()),
        ({"amount": Decimal("9.999")}, {"amount"}),
        ({"amount": "9.9900"}, set()),
        ({"amount": Decimal("9.9999999"), "currency": "XXX"}, {"amount"}),
        ({"amount": Decimal("9.9999"), "currency": "XXX"}, set()),
        ({"amount": 10**16}, {"amount"}),
        ({"amount": "a lot"}, {"amount"}),
        ({"amount": True}, {"amount"}),
        ({"amount": None, "original_amount": ""}, set()),
        ({"original_amount": Decimal("9.999")}, {"original_amount"}),
        ({"charge_amount": Decimal("1200.5")}, {"charge_amount"}),
        ({"virtual_currency_amount": Decimal("0.1234")}, set()),
        ({"virtual_currency_amount": Decimal("0.12345")}, {"virtual_currency_amount"}),
        ({"refund": {"amount": Decimal("1.5"), "currency": "JPY"}}, {"refund.amount"}),
        ({"refund": {"amount": Decimal("1.5")}}, set()),
        ({"tax": {"amount": Decimal("0.1234"), "rate": Decimal("0.123456789"), "currency": "USD"}}, set()),
        ({"tax": {"amount": Decimal("0.12345"), "currency": "USD"}}, {"tax.amount"}),
        ({"fee": {"amount": []}, "net_revenue": {"amount": 10**15}}, {"fee.amount", "net_revenue.amount"}),
        ({"tax": "none", "fee": None}, set()),
    ],
)
def test_which_amounts_are_inexact(document: dict[str, Any], names: set[str]) -> None:
    """More places than the currency, more digits than the column, or not an amount."""
    assert inexact(**document) == names


def test_an_inexact_amount_is_looked_at_and_stops_nothing() -> None:
    """Staff see which one; the payment stands and is not sent for review."""
    state = known(paid(10, amount=Decimal("9.99"), fee={"amount": Decimal("0.123456")}))
    assert state.contradictions == {"inexact:fee.amount"}
    assert state.stands
    assert not REVIEWED & state.contradictions
