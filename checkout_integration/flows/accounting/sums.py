"""The sums of a period: what is summed, by what, and the three grouped statements that read it.

They read payments, reversals, and how many payments were reversed, each by an index of the time. Groups are few, whatever
the number of orders; the amounts of a group are put into the rows of their own currencies here. docs/money.md defines each
sum by the specification's fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from django.db import connections, router, transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncMonth

from checkout_integration.conf import app_settings
from checkout_integration.flows.accounting.period import Period
from checkout_integration.models import Order, Refund
from checkout_integration.models.order import IN_REVIEW, IS_PAYMENT
from checkout_integration.policy.amounts import MONEY_PLACES
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.state import SETTLED_KINDS
from checkout_integration.protocol.values import rounded
from checkout_integration.protocol.vocabulary import OrderStatus

AMOUNTS: Final = ("gross", "charged", "tax", "fee", "net", "refunded", "charged_back")
"""The sums that are money."""


class Dimension(StrEnum):
    """By what sums are divided, besides their currency.

    ``product``: by the name of the first item, else the shop's words for what it sold, else the service's. ``origin``: by the
    source that the shop or the link has named, and by the host from which the customer came. ``vat``: by rate of tax, and by
    who pays it.
    """

    DAY = "day"
    MONTH = "month"
    METHOD = "method"
    COUNTRY = "country"
    PRODUCT = "product"
    ORIGIN = "origin"
    VAT = "vat"


COLUMNS: Final[Mapping[Dimension, tuple[str, ...]]] = MappingProxyType(
    {
        Dimension.DAY: ("day",),
        Dimension.MONTH: ("month",),
        Dimension.METHOD: ("method_type",),
        Dimension.COUNTRY: ("country",),
        Dimension.PRODUCT: ("product",),
        Dimension.ORIGIN: ("utm_source", "referrer_host"),
        Dimension.VAT: ("tax_rate", "vat_payer"),
    }
)
"""The columns of an order by which each dimension divides; those of `COMPUTED` are computed."""
COMPUTED: Final = ("day", "month")


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

    An amount is None where nothing is stated in this currency: unknown is never zero. A sum of which ``unstated`` counts
    something is the sum of the others.

    Attributes:
        payments: payments that are priced in this currency, refunded and charged-back ones too.
        in_review: those of them that wait for staff: of their goods nothing is delivered until somebody accepts them.
        contradicted: those of them whose order is shown as canceled or rejected, although a success is known.
        gross: their prices, ``amount``: with the tax, before any reversal.
        charged: what customers were charged in this currency, ``charge_amount``.
        tax: the tax in it, as the service states it.
        fee: the service's commission.
        net: what the shop receives, ``net_revenue``, before any reversal.
        refunds: payments with a refund, in full or of a part.
        refunded: what was given back by refunds.
        chargebacks: payments that were charged back.
        charged_back: what was taken back by chargebacks.
        stated: of each amount, by its name: how many payments or reversals are in the sum.
        unstated: how many payments that are priced in this currency, or reversals of them, have no such amount in any.

    """

    payments: int = 0
    in_review: int = 0
    contradicted: int = 0
    gross: Decimal | None = None
    charged: Decimal | None = None
    tax: Decimal | None = None
    fee: Decimal | None = None
    net: Decimal | None = None
    refunds: int = 0
    refunded: Decimal | None = None
    chargebacks: int = 0
    charged_back: Decimal | None = None
    stated: Counter[str] = field(default_factory=Counter)
    unstated: Counter[str] = field(default_factory=Counter)

    def add(self, **parts: Any) -> None:
        """Add numbers, amounts and counts to the sums of these names. None adds nothing, and is no zero."""
        for name, part in parts.items():
            so_far = getattr(self, name)
            if part is not None:
                setattr(self, name, part if so_far is None else so_far + part)

    @property
    def is_complete(self) -> bool:
        """Whether every amount of these payments and reversals is stated."""
        return not any(self.unstated.values())

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
        by: the value of each column of the dimensions: ``day``, ``month`` (its first day), ``method_type``, ``country``,
            ``product``, ``utm_source``, ``referrer_host``, ``tax_rate``, ``vat_payer``.
        sums: the sums.

    """

    currency: str
    by: Mapping[str, Any] = field(default_factory=dict)
    sums: Sums


def totals_of(rows: Iterable[MoneyRow]) -> list[MoneyRow]:
    """Return the sums of all rows of each currency; the one with most payments comes first."""
    totals: dict[str, Sums] = {}
    for row in rows:
        of_row = {each.name: getattr(row.sums, each.name) for each in fields(Sums)}
        totals.setdefault(row.currency, Sums()).add(**of_row)
    main_first = sorted(totals.items(), key=lambda each: -each[1].payments)
    return [MoneyRow(currency=currency, sums=sums) for currency, sums in main_first]


def _percent(part: int, whole: int) -> Decimal | None:
    return rounded(Decimal(100 * part) / whole, 2) if whole else None


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
COUNTED: Final[Mapping[str, Q]] = {
    "payments": Q(),
    "in_review": IN_REVIEW,
    "contradicted": ~Q(status__in=SETTLED_KINDS),
}
"""Each number of payments: which of them it counts."""
LOST: Final[Mapping[str, tuple[str, str]]] = {
    OrderStatus.REFUNDED: ("refunds", "refunded"),
    OrderStatus.CHARGEBACK: ("chargebacks", "charged_back"),
}
"""Of each kind of reversal: the number of its payments, and the sum."""
OF_ORDER: Final = "order__"
CURRENCIES: Final = tuple(currency for _amount, currency in PAID.values())
SHORT: Final = 31
"""Days whose groups are few in any case."""
ROOM: Final = """
    SELECT set_config('work_mem', GREATEST(65536, pg_size_bytes(current_setting('work_mem')) / 1024) || 'kB', true)
