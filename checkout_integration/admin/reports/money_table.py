"""The rows of the page about money, as values: the page shows them, and the CSV file has the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext_lazy

from checkout_integration.admin.site import NOTHING, visible
from checkout_integration.display import amount_text, shown_day, shown_number
from checkout_integration.flows.accounting import MoneyRow, totals_of

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MOST_SHOWN: Final = 1_000
"""Rows of a currency that the page shows; the file has all of them."""
KEYS: Final[Mapping[str, StrOrPromise]] = {
    "day": gettext_lazy("day"),
    "method_type": gettext_lazy("payment method"),
    "country": gettext_lazy("country"),
    "tax_rate": gettext_lazy("rate of VAT"),
    "vat_payer": gettext_lazy("VAT paid by"),
}
SUMS: Final[Mapping[str, StrOrPromise]] = {
    "payments": gettext_lazy("payments"),
    "gross": gettext_lazy("gross"),
    "charged": gettext_lazy("charged"),
    "tax": gettext_lazy("tax"),
    "fee": gettext_lazy("fee"),
    "net": gettext_lazy("net"),
    "unstated": gettext_lazy("net not stated"),
    "refunds": gettext_lazy("payments refunded"),
    "refunded": gettext_lazy("refunds"),
    "chargebacks": gettext_lazy("payments charged back"),
    "charged_back": gettext_lazy("chargebacks"),
    "refund_rate": gettext_lazy("refund rate, %"),
    "chargeback_rate": gettext_lazy("chargeback rate, %"),
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of the page: the heading of its column, its text, and whether it is a number."""

    heading: StrOrPromise
    text: str
    is_number: bool


@dataclass(frozen=True, kw_only=True)
class Section:
    """The rows of one currency, on the page.

    Attributes:
        currency: its code; "–" if the service has not stated it.
        columns: the headings.
        rows: the cells of each row.
        total: the cells of the sums of all rows.
        left_out: how many rows are in the file alone.
        sums: the rows themselves, for a chart.

    """

    currency: str
    columns: Sequence[StrOrPromise]
    rows: Sequence[Sequence[Cell]]
    total: Sequence[Cell]
    left_out: int
    sums: Sequence[MoneyRow]


def header(columns: Sequence[str]) -> list[str]:
    """Return the header of the file: stable names."""
    return ["currency", *columns, *SUMS]


def values_of(row: MoneyRow, columns: Sequence[str]) -> list[Any]:
    """Return the values of a row in the order of the header. Amounts have the places of their currency."""
    return [
        row.currency,
        *(_plain(row.by.get(column)) for column in columns),
        *(_exact(getattr(row.sums, name), name, row.currency) for name in SUMS),
    ]


def headings(columns: Sequence[str]) -> list[StrOrPromise]:
    """Return the headings of a section's table."""
    return [*(KEYS[column] for column in columns), *SUMS.values()]


def sections(rows: Sequence[MoneyRow], columns: Sequence[str]) -> Iterator[Section]:
    """Yield a section for each currency."""
    for total in totals_of(rows):
        own = [row for row in rows if row.currency == total.currency]
        yield Section(
            currency=visible(total.currency) or NOTHING,
            columns=headings(columns),
            rows=[_cells(row, columns) for row in own[:MOST_SHOWN]],
            total=_cells(total, columns)[len(columns) :],
            left_out=max(len(own) - MOST_SHOWN, 0),
            sums=own,
        )


def _cells(row: MoneyRow, columns: Sequence[str]) -> list[Cell]:
    """Return the cells of a row, without its currency."""
    texts = map(_shown, values_of(row, columns)[1:])
    return [
        Cell(heading=heading, text=text, is_number=place >= len(columns))
        for place, (heading, text) in enumerate(zip(headings(columns), texts, strict=True))
    ]


def _plain(value: Any) -> Any:
    """Return a rate without the zeros that its column adds."""
    return Decimal(amount_text(value)) if isinstance(value, Decimal) else value


def _exact(value: Any, name: str, currency: str) -> Any:
    is_amount = isinstance(value, Decimal) and not name.endswith("_rate")
    return Decimal(amount_text(value, currency)) if is_amount else value


def _shown(value: Any) -> str:
    """Return a value as people write it in the active language."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, date):
        return shown_day(value)
    return shown_number(value) if isinstance(value, Decimal | int) else visible(value)
