"""Staff's queues: rows that wait for somebody, as conditions for the admin's lists, with age, money and customers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.timezone import get_default_timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from checkout_integration.flows.database import keys_by_index
from checkout_integration.flows.monitoring.backlog import MOST_COUNTED, queue_state, shown_count
from checkout_integration.flows.monitoring.fetching import unfetched
from checkout_integration.flows.monitoring.finding import Rows, shown_number
from checkout_integration.flows.monitoring.not_applied import known_projects, not_applied, quarantined_since
from checkout_integration.flows.monitoring.reading import INCIDENTS
from checkout_integration.flows.monitoring.receivers import (
    FAILING,
    GIVEN_UP,
    LONG,
    PAUSED,
    UNGRANTED,
    is_pulled,
    undelivered,
    ungranted,
    ungranted_orders,
)
from checkout_integration.flows.monitoring.webhook import known_by_list_alone
from checkout_integration.models import Grant, Incident, Order, OutboxMessage, ReceiverRun, Refund
from checkout_integration.models.order import IN_REVIEW
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.signals import checkout_paid

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

DAY: Final = timedelta(days=1)
WEEK: Final = 7
"""Days of the books, of which today is the last one, as on the page about money."""
ABANDONED: Final = timedelta(days=30)
"""After so long an order that was not paid will not be: the sync does not look at it any more either."""
SEQUENCES: Final = {"review": "recorded_at", "pending": "-ordered_at"}
"""The sequence of the index by which the orders of a queue are counted."""


@dataclass(frozen=True, kw_only=True)
class StaffQueue(Rows):
    """Rows that wait for somebody.

    Attributes:
        name: a stable word.
        label: its name for people.
        count: how many they are, counted to a limit.
        more: whether there may be more than these, since not all rows were looked at.
        since: since when the oldest of them waits; None where nothing waits, or it is not known.
        customers: whom they concern; None for rows without orders. A payment of a guest is a customer.
        money: what was to be paid for their orders, by currency.
        unpriced: how many of their orders have no amount.

    """

    name: str
    label: StrOrPromise
    count: int
    more: bool = False
    since: datetime | None = None
    customers: int | None = None
    money: Mapping[str, Decimal] = field(default_factory=dict)
    unpriced: int = 0

    @property
    def shown(self) -> str:
        """The number for people: "1,000+" means 1,000 or more."""
        return f"{shown_number(self.count)}+" if self.more else shown_count(self.count)


def order_queues() -> dict[str, tuple[StrOrPromise, Q]]:
    """Return the queues of orders, each with its label and its condition now.

    In "created" and "unnotified" nobody waits for staff: the customer left, or the list has shown what was not notified.
    """
    now = datetime.now(UTC)
    return {
        "not_granted": (
            _("paid, not delivered"),
            Q(pk__in=_granting_runs(now).values("message__grant__order")),
        ),
        "undelivered": (
            _("paid, and no game server has fetched it for more than a day"),
            Q(pk__in=unfetched(now - DAY, Grant.objects).values("order")),
        )
        if is_pulled()
        else (
            _("paid, and the shop has no code to deliver it"),
            Q(pk__in=undelivered(OutboxMessage.objects).values("grant__order")),
        ),
        "review": (_("in review"), IN_REVIEW),
        "pending": (
            _("pending for more than a day"),
            Q(status=OrderStatus.PENDING, ordered_at__lte=now - DAY),
        ),
        "created": (
            _("not paid for more than a day, created in the last 30 days"),
            Q(
                status=OrderStatus.CREATED,
                ordered_at__lte=now - DAY,
                ordered_at__gt=now - ABANDONED,
            ),
        ),
        "chargebacks": (
            _("charged back in the last 7 days"),
            _charged_back_at(now) | _charged_back_without_time(now),
        ),
        "unnotified": (_("paid in the last week, known from the list only"), known_by_list_alone(now)),
    }


def staff_queues() -> list[StaffQueue]:
    """Return all queues with their numbers, the most urgent first."""
    conditions, state, now = order_queues(), queue_state(), datetime.now(UTC)
    not_granted = ungranted(now)
    orders = {
        "not_granted": ungranted_orders(now) if not_granted.orders else [],
        "undelivered": _first(
            unfetched(now - DAY).order_by("project", "acknowledged_at", "opened_at"), "order"
        )
        if is_pulled()
        else _first(undelivered().order_by("recorded_at"), "grant__order"),
        **{
            name: _keys(Order.objects.filter(conditions[name][1]), index) for name, index in SEQUENCES.items()
        },
        # Two look-ups, each by an index; an OR over them would read every chargeback.
        "chargebacks": [
            *_keys(Order.objects.filter(_charged_back_at(now)), "refunded_at"),
            *_keys(Order.objects.filter(_charged_back_without_time(now)), "refunded_at"),
        ][:MOST_COUNTED],
    }
    queues = [
        _queue(name, conditions[name][0], len(keys), Rows(model="order", filters={"queue": name}))
        for name, keys in orders.items()
    ]
    queues[0] = replace(queues[0], count=not_granted.orders, more=not_granted.more, since=not_granted.since)
    runs = ReceiverRun.primary.order_by("due_at", "pk")
    later = runs.filter(state=ReceiverRun.State.DUE, due_at__gt=now)
    failed = runs.filter(state=ReceiverRun.State.FAILED)
    paused = _keys(runs.filter(state=ReceiverRun.State.PAUSED), "due_at", "pk")
    for kind, label, count, found in (
        (FAILING, _("failed in the shop's code, retried later"), state.failing, later),
        (GIVEN_UP, _("failed in the shop's code, given up"), state.failed, failed),
    ):
        first = found.values_list("pk", "postponed_for")[:MOST_COUNTED] if count else ()
        orders[kind.name], since = _orders_of(
            [key for key, postponed in first if not postponed or kind is GIVEN_UP]
        )
        queues.append(_queue(kind.name, label, count, kind.rows, since))
    orders[PAUSED.name], since = _orders_of(paused)
    label = _("wait for the shop's code, which staff have paused")
    queues.append(_queue(PAUSED.name, label, len(paused), PAUSED.rows, since))
    queues += _of_notifications()
    open_ones = _keys(
        Incident.objects.filter(resolved_at=None, project__in=known_projects()), "resolved_at", "project"
    )
    seen = list(Incident.primary.filter(pk__in=open_ones).values_list("order", "recorded_at"))
    orders[INCIDENTS.name] = [order for order, _at in seen if order]
    since = min((at for _order, at in seen), default=None)
    queues.append(
        _queue(
            INCIDENTS.name,
            ngettext(
                "open incident, also of payments to decide about",
                "open incidents, also of payments to decide about",
                len(open_ones),
            ),
            len(open_ones),
            INCIDENTS.rows,
            since,
        )
    )
    return _with_orders(queues, orders)


def _keys(rows: QuerySet[Any], *index: str) -> list[int]:
    return keys_by_index(rows, *index, most=MOST_COUNTED)


def _first(rows: QuerySet[Any], column: str) -> list[Any]:
    return list(rows.values_list(column, flat=True)[:MOST_COUNTED])


def _orders_of(runs: Collection[int]) -> tuple[list[int], datetime | None]:
    """Return the orders that these runs of the shop's code are about, and when the first of them was to be run."""
    payer = Coalesce("message__grant__order", "message__order")
    found = ReceiverRun.primary.filter(pk__in=runs).values_list(payer, "message__recorded_at") if runs else ()
    pairs = list(found)
    return [order for order, _at in pairs if order], min((at for _order, at in pairs), default=None)


