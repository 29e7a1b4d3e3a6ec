"""Amounts with too many digits: the document has them unchanged, and staff get an incident.

Some senders write a double's noise, 595.0000000000001: for a comparison it is 595. A column that does not fit an amount
exactly has the rounded one, so that sums stay complete (docs/amounts.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Final

from checkout_integration.protocol.order import Order
from checkout_integration.protocol.values import fits_places, has_places, minor_units, rounded

MONEY_DIGITS: Final = 19
MONEY_PLACES: Final = 4
"""Of a column. No ISO 4217 currency has more than four decimal places."""

RATE_DIGITS: Final = 12
RATE_PLACES: Final = 6
"""Of a column with a rate of tax: 0.08875 fits, and 8.875 too."""

NOISE_PLACES: Final = 6
FLOAT_NOISE: Final = Decimal(1).scaleb(-NOISE_PLACES)
"""What differs by less is the noise of a double, and no other price in any currency."""

_BOUND: Final = Decimal(10) ** (MONEY_DIGITS - MONEY_PLACES)
_EXACT: Final = Context(prec=100)


def fits_column(amount: Decimal) -> bool:
    """Return whether the amount fits a column of money exactly."""
    return amount.is_finite() and amount.copy_abs() < _BOUND and has_places(amount, MONEY_PLACES)


def column_amount(amount: Decimal | None, currency: str | None) -> Decimal | None:
    """Return the amount for a column of money; None for none, and beyond the column's range.

    The sent amount where it fits, else rounded to the places of its currency.
    """
    if amount is None or not amount.is_finite():
        return None
    fitting = amount if fits_column(amount) else _rounded(amount, currency)
    return fitting if fits_column(fitting) else None


def column_rate(rate: Decimal | None) -> Decimal | None:
    """Return the rate for a column of rates, rounded; None for none, and beyond the column's range."""
    if rate is None or not rate.is_finite() or rate.copy_abs() >= Decimal(10) ** (RATE_DIGITS - RATE_PLACES):
        return None
    fitting = rounded(rate, RATE_PLACES)
    return fitting if fitting.copy_abs() < Decimal(10) ** (RATE_DIGITS - RATE_PLACES) else None


def without_noise(amount: Decimal, currency: str | None) -> Decimal | None:
    """Return the amount in its currency that a double means; None if rounding would remove more than noise."""
    meant = _rounded(amount, currency)
    return meant if _EXACT.abs(_EXACT.subtract(amount, meant)) < FLOAT_NOISE else None


def comparable(amount: Decimal) -> Decimal:
    """Return an amount in the form in which two observations of it are compared: without noise."""
    return rounded(amount, NOISE_PLACES)


def _rounded(amount: Decimal, currency: str | None) -> Decimal:
    places = minor_units(currency or "")
    return rounded(amount, MONEY_PLACES if places is None else places)


def inexact_amounts(order: Order) -> frozenset[str]:
    """Return the fields of an order with an amount that fits no column, or that no payment in its currency can have.

    An unreadable amount is one of them. Amounts of the service's own accounting (taxes, fees, revenue) may have more
    places than their currency, since they are not paid.
    """
    amounts = dict(_amounts(order))
    return frozenset(
        [name for name, (amount, currency) in amounts.items() if not _is_exact(amount, currency)]
        + [name for name in order.problems if name in amounts]
    )


def _is_exact(amount: Decimal | None, currency: str | None) -> bool:
    return amount is None or (fits_column(amount) and fits_places(amount, currency))


def _amounts(order: Order) -> Iterable[tuple[str, tuple[Decimal | None, str | None]]]:
    """Return each amount that has a column, with the currency in which it is paid."""
    yield "amount", (order.amount, order.currency)
    yield "original_amount", (order.original_amount, order.currency)
    yield "charge_amount", (order.charge_amount, order.charge_currency)
    yield "virtual_currency_amount", (order.virtual_currency_amount, None)
    yield "refund.amount", (order.refund.amount, order.refund.currency) if order.refund else (None, None)
    for name, part in (("tax", order.tax), ("fee", order.fee), ("net_revenue", order.net_revenue)):
        yield f"{name}.amount", (part.amount if part else None, None)
