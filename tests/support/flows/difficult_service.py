"""A service in another time zone, with a wrong clock and stale answers, which garbles a row of each page."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from checkout_integration.models import Checkout
from checkout_integration.protocol.values import parse_moment
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.flows.list_service import ListService, listed

MOST_STALE: Final = timedelta(minutes=10)
UNREADABLE: Final[dict[str, Any]] = reduce(lambda inner, _: {"inner": inner}, range(40), {})
"""It is nested deeper than we read."""


@dataclass(kw_only=True)
class Sale:
    """A checkout and what happens to its order.

    Attributes:
        end: the status of its order once it is reversed.
        is_signed: whether a notification says that it was reversed. No other notification arrives.

    """

    checkout: Checkout
    sold_at: datetime
    paid_at: datetime | None = None
    reversed_at: datetime | None = None
    end: str = ""
    is_signed: bool = False

    @property
    def order_id(self) -> str:
        """The id of its order."""
        return f"order-{self.checkout.pk}"

    def status(self, at: datetime) -> str:
        """Return the order's status at this time."""
        if self.reversed_at is not None and self.reversed_at <= at:
            return self.end
        return "processed" if self.paid_at is not None and self.paid_at <= at else "created"


@dataclass(kw_only=True)
class DifficultService(ListService):
    """The service. ``ahead`` is the error of its clock.

    Attributes:
        zone: in which it writes times, and in which it takes the times of a query to be, whatever the specification says.
        sales: what has happened.
        chance: how stale and which row is garbled is drawn from it.

    """

    zone: timezone
    sales: list[Sale] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def sell(self) -> None:
        """Sell something at this moment."""
        checkout = CheckoutFactory(expected_amount=Decimal("9.99"))
        self.sales.append(Sale(checkout=checkout, sold_at=datetime.now(UTC)))

    def row(self, sale: Sale, at: datetime) -> dict[str, Any]:
        """Return the order of a sale at a time, as the service shows it."""
        status, reference = sale.status(at), {"checkout_reference": sale.checkout.reference}
        row = listed(sale.order_id, metadata=reference, status=status)
        is_reversed = status == sale.end
        reversal = {"refunded": True, "refunded_at": self.shown_time(sale.reversed_at)} if is_reversed else {}
        return {**row, "created_at": self.shown_time(sale.sold_at), **reversal}

    def shown_time(self, moment: datetime | None) -> str:
        """Return a time by the service's clock, in its zone."""
        return (moment + self.ahead).astimezone(self.zone).isoformat() if moment else ""

    def found(self, query: Mapping[str, list[str]]) -> list[Mapping[str, Any]]:
        """Return the rows as they were some minutes ago."""
        at = datetime.now(UTC) - self.chance.random() * MOST_STALE
        self.rows = [self.row(sale, at) for sale in self.sales if sale.sold_at <= at]
        return super().found({name: self._in_zone(name, values) for name, values in query.items()})

    def shown(self, rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Garble one of the rows."""
        garbled = self.chance.randrange(len(rows)) if rows else None
        return [{**row, "more": UNREADABLE} if place == garbled else row for place, row in enumerate(rows)]

    def _in_zone(self, name: str, values: list[str]) -> list[str]:
        if not name.startswith("project_date_"):
            return values
        moments = [parse_moment(value) for value in values]
        return [(each - (self.zone.utcoffset(None))).isoformat() for each in moments if each]
