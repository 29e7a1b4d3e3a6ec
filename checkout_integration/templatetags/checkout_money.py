"""``{% load checkout_money %}``: sums and charts on pages of the admin. It is private to the templates of this app.

A chart is drawn as SVG by the server: it needs no script and has the colours of the theme. A table beside it has its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from django.template import Context, Library
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from checkout_integration.display import shown_amount, shown_day, shown_number, shown_part
from checkout_integration.flows import accounting
from checkout_integration.flows.accounting import Dimension, Mode, MoneyQuery, MoneyRow, Period

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

register = Library()

WEEK: Final = 7
WIDTH: Final = 720
UP: Final = 120
DOWN: Final = 40
"""Heights for what came in, and for what went back."""
MOST_BARS: Final = 366
GAP: Final = Decimal("0.2")
ZERO: Final = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar above the line, and one below it. Places and sizes are texts, which no language writes with a comma."""

    x: str
    width: str
    up_y: str
    up_height: str
    down_height: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What the app's page on the admin's index shows: of each currency with money, the sums of some days until today."""

    is_test: bool
    is_complete: bool
    lines: Sequence[tuple[StrOrPromise, str, MoneyRow]]
    """The name of the days, the parameters of the list of their orders, and the sums."""


@register.simple_tag(takes_context=True)
def checkout_money(context: Context) -> Panel | None:
    """Return the money of the last seven days; None for those who may not see sums of money."""
    if not context["request"].user.has_perm("checkout_integration.view_money"):
        return None
    week, mode = Period.last_days(WEEK), accounting.usual_mode()
    rows = accounting.money_rows(MoneyQuery(period=week, by=[Dimension.DAY], mode=mode))
    days = list(week)
    return Panel(
        is_test=mode is Mode.TEST,
        is_complete=all(row.sums.is_complete for row in rows),
        lines=[
            (
                name,
                urlencode(
                    {
                        "paid": "yes",
                        "mode": mode.value,
                        "currency": currency,
                        "from_day": some[0],
                        "to_day": some[-1],
                    }
                ),
                _sum(currency, some, rows),
            )
            for currency in [total.currency for total in accounting.totals_of(rows)]
            for name, some in (
                (_("today"), days[-1:]),
                (_("yesterday"), days[-2:-1]),
                (_("seven days"), days),
            )
        ],
    )


def _sum(currency: str, days: Sequence[date], rows: Sequence[MoneyRow]) -> MoneyRow:
    """Return the sums of a currency on some days."""
    found = accounting.totals_of([row for row in rows if row.currency == currency and row.by["day"] in days])
    return found[0] if found else MoneyRow(currency=currency, by={}, sums=accounting.Sums())


@register.simple_tag
def money_sum(row: MoneyRow, name: str) -> str:
    """Return a sum in the active language, and of how many payments it is if some have not stated it; "–" for none."""
    sums, total = row.sums, getattr(row.sums, name)
    shown = "–" if total is None else shown_amount(total, row.currency)
    of = shown_part(sums.stated[name], sums.unstated[name])
    return format_html('{} <span class="ci-of">{}</span>', shown, of) if of else shown


register.filter("number", shown_number)
register.filter("day", shown_day)


@register.inclusion_tag("admin/checkout_integration/chart.html")
def money_chart(rows: Sequence[MoneyRow], columns: Sequence[str]) -> dict[str, Any]:
    """Render the rows of one currency: gross above a line, refunds and chargebacks below it.

    Nothing for a single row, for too many, where more than one column divides them, and where there is nothing to draw.
    """
    if len(columns) != 1 or not 1 < len(rows) <= MOST_BARS or not any(map(_heights, rows)):
        return {"bars": ()}
    return {
        "bars": _bars(rows, columns[0]),
        "currency": rows[0].currency or "–",
        "width": WIDTH,
        "line": UP,
        "height": UP + DOWN,
    }


def _heights(row: MoneyRow) -> tuple[Decimal, Decimal] | None:
    """Return what came in and what went back; None if nothing did."""
    sums = row.sums
    up, down = max(sums.gross or ZERO, ZERO), max((sums.refunded or ZERO) + (sums.charged_back or ZERO), ZERO)
    return (up, down) if up or down else None


def _bars(rows: Sequence[MoneyRow], column: str) -> list[Bar]:
    heights = [_heights(row) or (ZERO, ZERO) for row in rows]
    scale = _scale(max(up for up, _down in heights), max(down for _up, down in heights))
    step = Decimal(WIDTH) / len(rows)
    return [
        Bar(
            x=_text(step * place + step * GAP / 2),
            width=_text(step * (1 - GAP)),
            up_y=_text(UP - up * scale),
            up_height=_text(up * scale),
            down_height=_text(down * scale),
            title=_title(row, column, up, down),
        )
        for place, (row, (up, down)) in enumerate(zip(rows, heights, strict=True))
    ]


def _scale(highest: Decimal, deepest: Decimal) -> Decimal:
    """Return the length of one unit of money, the same above and below the line."""
    lengths = [Decimal(size) / most for size, most in ((UP, highest), (DOWN, deepest)) if most]
    return min(lengths, default=ZERO)


def _title(row: MoneyRow, column: str, up: Decimal, down: Decimal) -> str:
    earned, lost = shown_amount(up, row.currency), shown_amount(down, row.currency)
    value = row.by[column]
    name = shown_day(value) if isinstance(value, date) else value or "–"
    return f"{name}: +{earned} / -{lost} {row.currency}"


def _text(length: Decimal) -> str:
    return format(length.quantize(Decimal("0.01")), "f")
