"""Staff's queues: rows that wait for somebody, as conditions for the admin's lists, and their numbers to a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import Command, count_by_index
from checkout_integration.flows.monitoring.backlog import MOST_COUNTED, queue_state
from checkout_integration.flows.monitoring.finding import shown_number
from checkout_integration.flows.monitoring.incoming import not_applied
from checkout_integration.flows.monitoring.reading import open_incidents
from checkout_integration.flows.monitoring.steps import shown_count
from checkout_integration.flows.outbox import UNFINISHED
from checkout_integration.models import Grant, Order, OutboxMessage, ReceiverRun, Refund
from checkout_integration.models.order import REVERSED
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.signals import checkout_paid

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
ABANDONED: Final = timedelta(days=30)
"""After so long an order that was not paid will not be: the sync does not look at it any more either."""
MOST_READ: Final = 2_000
"""How many unfinished runs of each state are read for the orders that are paid and not granted."""
UNGRANTED: Final = (*UNFINISHED, ReceiverRun.State.FAILED)


SEQUENCES: Final = {"review": "recorded_at", "pending": "-created_at", "created": "-created_at"}
"""The sequence of the index by which the orders of a queue are counted."""


@dataclass(frozen=True, kw_only=True)
class StaffQueue:
    """Rows that wait for somebody.

    Attributes:
        name: a stable word.
        label: its name for people.
        model: the model of its rows, in lower case, as in the addresses of the admin.
        filters: the parameters with which the model's list in the admin shows these rows.
        count: how many they are, counted to a limit.
        more: whether there may be more than these, since not all rows were looked at.

    """

    name: str
    label: StrOrPromise
    model: str
    filters: Mapping[str, str] = field(default_factory=dict)
    count: int
    more: bool = False

    @property
    def shown(self) -> str:
        """The number for people: "1,000+" means 1,000 or more."""
        return f"{shown_number(self.count)}+" if self.more else shown_count(self.count)

    @property
    def view_permission(self) -> str:
        """The permission to see its rows."""
        return f"checkout_integration.view_{self.model}"


def order_queues() -> dict[str, tuple[StrOrPromise, Q]]:
    """Return the queues of orders, each with its label and its condition now."""
    now = datetime.now(UTC)
    return {
        "not_granted": (_("paid, not granted"), Q(pk__in=_granting_runs().values("message__grant__order"))),
        "review": (_("in review"), Q(verdict=VerdictStatus.REVIEW) & ~Q(status__in=REVERSED)),
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
    }


def staff_queues() -> list[StaffQueue]:
    """Return all queues with their numbers, the most urgent first."""
    orders, state, now = order_queues(), queue_state(), datetime.now(UTC)
    counts = {
        name: count_by_index(Order.objects.filter(orders[name][1]), index, most=MOST_COUNTED)
        for name, index in SEQUENCES.items()
    }
    # Two counts, each of an index; an OR over them would read every chargeback.
    parts = [_charged_back_at(now), _charged_back_without_time(now)]
    charged_back = sum(
        count_by_index(Order.objects.filter(part), "refunded_at", most=MOST_COUNTED) for part in parts
    )
    counts["chargebacks"] = min(charged_back, MOST_COUNTED)
    counts["not_granted"], more = _not_granted()
    waiting = [not_applied(alias) for alias in app_settings().projects]
    failed, quarantined = (sum(each[place] for each in waiting) for place in (0, 1))
    of_orders = {
        name: StaffQueue(
            name=name,
            label=label,
            model="order",
            filters={"queue": name},
            count=counts[name],
            more=more and name == "not_granted",
        )
        for name, (label, _condition) in orders.items()
    }
    return [
        of_orders["not_granted"],
        _runs("receivers_failing", _("receivers failing, retried later"), {"retried": "yes"}, state.failing),
        _runs("receivers_given_up", _("receivers given up"), {"state": "failed"}, state.failed),
        of_orders["review"],
        of_orders["pending"],
        of_orders["created"],
        _notifications("failed", _("notifications that failed"), failed),
        _notifications("quarantined", _("notifications in quarantine"), quarantined),
        of_orders["chargebacks"],
        StaffQueue(
            name="incidents",
            label=_("open incidents"),
            model="incident",
            filters={"resolved_at_known": "no"},
            count=open_incidents(*app_settings().projects),
        ),
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


def _runs(name: str, label: StrOrPromise, filters: Mapping[str, str], count: int) -> StaffQueue:
    return StaffQueue(name=name, label=label, model="receiverrun", filters=filters, count=count)


def _notifications(state: str, label: StrOrPromise, count: int) -> StaffQueue:
    return StaffQueue(
        name=state,
        label=label,
        model="notification",
        filters={"state": state},
        count=min(count, MOST_COUNTED),
    )


def _granting_runs() -> QuerySet[ReceiverRun]:
    """Return the runs that have not granted the goods of an open grant."""
    return ReceiverRun.objects.filter(
        state__in=UNGRANTED,
        message__signal=checkout_paid.name,
        message__grant__state=Grant.State.OPEN,
    )


def _not_granted() -> tuple[int, bool]:
    """Return how many orders have such a run, among the oldest unfinished runs of each state; and whether there are more."""
    ((count, read),) = _UNGRANTED_ORDERS.fetch(most=MOST_READ, signal=checkout_paid.name)
    return min(int(count), MOST_COUNTED), int(read) >= MOST_READ


_OLDEST: Final = """SELECT of_[state].message_id FROM (
        SELECT own.message_id FROM {runs} own WHERE own.state = '[state]' ORDER BY own.due_at, own.id LIMIT {most}
    ) of_[state]"""
# A subquery for each run: with a join, PostgreSQL would read all messages where it expects many runs.
_NOT_GRANTED: Final = """SELECT COUNT(DISTINCT waiting.order_id), COUNT(*) FROM (
        SELECT (
            SELECT granted.order_id FROM {messages} message JOIN {grants} granted ON granted.id = message.grant_id
            WHERE message.id = unfinished.message_id AND message.signal = {signal} AND granted.state = 'open'
        ) AS order_id FROM ([runs]) unfinished
    ) waiting"""
_UNGRANTED_ORDERS: Final = Command(
    _NOT_GRANTED.replace(
        "[runs]", " UNION ALL ".join(_OLDEST.replace("[state]", state.value) for state in UNGRANTED)
    ),
    in_order=True,
    runs=ReceiverRun,
    messages=OutboxMessage,
    grants=Grant,
)
