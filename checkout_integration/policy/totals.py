"""Counts and sums of orders by currency and status, on both sides: in the transaction list and in this shop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from checkout_integration.policy.amounts import MONEY_PLACES, column_amount
from checkout_integration.policy.facts import REVERSALS, STATUSES
from checkout_integration.policy.modes import is_testing_case
from checkout_integration.protocol.listing import TransactionRow
from checkout_integration.protocol.values import is_stated, rounded

Group: TypeAlias = tuple[str, str]
"""A currency and a status. Amounts of different currencies are never added."""
ZERO: Final = Decimal(0)
UNKNOWN: Final = "unknown"


class Totals:
    """How many orders there are of each currency and status, and the sums of their known amounts. Unknown is no zero."""

    def __init__(self) -> None:
        self._counts, self._unknown = Counter[Group](), Counter[Group]()
        self._sums: dict[Group, Decimal] = {}

    def add(
        self, currency: str, status: str, amount: Decimal | None, count: int = 1, unknown: int | None = None
    ) -> None:
        """Add orders of one currency and status, with the sum of their amounts; of ``unknown`` of them it is not known.

        By default of all of them if there is no amount, else of none.
        """
        group = (currency, status)
        self._counts[group] += count
        if amount is not None:
            self._sums[group] = self._sums.get(group, ZERO) + amount
        elif unknown is None:
            unknown = count
        self._unknown[group] += unknown or 0

    def groups(self) -> set[Group]:
        """Return the currencies and statuses that have orders."""
        return {group for group, count in self._counts.items() if count}

    def as_json(self, group: Group) -> dict[str, Any]:
        """Return a group as JSON: its count, of how many the amount is unknown, and the sum of the others as text.

        The sum is null where the amount of each is unknown.
        """
        count, unknown = self._counts[group], self._unknown[group]
        amount = rounded(self._sums.get(group, ZERO), MONEY_PLACES)
        return {"count": count, "unknown": unknown, "sum": None if 0 < count == unknown else f"{amount:f}"}


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
            amount, count, unknown = (line[name][each] for each in ("sum", "count", "unknown"))
            side.add(line["currency"], line["status"], amount and Decimal(amount), count, unknown)
    return compared(sides["there"], sides["here"])


def amount_of(text: object, currency: str) -> Decimal | None:
    """Return an order's amount, which is the text of a number, as the column of an order has it; None if it is unknown."""
    try:
        amount = Decimal(text) if isinstance(text, str) else None
    except InvalidOperation:
        return None
    return column_amount(amount, currency) if is_stated(amount, currency) else None


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
        self.ids, self.there = set[str](), Totals()
        self.reversed: list[tuple[str, str, str, Decimal | None]] = []
        self.begin: datetime | None = None
        self.end: datetime | None = None

    def add(self, rows: Sequence[TransactionRow]) -> None:
        """Add the rows of a page; those of an earlier page are not counted again."""
        new = {row.id: row for row in rows if row.id and row.id not in self.ids}
        self.ids.update(new)
        for row in new.values():
            if (created_at := row.created_at) is None:
                continue
            self.begin = min(self.begin or created_at, created_at)
            self.end = max(self.end or created_at, created_at)
            if self.latest is not None and created_at <= self.latest and not is_testing_case(row.outline):
                self._count(row)

    def _count(self, row: TransactionRow) -> None:
        currency, status = str(row.outline.get("currency") or "")[:8], str(row.outline.get("status"))
        amount = amount_of(row.outline.get("amount"), currency)
        if status in REVERSALS:
            self.reversed.append((row.id, currency, status, amount))
        else:
            self.there.add(currency, status if status in STATUSES else UNKNOWN, amount)
