"""Staff's queues: rows that wait for somebody, as conditions for the admin's lists, and their numbers to a limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from checkout_integration.flows.database import count_by_index
from checkout_integration.flows.monitoring.backlog import MOST_COUNTED, queue_state, shown_count
from checkout_integration.flows.monitoring.finding import Rows, shown_number
from checkout_integration.flows.monitoring.not_applied import known_projects, not_applied, open_incidents
from checkout_integration.flows.monitoring.reading import INCIDENTS
from checkout_integration.flows.monitoring.receivers import (
    FAILING,
    GIVEN_UP,
    LONG,
    UNGRANTED,
    count_undelivered,
    is_pulled,
    undelivered,
    ungranted,
)
from checkout_integration.flows.monitoring.webhook import known_by_list_alone
from checkout_integration.models import Grant, Order, ReceiverRun, Refund
from checkout_integration.models.order import IN_REVIEW
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.signals import checkout_paid

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
ABANDONED: Final = timedelta(days=30)
"""After so long an order that was not paid will not be: the sync does not look at it any more either."""
SEQUENCES: Final = {"review": "recorded_at", "pending": "-created_at"}
"""The sequence of the index by which the orders of a queue are counted."""


@dataclass(frozen=True, kw_only=True)
class StaffQueue(Rows):
    """Rows that wait for somebody.

    Attributes:
        name: a stable word.
        label: its name for people.
        count: how many they are, counted to a limit.
        more: whether there may be more than these, since not all rows were looked at.

    """

    name: str
    label: StrOrPromise
    count: int
    more: bool = False

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
            _("paid, not granted"),
            Q(pk__in=_granting_runs(now).values("message__grant__order")),
        ),
        "undelivered": (
            _("paid, and no receiver was connected"),
            Q(pk__in=[]) if is_pulled() else Q(pk__in=undelivered().values("grant__order")),
        ),
        "review": (_("in review"), IN_REVIEW),
        "pending": (
            _("pending for more than a day"),
            Q(status=OrderStatus.PENDING, created_at__lte=now - DAY),
        ),
        "created": (
            _("not paid for more than a day, created in the last 30 days"),
            Q(
                status=OrderStatus.CREATED,
                created_at__lte=now - DAY,
                created_at__gt=now - ABANDONED,
            ),
        ),
        "chargebacks": (
            _("chargebacks of the last 7 days"),
            _charged_back_at(now) | _charged_back_without_time(now),
        ),
        "unnotified": (_("paid, known from the list only"), known_by_list_alone(now)),
    }


def staff_queues() -> list[StaffQueue]:
    """Return all queues with their numbers, the most urgent first."""
    orders, state, now = order_queues(), queue_state(), datetime.now(UTC)
    counts: dict[str, int] = {
        name: count_by_index(Order.objects.filter(orders[name][1]), index, most=MOST_COUNTED)
        for name, index in SEQUENCES.items()
    }
    # Two counts, each of an index; an OR over them would read every chargeback.
    parts = [_charged_back_at(now), _charged_back_without_time(now)]
    charged_back = sum(
        count_by_index(Order.objects.filter(part), "refunded_at", most=MOST_COUNTED) for part in parts
    )
    counts["chargebacks"] = min(charged_back, MOST_COUNTED)
    not_granted = ungranted(now)
    counts["not_granted"] = not_granted.orders
    counts["undelivered"], _since = count_undelivered()
    projects = known_projects()
    waiting = [not_applied(project) for project in projects]
    failed, quarantined = sum(each.failed for each in waiting), sum(each.quarantined for each in waiting)

    def of_orders(name: str, *, more: bool = False) -> StaffQueue:
        rows = Rows(model="order", filters={"queue": name})
        return _queue(name, orders[name][0], counts[name], rows, more=more)

    return [
        of_orders("not_granted", more=not_granted.more),
        of_orders("undelivered"),
        _queue(FAILING.name, _("receivers failing, retried later"), state.failing, FAILING.rows),
        _queue(GIVEN_UP.name, _("receivers given up"), state.failed, GIVEN_UP.rows),
        of_orders("review"),
        of_orders("pending"),
        _queue("failed", _("notifications that failed"), failed, _notifications("failed")),
        _queue("quarantined", _("notifications in quarantine"), quarantined, _notifications("quarantined")),
        of_orders("chargebacks"),
        _queue(INCIDENTS.name, _("open incidents"), open_incidents(*projects), INCIDENTS.rows),
    ]


def _charged_back_at(now: datetime) -> Q:
    return Q(status=OrderStatus.CHARGEBACK, refunded_at__gte=now - WEEK)


def _charged_back_without_time(now: datetime) -> Q:
    """Return the condition of chargebacks whose time their order does not have.

    What happened in the last week was learned in it too. A reversal document says of what was learned later that it is older.
    """
    documents = Refund.objects.filter(order=OuterRef("pk"), status=OrderStatus.CHARGEBACK)
    learned = Q(status=OrderStatus.CHARGEBACK, refunded_at=None, changed_at__gte=now - WEEK)
    return learned & ~Q(Exists(documents.filter(refunded_at__lt=now - WEEK)))


def _queue(
    name: str, label: StrOrPromise, count: int, rows: Rows | None, *, more: bool = False
) -> StaffQueue:
    assert rows is not None  # these kinds of findings have rows
    return StaffQueue(
        name=name,
        label=label,
        model=rows.model,
        filters=rows.filters,
        count=min(count, MOST_COUNTED),
        more=more,
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
    )
