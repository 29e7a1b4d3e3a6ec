"""The sums of a period, by two grouped statements: one of payments, one of their refunds and chargebacks.

Both read the rows of the period by an index of the time. Groups are few, whatever the number of orders; the amounts of a
group are put into the rows of their own currencies here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from checkout_integration.flows.accounting.period import Period
from checkout_integration.flows.accounting.sums import COLUMNS, Dimension, Mode, MoneyRow, Sums
from checkout_integration.models import Order, Refund
from checkout_integration.policy.amounts import MONEY_PLACES
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.state import SETTLED_KINDS
from checkout_integration.protocol.values import smallest
from checkout_integration.protocol.vocabulary import OrderStatus

Group: TypeAlias = Mapping[str, Any]
MOST_GROUPS: Final = 50_000
PAID: Final = {
    "gross": ("amount", "currency"),
    "charged": ("charge_amount", "charge_currency"),
    "tax": ("tax_amount", "tax_currency"),
    "fee": ("fee_amount", "fee_currency"),
    "net": ("net_revenue_amount", "net_revenue_currency"),
}
"""Each sum of payments: the column with its amount, and the one with its currency."""
OF_ORDER: Final = "order__"
CURRENCIES: Final = tuple(currency for _amount, currency in PAID.values())


class TooManyRows(ValueError):
    """The period has too many different rows, more than 50,000. Take fewer days or fewer dimensions."""


@dataclass(frozen=True, kw_only=True)
class MoneyQuery:
    """What to sum.

    Attributes:
        period: the days.
        by: the dimensions that divide the sums.
        project: alias of the project; "" for all together.
        mode: real money, or tests: never both.
        on_payment_day: whether a reversal counts on the day of its payment, and not on its own.

    """

    period: Period
    by: Sequence[Dimension] = ()
    project: str = ""
    mode: Mode = Mode.LIVE
    on_payment_day: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns that divide the sums, in the order of the dimensions."""
        return [column for dimension in Dimension if dimension in self.by for column in COLUMNS[dimension]]


def money_rows(query: MoneyQuery) -> list[MoneyRow]:
    """Return the sums by currency and dimensions, sorted by both. Raises `TooManyRows`."""
    books = _Books(query.columns)
    for group in _bounded(_payments(query)):
        books.pay(group)
    for group in _bounded(_reversals(query)):
        books.reverse(group)
    return books.rows()


def _payments(query: MoneyQuery) -> QuerySet[Any, Any]:
    within = _within(query.period, "created_at", "recorded_at")
    orders = Order.objects.filter(_chosen(query), within, status__in=SETTLED_KINDS)
    groups = _grouped(orders, query, ("created_at", "recorded_at"), CURRENCIES)
    sums = {name: Sum(amount) for name, (amount, _currency) in PAID.items()}
    counts = {"number": Count("pk"), "stated": Count("net_revenue_amount")}
    return groups.annotate(**counts, **sums)  # type: ignore[no-any-return]


def _reversals(query: MoneyQuery) -> QuerySet[Any, Any]:
    """Return the refunds and chargebacks that stand: of a payment that staff have restored, none do."""
    of_payment = (f"{OF_ORDER}created_at", f"{OF_ORDER}recorded_at")
    times = of_payment if query.on_payment_day else ("refunded_at", "recorded_at")
    refunds = Refund.objects.filter(
        _chosen(query, OF_ORDER), _within(query.period, *times), order__status__in=REVERSALS
    )
    groups = _grouped(refunds, query, times, ("status", "currency", f"{OF_ORDER}currency"), OF_ORDER)
    counts = {"number": Count("order", distinct=True), "lost": Sum("amount")}
    return groups.annotate(**counts)  # type: ignore[no-any-return]


def _chosen(query: MoneyQuery, prefix: str = "") -> Q:
    """Return the condition of mode and project, for orders or for rows that refer to them."""
    project = Q(**{f"{prefix}project": query.project}) if query.project else Q()
    return query.mode.condition(prefix) & project


def _within(period: Period, time: str, noticed: str) -> Q:
    """Return the condition of a time in the period; a row without it has the time at which this app has noticed it."""
    unknown = Q(**{f"{time}__isnull": True, f"{noticed}__gte": period.begin, f"{noticed}__lt": period.end})
    return Q(**{f"{time}__gte": period.begin, f"{time}__lt": period.end}) | unknown


def _grouped(
    rows: QuerySet[Any], query: MoneyQuery, times: Sequence[str], others: Sequence[str], prefix: str = ""
) -> QuerySet[Any, Any]:
    """Return the rows grouped by the columns of the dimensions, and by other columns."""
    if Dimension.DAY in query.by:
        rows = rows.annotate(moment=Coalesce(*times)).annotate(day=query.period.day_of("moment"))
    columns = [column if column == "day" else f"{prefix}{column}" for column in query.columns]
    return rows.order_by().values(*columns, *others)


def _bounded(groups: QuerySet[Any, Any]) -> list[Group]:
    found = list(groups[: MOST_GROUPS + 1])
    if len(found) > MOST_GROUPS:
        raise TooManyRows(f"There are more than {MOST_GROUPS} rows: take fewer days or fewer dimensions.")
    return found


class _Books:
    """The rows, while groups are added to them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._rows: dict[tuple[str, tuple[Any, ...]], Sums] = {}

    def pay(self, group: Group) -> None:
        """Add the payments of a group: each amount to the row of its own currency."""
        unstated = group["number"] - group["stated"]
        self._row(group, group["currency"]).add(payments=group["number"], unstated=unstated)
        for name, (_amount, currency) in PAID.items():
            self._add(group, group[currency], name, group[name])

    def reverse(self, group: Group) -> None:
        """Add reversals of a kind: the number of payments to the row of their price, the amount to that of its currency."""
        is_refund = group["status"] == OrderStatus.REFUNDED
        number, lost = ("refunds", "refunded") if is_refund else ("chargebacks", "charged_back")
        self._row(group, group[f"{OF_ORDER}currency"], OF_ORDER).add(**{number: group["number"]})
        self._add(group, group["currency"], lost, group["lost"], OF_ORDER)

    def rows(self) -> list[MoneyRow]:
        """Return the rows, sorted by currency and by the values of their columns; the unknown comes first."""
        return [
            MoneyRow(currency=currency, by=dict(zip(self._columns, key, strict=True)), sums=sums)
            for (currency, key), sums in sorted(self._rows.items(), key=_by_known_values)
        ]

    def _add(self, group: Group, currency: str, name: str, amount: object, prefix: str = "") -> None:
        if amount is not None:
            # Some databases give sums back with another number of places.
            exact = Decimal(str(amount)).quantize(smallest(MONEY_PLACES))
            self._row(group, currency, prefix).add(**{name: exact})

    def _row(self, group: Group, currency: str, prefix: str = "") -> Sums:
        key = tuple(group["day" if column == "day" else f"{prefix}{column}"] for column in self._columns)
        return self._rows.setdefault((currency, key), Sums())


def _by_known_values(item: tuple[tuple[str, tuple[Any, ...]], Sums]) -> tuple[Any, ...]:
    (currency, key), _sums = item
    return currency, [(value is not None, value) for value in key]
