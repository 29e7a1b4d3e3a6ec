"""What failed in the shop's code, grouped by receiver and place of the error."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left

from checkout_integration.admin.site.values import NOTHING, money
from checkout_integration.models import FailedAttempt, Order, ReceiverRun

MOST_READ: Final = 5_000
"""Runs of each state that are grouped, those that are due first."""
LONGEST_PLACE: Final = 300
MOST_LINKED: Final = 3
"""Orders of a group that the page names."""
State = ReceiverRun.State


@dataclass(frozen=True, kw_only=True)
class FailureGroup:
    """Runs of one receiver that failed at one place: whom they concern, and when the first and the last were to be run.

    ``tried``: when the last attempt failed. ``orders``: key and id of the newest ones.
    """

    receiver: str
    place: str
    runs: Sequence[int]
    customers: int
    money: Sequence[str]
    first: datetime
    last: datetime
    tried: datetime | None
    orders: Sequence[tuple[int, str]]

    @property
    def key(self) -> str:
        """Its name in forms."""
        return hashlib.sha256(f"{self.receiver}\n{self.place}".encode()).hexdigest()[:16]


def failures(*, sees_places: bool) -> list[FailureGroup]:
    """Return all groups, the one with most customers first; without the right to see code, by the class of the error."""
    later = ReceiverRun.primary.filter(state=State.DUE, due_at__gt=datetime.now(UTC))
    rows = [*_read(later, sees_places), *_read(ReceiverRun.primary.filter(state=State.FAILED), sees_places)]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["attempts"] or row["state"] == State.FAILED:
            place = (row["place"] or "").partition("\n")[0] if sees_places else ""
            found.setdefault((row["receiver"], place or row["error"] or NOTHING), []).append(row)
    keys = [key for key in {row["payer"] for row in rows} if key]
    named = Order.objects.filter(pk__in=keys).values("pk", "order_id", "user", "amount", "currency")
    orders = {row["pk"]: row for row in named}
    groups = [_group(receiver, place, some, orders) for (receiver, place), some in found.items()]
    return sorted(groups, key=lambda each: (-each.customers, each.first))


def _read(runs: QuerySet[ReceiverRun], sees_places: bool) -> Any:
    attempts = FailedAttempt.objects.filter(run=OuterRef("pk")).order_by("-pk")
    newest = {"tried": Subquery(attempts.values("failed_at")[:1])}
    if sees_places:
        newest["place"] = Subquery(attempts.values(text=Left("traceback", LONGEST_PLACE))[:1])
    payer = Coalesce("message__grant__order", "message__order")
    columns = ("pk", "receiver", "state", "attempts", "error", "message__recorded_at")
    return runs.order_by("due_at", "pk").values(*columns, payer=payer, **newest)[:MOST_READ]


def under_way() -> int:
    """Return how many runs are running or due now, to a limit: what was run again, too, until it has failed or is done."""
    due = ReceiverRun.primary.filter(state=State.DUE, due_at__lte=datetime.now(UTC))
    return sum(runs[:MOST_READ].count() for runs in (due, ReceiverRun.primary.filter(state=State.RUNNING)))


def _group(receiver: str, place: str, rows: Sequence[dict[str, Any]], known: dict[int, Any]) -> FailureGroup:
    orders = {row["payer"]: known[row["payer"]] for row in rows if row["payer"] in known}.values()
    sums: dict[str, Decimal] = {}
    for order in orders:
        if order["amount"] is not None:
            sums[order["currency"]] = sums.get(order["currency"], Decimal(0)) + order["amount"]
    moments = [row["message__recorded_at"] for row in rows]
    return FailureGroup(
        receiver=receiver,
        place=place,
        runs=[row["pk"] for row in rows],
        customers=len({order["user"] or f"order {order['pk']}" for order in orders}),
        money=[money(amount, currency) for currency, amount in sorted(sums.items())] or [NOTHING],
        first=min(moments),
        last=max(moments),
        tried=max((row["tried"] for row in rows if row["tried"]), default=None),
        orders=sorted(((order["pk"], order["order_id"]) for order in orders), reverse=True)[:MOST_LINKED],
    )
