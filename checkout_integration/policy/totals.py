"""Counts and sums of orders by currency and status, on both sides: in the transaction list and in this shop."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from checkout_integration.policy.amounts import MONEY_PLACES, column_amount
from checkout_integration.policy.facts import REVERSALS, STATUSES
from checkout_integration.protocol.listing import TransactionRow
from checkout_integration.protocol.values import smallest

Group: TypeAlias = tuple[str, str]
"""A currency and a status. Amounts of different currencies are never added."""
ZERO: Final = Decimal(0)
UNKNOWN: Final = "unknown"
SHORT: Final = 16
"""Characters of an amount that certainly fits a column."""
BUCKETS: Final = 0xFFFF


class Totals:
    """How many orders there are of each currency and status, and the sums of their amounts as far as they are known."""

    def __init__(self) -> None:
        self._counts: dict[Group, int] = {}
        self._sums: dict[Group, Decimal] = {}

    def add(self, currency: str, status: str, amount: Decimal, count: int = 1) -> None:
        """Add orders of one currency and status, with the sum of their amounts."""
        group = (currency, status)
        self._counts[group] = self._counts.get(group, 0) + count
        self._sums[group] = self._sums.get(group, ZERO) + amount

    def groups(self) -> set[Group]:
        """Return the currencies and statuses that have orders."""
        return {group for group, count in self._counts.items() if count}

    def as_json(self, group: Group) -> dict[str, Any]:
        """Return the count and the sum of a group as JSON, the sum as text."""
        amount = self._sums.get(group, ZERO).quantize(smallest(MONEY_PLACES))
        return {"count": self._counts.get(group, 0), "sum": f"{amount:f}"}


def compared(there: Totals, here: Totals) -> list[dict[str, Any]]:
    """Return the totals of both sides as JSON: one object for each currency and status, sorted."""
    return [
        {
            "currency": group[0],
            "status": group[1],
            "here": here.as_json(group),
            "there": there.as_json(group),
        }
        for group in sorted(there.groups() | here.groups())
    ]


def together(parts: Iterable[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the totals of several windows as those of their pass."""
    sides = {"here": Totals(), "there": Totals()}
    for line in (line for part in parts for line in part):
        for name, side in sides.items():
            side.add(line["currency"], line["status"], Decimal(line[name]["sum"]), line[name]["count"])
    return compared(sides["there"], sides["here"])


def amount_of(text: object, currency: str) -> Decimal:
    """Return an order's amount, which is the text of a number, as the column of an order has it; zero if it is unknown."""
    try:
        amount = Decimal(text) if isinstance(text, str) else ZERO
    except InvalidOperation:
        return ZERO
    if isinstance(text, str) and len(text) < SHORT and text[-3:-2] == ".":
        return amount  # with two places, as nearly all
    return column_amount(amount, currency) or ZERO


class IdSet:
    """A set of identifiers in a tenth of a set's memory: of a million of them it has 64-bit hashes, in 25 MB."""

    def __init__(self) -> None:
        self._buckets: dict[int, array[int]] = {}

    def add(self, identifier: str) -> bool:
        """Add an identifier; return whether it is new."""
        hashed = hash(identifier)
        bucket = self._buckets.get(hashed & BUCKETS)
        if bucket is None:
            self._buckets[hashed & BUCKETS] = array("q", (hashed,))
        elif hashed in bucket:
            return False
        else:
            bucket.append(hashed)
        return True

    def __contains__(self, identifier: str) -> bool:
        """Return whether it was added."""
        hashed = hash(identifier)
        return hashed in self._buckets.get(hashed & BUCKETS, ())


class ListedWindow:
    """What the list gave in one window, for a comparison with the orders here.

    Attributes:
        margin: how old the data of the list may be.
        latest: orders that were created later are not counted, since they are still changing; None to count none.
        ids: the identifiers of all rows.
        begin: the earliest time at which one of them was created; None without rows.
        end: the latest one.
        there: the totals of the rows that are not reversed.
        reversed: the others: id, currency, status and amount.

    """

    def __init__(self, margin: timedelta, latest: datetime | None = None) -> None:
        self.margin, self.latest = margin, latest
        self.ids, self.there = IdSet(), Totals()
        self.reversed: list[tuple[str, str, str, Decimal]] = []
        self.begin: datetime | None = None
        self.end: datetime | None = None

    def add(self, rows: Sequence[TransactionRow]) -> None:
        """Add the rows of a page; those of an earlier page are not counted again."""
        new = [row for row in rows if row.id and self.ids.add(row.id)]
        dated = sorted((row for row in new if row.outline.get("created_at")), key=_time_text)
        for created_at in (row.created_at for row in (*dated[:1], *dated[-1:])):
            if created_at is not None:
                self.begin = min(self.begin or created_at, created_at)
                self.end = max(self.end or created_at, created_at)
        if self.latest is not None and dated:
            self._count(dated, self.latest)

    def _count(self, rows: Sequence[TransactionRow], latest: datetime) -> None:
        """Count rows, which are sorted by time, so that mostly two times are to be read."""
        if not all(row.created_at and row.created_at <= latest for row in (rows[0], rows[-1])):
            rows = [row for row in rows if row.created_at and row.created_at <= latest]
        for row in rows:
            if row.outline.get("testing_case"):
                continue
            currency, status = str(row.outline.get("currency") or "")[:8], str(row.outline.get("status"))
            amount = amount_of(row.outline.get("amount"), currency)
            if status in REVERSALS:
                self.reversed.append((row.id, currency, status, amount))
            else:
                self.there.add(currency, status if status in STATUSES else UNKNOWN, amount)


def _time_text(row: TransactionRow) -> str:
    return str(row.outline["created_at"])
