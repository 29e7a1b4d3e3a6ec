"""Amounts that come with more digits than they should: kept as they came, never rounded, and shown to staff."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from checkout_integration.protocol.order import Order
from checkout_integration.protocol.values import fits_places, has_places

MONEY_DIGITS: Final = 19
MONEY_PLACES: Final = 4
"""Of a column. No ISO 4217 currency has more than four decimal places."""

_BOUND: Final = Decimal(10) ** (MONEY_DIGITS - MONEY_PLACES)


def fits_column(amount: Decimal) -> bool:
    """Whether a column of money holds the amount exactly."""
    return amount.is_finite() and amount.copy_abs() < _BOUND and has_places(amount, MONEY_PLACES)


def inexact_amounts(order: Order) -> frozenset[str]:
    """The fields of an order whose amount no column holds as it was told, or no payment in its currency can have.

    An amount that cannot be read is one of them. What the service reckons for itself (taxes, fees, revenue) may have more
    places than its currency, since nobody pays it.
    """
    told = dict(_amounts(order))
    return frozenset(
        [name for name, (amount, currency) in told.items() if not _is_exact(amount, currency)]
        + [name for name in order.problems if name in told]
    )


def _is_exact(amount: Decimal | None, currency: str | None) -> bool:
    return amount is None or (fits_column(amount) and fits_places(amount, currency))


def _amounts(order: Order) -> Iterable[tuple[str, tuple[Decimal | None, str | None]]]:
    """Each amount that has a column, with the currency in which somebody pays it."""
    yield "amount", (order.amount, order.currency)
    yield "original_amount", (order.original_amount, order.currency)
    yield "charge_amount", (order.charge_amount, order.charge_currency)
    yield "virtual_currency_amount", (order.virtual_currency_amount, None)
    yield "refund.amount", (order.refund.amount, order.refund.currency) if order.refund else (None, None)
    for name, part in (("tax", order.tax), ("fee", order.fee), ("net_revenue", order.net_revenue)):
        yield f"{name}.amount", (part.amount if part else None, None)
