"""What is summed, and by what. docs/money.md defines each sum by the specification's fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from django.db.models import Q

from checkout_integration.conf import app_settings

ZERO: Final = Decimal(0)


class Dimension(StrEnum):
    """By what sums are divided, besides their currency. ``vat``: by rate of tax, and by who pays it."""

    DAY = "day"
    METHOD = "method"
    COUNTRY = "country"
    VAT = "vat"


COLUMNS: Final[Mapping[Dimension, tuple[str, ...]]] = MappingProxyType(
    {
        Dimension.DAY: ("day",),
        Dimension.METHOD: ("method_type",),
        Dimension.COUNTRY: ("country",),
        Dimension.VAT: ("tax_rate", "vat_payer"),
    }
)
"""The columns of an order by which each dimension divides; ``day`` is computed."""


class Mode(StrEnum):
    """Real money, or tests. ``unknown``: the service has not said which."""

    LIVE = "live"
    TEST = "test"
    UNKNOWN = "unknown"

    def condition(self, prefix: str = "") -> Q:
        """Return the condition of its orders, by the rule of the admin's list; with a prefix, of rows that refer to them."""
        production, live = f"{prefix}is_production", f"{prefix}live"
        if self is Mode.TEST:
            return Q((production, False)) | Q((live, False))
        known = Q((production, True)) if self is Mode.LIVE else Q((f"{production}__isnull", True))
        return known & (Q((live, True)) | Q((f"{live}__isnull", True)))


def usual_mode() -> Mode:
    """Return live if any project takes live payments; else test."""
    live = any(not project.accept_test_payments for project in app_settings().projects.values())
    return Mode.LIVE if live else Mode.TEST


@dataclass(kw_only=True)
class Sums:
    """Sums in one currency, and numbers of payments. Amounts of reversals are positive.

    Attributes:
        payments: payments that are priced in this currency, refunded and charged-back ones too.
        gross: their prices, ``amount``: with the tax, before any reversal.
        charged: what customers were charged in this currency, ``charge_amount``.
        tax: the tax in it, as the service states it.
        fee: the service's commission.
        net: what the shop receives, ``net_revenue``, before any reversal.
        unstated: payments whose net revenue the service has not stated, so that ``net`` and ``fee`` lack them.
        refunds: payments with a refund, in full or of a part.
        refunded: what was given back by refunds.
        chargebacks: payments that were charged back.
        charged_back: what was taken back by chargebacks.

    """

    payments: int = 0
    gross: Decimal = ZERO
    charged: Decimal = ZERO
    tax: Decimal = ZERO
    fee: Decimal = ZERO
    net: Decimal = ZERO
    unstated: int = 0
    refunds: int = 0
    refunded: Decimal = ZERO
    chargebacks: int = 0
    charged_back: Decimal = ZERO

    def add(self, **amounts: Any) -> None:
        """Add numbers and amounts to the sums of these names; None is nothing."""
        for name, amount in amounts.items():
            setattr(self, name, getattr(self, name) + (amount or 0))

    @property
    def refund_rate(self) -> Decimal | None:
        """Refunded payments per hundred payments; None without payments."""
        return _percent(self.refunds, self.payments)

    @property
    def chargeback_rate(self) -> Decimal | None:
        """Charged-back payments per hundred payments; None without payments."""
        return _percent(self.chargebacks, self.payments)


@dataclass(frozen=True, kw_only=True)
class MoneyRow:
    """The sums of one currency, and of one value of each dimension.

    Attributes:
        currency: the ISO 4217 code; "" if the service has not stated it.
        by: the value of each column of the dimensions: ``day``, ``method_type``, ``country``, ``tax_rate``, ``vat_payer``.
        sums: the sums.

    """

    currency: str
    by: Mapping[str, Any] = field(default_factory=dict)
    sums: Sums


def totals_of(rows: Iterable[MoneyRow]) -> list[MoneyRow]:
    """Return the sums of all rows of each currency."""
    totals: dict[str, Sums] = {}
    for row in rows:
        of_row = {each.name: getattr(row.sums, each.name) for each in fields(Sums)}
        totals.setdefault(row.currency, Sums()).add(**of_row)
    return [MoneyRow(currency=currency, sums=sums) for currency, sums in totals.items()]


def _percent(part: int, whole: int) -> Decimal | None:
    return (Decimal(100 * part) / whole).quantize(Decimal("0.01")) if whole else None