def _of_notifications() -> list[StaffQueue]:
    projects = known_projects()
    waiting = {project: not_applied(project) for project in projects}
    failed = sum(each.failed for each in waiting.values())
    broken = {project: each.quarantined for project, each in waiting.items() if each.quarantined}
    since = min((each.since for each in waiting.values() if each.since), default=None)
    oldest = min(filter(None, map(quarantined_since, broken)), default=None)
    quarantined = sum(broken.values())
    rules = ngettext("notification that breaks a rule", "notifications that break a rule", quarantined)
    failing = ngettext("notification that failed", "notifications that failed", failed)
    return [
        _queue("failed", failing, failed, _notifications("failed"), since),
        _queue("quarantined", rules, quarantined, _notifications("quarantined"), oldest),
    ]


SINCE: Final = {
    "not_granted": lambda order: order["ordered_at"],
    "review": lambda order: order["ordered_at"],
    "undelivered": lambda order: order["ordered_at"],
    "pending": lambda order: order["ordered_at"],
    "chargebacks": lambda order: order["refunded_at"] or order["document_at"] or order["changed_at"],
}
"""Since when an order waits in a queue, where the rows of the queue are the orders themselves: not since we learned of it."""


def _with_orders(queues: list[StaffQueue], orders: Mapping[str, Collection[int]]) -> list[StaffQueue]:
    """Return the queues with money and customers of their orders, which are read at once."""
    keys = {key for some in orders.values() for key in some}
    columns = ("amount", "currency", "user", "ordered_at", "refunded_at", "changed_at")
    documents = Refund.objects.filter(
        order=OuterRef("pk"), status=OrderStatus.CHARGEBACK, refunded_at__isnull=False
    )
    document_at = Subquery(documents.order_by("refunded_at").values("refunded_at")[:1])
    read = Order.objects.filter(pk__in=keys).values("pk", *columns, document_at=document_at) if keys else ()
    rows = {row["pk"]: row for row in read}
    return [
        _with_rows(queue, [rows[key] for key in orders.get(queue.name, ()) if key in rows])
        for queue in queues
    ]