"""


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
    with _room_for_groups() if query.period.days > SHORT else nullcontext():
        for group in _bounded(_payments(query)):
            books.pay(group)
        for group in _bounded(_reversals(query)):
            books.reverse(group)
        for group in _bounded(_reversed_payments(query)):
            books.count_reversed(group)
    return books.rows()


@contextmanager
def _room_for_groups() -> Iterator[None]:
    """Let PostgreSQL group in memory, for as long as one transaction.

    It expects a group for each day with each combination of five currencies: tens of thousands, where there are hundreds. By
    its default limit it would rather sort all payments of a year, on disk, which takes twice as long.
    """
    connection = connections[router.db_for_read(Order)]
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(ROOM)
        yield


def _payments(query: MoneyQuery) -> QuerySet[Any, Any]:
    orders = Order.objects.filter(_chosen(query), _within(query.period, "ordered_at"), IS_PAYMENT)
    groups = _grouped(orders, query, "ordered_at", CURRENCIES)
    sums = {name: Sum(amount) for name, (amount, _currency) in PAID.items()}
    stated = {f"{name}_stated": Count(amount) for name, (amount, _currency) in PAID.items()}
    counts = {name: Count("pk", filter=condition) for name, condition in COUNTED.items()}
    return groups.annotate(**counts, **stated, **sums)  # type: ignore[no-any-return]


def _reversals(query: MoneyQuery) -> QuerySet[Any, Any]:
    groups = _of_reversals(query, "status", "currency", f"{OF_ORDER}currency")
    counts = {"number": Count("pk"), "stated": Count("amount"), "lost": Sum("amount")}
    return groups.annotate(**counts)  # type: ignore[no-any-return]


def _reversed_payments(query: MoneyQuery) -> QuerySet[Any, Any]:
    """Return how many payments were reversed: one that was refunded in parts is one, also if these have two currencies."""
    groups = _of_reversals(query, "status", f"{OF_ORDER}currency")
    return groups.annotate(number=Count("order", distinct=True))  # type: ignore[no-any-return]


def _of_reversals(query: MoneyQuery, *others: str) -> QuerySet[Any, Any]:
    """Return groups of the refunds and chargebacks that stand: of a payment that staff have restored, none do."""
    time = f"{OF_ORDER}ordered_at" if query.on_payment_day else "reversed_at"
    refunds = Refund.objects.filter(
        _chosen(query, OF_ORDER), _within(query.period, time), order__status__in=REVERSALS
    )
    return _grouped(refunds, query, time, others, OF_ORDER)


def _chosen(query: MoneyQuery, prefix: str = "") -> Q:
    """Return the condition of mode and project, for orders or for rows that refer to them."""
    project = Q(**{f"{prefix}project": query.project}) if query.project else Q()
    return query.mode.condition(prefix) & project


def _within(period: Period, time: str) -> Q:
    return Q(**{f"{time}__gte": period.begin, f"{time}__lt": period.end})


def _grouped(
    rows: QuerySet[Any], query: MoneyQuery, time: str, others: Sequence[str], prefix: str = ""
) -> QuerySet[Any, Any]:
    """Return the rows grouped by the columns of the dimensions, and by other columns."""
    if Dimension.DAY in query.by or Dimension.MONTH in query.by:
        rows = rows.annotate(day=query.period.day_of(time))
    if Dimension.MONTH in query.by:
        rows = rows.annotate(month=TruncMonth("day"))
    columns = [_name(column, prefix) for column in query.columns]
    return rows.order_by().values(*columns, *others)


def _name(column: str, prefix: str) -> str:
    return column if column in COMPUTED else f"{prefix}{column}"


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
        row, number = self._row(group, group["currency"]), group["payments"]
        row.add(**{name: group[name] for name in COUNTED})
        for name, (_amount, currency) in PAID.items():
            stated = group[f"{name}_stated"]
            row.unstated[name] += number - stated
            self._add(group, group[currency], name, group[name], stated)

    def reverse(self, group: Group) -> None:
        """Add the amounts of reversals of a kind, each to the row of its own currency."""
        _number, lost = LOST[group["status"]]
        row = self._row(group, group[f"{OF_ORDER}currency"], OF_ORDER)
        row.unstated[lost] += group["number"] - group["stated"]
        self._add(group, group["currency"], lost, group["lost"], group["stated"], OF_ORDER)

    def count_reversed(self, group: Group) -> None:
        """Add the number of payments that were reversed in a way, to the row of their price."""
        number, _lost = LOST[group["status"]]
        self._row(group, group[f"{OF_ORDER}currency"], OF_ORDER).add(**{number: group["number"]})

    def rows(self) -> list[MoneyRow]:
        """Return the rows, sorted by currency and by the values of their columns; the unknown comes first."""
        return [
            MoneyRow(currency=currency, by=dict(zip(self._columns, key, strict=True)), sums=sums)
            for (currency, key), sums in sorted(self._rows.items(), key=_by_known_values)
        ]

    def _add(
        self, group: Group, currency: str, name: str, amount: object, stated: int, prefix: str = ""
    ) -> None:
        if amount is not None:
            # Some databases give sums back with another number of places.
            exact = rounded(Decimal(str(amount)), MONEY_PLACES)
            row = self._row(group, currency, prefix)
            row.add(**{name: exact})
            row.stated[name] += stated

    def _row(self, group: Group, currency: str, prefix: str = "") -> Sums:
        key = tuple(group[_name(column, prefix)] for column in self._columns)
        return self._rows.setdefault((currency, key), Sums())


def _by_known_values(item: tuple[tuple[str, tuple[Any, ...]], Sums]) -> tuple[Any, ...]:
    (currency, key), _sums = item
    return currency, [(value is not None, value) for value in key]