def _with_rows(queue: StaffQueue, rows: list[dict[str, Any]]) -> StaffQueue:
    """Return a queue with what its orders say. An order may be named more than once."""
    of_order = {row["pk"]: row for row in rows}.values()
    money: dict[str, Decimal] = {}
    for row in of_order:
        if row["amount"] is not None:
            money[row["currency"]] = money.get(row["currency"], Decimal(0)) + row["amount"]
    if not of_order:
        return queue
    moments = [at for row in of_order if queue.name in SINCE and (at := SINCE[queue.name](row))]
    return replace(
        queue,
        since=min(moments, default=queue.since),
        customers=len({row["user"] or f"order {row['pk']}" for row in of_order}),
        money=dict(sorted(money.items())),
        unpriced=sum(row["amount"] is None for row in of_order),
    )


def _week_begins(now: datetime) -> datetime:
    zone = get_default_timezone()
    return datetime.combine(now.astimezone(zone).date() - (WEEK - 1) * DAY, time(), zone)


def _charged_back_at(now: datetime) -> Q:
    return Q(status=OrderStatus.CHARGEBACK, refunded_at__gte=_week_begins(now))


def _charged_back_without_time(now: datetime) -> Q:
    """Return the condition of chargebacks whose time their order does not have.

    What happened in the last week was learned in it too. A reversal document says of what was learned later that it is older.
    """
    documents = Refund.objects.filter(order=OuterRef("pk"), status=OrderStatus.CHARGEBACK)
    learned = Q(status=OrderStatus.CHARGEBACK, refunded_at=None, changed_at__gte=_week_begins(now))
    return learned & ~Q(Exists(documents.filter(refunded_at__lt=_week_begins(now))))


def _queue(
    name: str, label: StrOrPromise, count: int, rows: Rows | None, since: datetime | None = None
) -> StaffQueue:
    assert rows is not None  # these kinds of findings have rows
    return StaffQueue(
        name=name,
        label=label,
        model=rows.model,
        filters=rows.filters,
        count=min(count, MOST_COUNTED),
        since=since,
    )


def _notifications(state: str) -> Rows:
    return Rows(model="notification", filters={"state": state})


def _granting_runs(now: datetime) -> QuerySet[ReceiverRun]:
    """Return the runs that have not granted the goods of an open grant for five minutes."""
    return ReceiverRun.objects.filter(
        state__in=UNGRANTED,
        message__signal=checkout_paid.name,
        message__grant__state=Grant.State.OPEN,
        message__recorded_at__lte=now - LONG,
    ).exclude(Q(state=ReceiverRun.State.DUE, due_at__gt=now) & ~Q(postponed_for=""))
