"""Labels of states: what support staff read instead of codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from checkout_integration.models import (
    Checkout,
    Incident,
    Notification,
    Order,
    OutboxMessage,
    ReceiverRun,
    SyncRun,
)
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


Text: TypeAlias = "StrOrPromise"
"""A text, or one that is translated when a page shows it."""


@dataclass(frozen=True)
class StateLabel:
    """A state in plain words.

    Attributes:
        tone: good, bad, wait or calm; it gives the colour.
        meaning: the same in a sentence.
        sign: a mark of its own if the tone's mark would mislead. The mark has the meaning of the tone, without colour.

    """

    text: Text
    tone: str = "calm"
    meaning: Text = ""
    sign: str | None = None

    @property
    def mark(self) -> str:
        """Its own sign, or else the tone's."""
        return (
            self.sign if self.sign is not None else {"good": "✓", "bad": "✗", "wait": "…"}.get(self.tone, "•")
        )


def label_of(labels: Mapping[str, StateLabel], code: str) -> StateLabel:
    """Return the label of a code; an unknown code is its own label."""
    return labels.get(code) or StateLabel(code or _("unknown"))


ORDER_STATUSES: Final[Mapping[str, StateLabel]] = {
    OrderStatus.CREATED: StateLabel(
        _("not paid"), "wait", _("No payment yet. An order that is abandoned keeps this status.")
    ),
    OrderStatus.PENDING: StateLabel(
        _("pending"), "wait", _("The payment is pending at the service, which gives no further detail.")
    ),
    OrderStatus.PROCESSED: StateLabel(_("paid"), "good", _("The payment was successful.")),
    OrderStatus.REJECTED: StateLabel(_("declined"), "bad", _("The payment was declined; no money moved.")),
    OrderStatus.CANCELED: StateLabel(_("cancelled"), "bad", _("The payment was cancelled.")),
    OrderStatus.REFUNDED: StateLabel(_("refunded"), "calm", _("The customer got the money back.")),
    OrderStatus.CHARGEBACK: StateLabel(
        _("charged back"), "bad", _("The customer's bank reversed the payment.")
    ),
}

PARTLY_REFUNDED: Final = StateLabel(
    _("partly refunded"),
    "calm",
    _("The customer got part of the money back; the goods were not revoked."),
)


def order_label(state: OrderState) -> StateLabel:
    """Return the label of an order's status; a refund of less than the charge has its own."""
    is_part = state.partial and state.returned.sums
    return PARTLY_REFUNDED if is_part else label_of(ORDER_STATUSES, state.status)


def status_label(order: Order) -> StateLabel:
    """Return the same of an order in a list, by its columns."""
    is_part = order.partly_refunded and order.status == OrderStatus.REFUNDED
    return PARTLY_REFUNDED if is_part else label_of(ORDER_STATUSES, order.status)


VERDICTS: Final[Mapping[str, StateLabel]] = {
    VerdictStatus.PENDING: StateLabel(
        _("not checked"),
        "calm",
        _("There is no payment to check yet."),
    ),
    VerdictStatus.VERIFIED: StateLabel(
        _("verified"), "good", _("The payment is for exactly what this shop sold; goods may be granted.")
    ),
    VerdictStatus.REVIEW: StateLabel(
        _("in review"), "bad", _("No goods are granted until a member of staff accepts the payment."), "!"
    ),
    VerdictStatus.ACCEPTED: StateLabel(
        _("accepted"), "good", _("Staff or a setting accepted the payment; goods may be granted.")
    ),
    VerdictStatus.HISTORIC: StateLabel(
        _("earlier sale"),
        "calm",
        _("The order is older than this installation: it is stored, but no goods are granted for it."),
    ),
    VerdictStatus.REVOKED: StateLabel(
        _("revoked by staff"),
        "bad",
        _("Staff have revoked the goods of this payment; the money is with the shop."),
    ),
}

CHECKOUT_STATUSES: Final[Mapping[str, StateLabel]] = {
    Checkout.Status.NEW: StateLabel(_("new"), "wait", _("The service has not responded yet.")),
    Checkout.Status.UNKNOWN: StateLabel(
        _("unknown"),
        "wait",
        _("The service may or may not have created the order; the next sync finds out."),
    ),
    Checkout.Status.OPEN: StateLabel(_("open"), "wait", _("The customer can pay in the payment form.")),
    Checkout.Status.REVIEW: StateLabel(
        _("in review"), "bad", _("A payment arrived, but it is not verified; staff should check it."), "!"
    ),
    Checkout.Status.PAID: StateLabel(_("paid"), "good"),
    Checkout.Status.CANCELLED: StateLabel(_("cancelled"), "bad", _("The payment was cancelled or declined.")),
    Checkout.Status.REVERSED: StateLabel(_("reversed"), "bad", _("Paid, then refunded or charged back.")),
    Checkout.Status.FAILED: StateLabel(_("failed"), "bad", _("The service refused to create the order.")),
}

NOTIFICATION_STATES: Final[Mapping[str, StateLabel]] = {
    Notification.State.STORED: StateLabel(
        _("stored"), "calm", _("Stored and acknowledged; it is applied as soon as a process is free.")
    ),
    Notification.State.APPLIED: StateLabel(_("applied"), "good"),
    Notification.State.FAILED: StateLabel(
        _("failed"),
        "bad",
        _("Stored, but the code or the database failed on it. Applying it is retried until it succeeds."),
    ),
    Notification.State.QUARANTINED: StateLabel(
        _("breaks a rule"),
        "bad",
        _("Stored and acknowledged, but not applied, because it breaks a rule. Staff decide."),
    ),
    Notification.State.TEST: StateLabel(
        _("testing case"), "calm", _("A test of the webhook; there is no payment behind it.")
    ),
}

MESSAGE_STATES: Final[Mapping[str, StateLabel]] = {
    OutboxMessage.State.SENT: StateLabel(_("handed to receivers"), "good"),
    OutboxMessage.State.NO_RECEIVERS: StateLabel(
        _("no receivers"), "calm", _("No receiver was connected to this signal.")
    ),
}

RUN_STATES: Final[Mapping[str, StateLabel]] = {
    ReceiverRun.State.DUE: StateLabel(_("due"), "wait"),
    ReceiverRun.State.UNKNOWN: StateLabel(
        _("waiting for a process that knows this code"),
        "bad",
        _(
            "No process that runs the shop's code knows it: it is new, renamed or removed, or its process is away. It runs "
            "as soon as a process with it works."
        ),
    ),
    ReceiverRun.State.PAUSED: StateLabel(
        _("paused"), "wait", _("Staff have paused this code; it runs when they resume it.")
    ),
    ReceiverRun.State.WAITING: StateLabel(
        _("waiting"),
        "wait",
        _("The shop's code has to complete an earlier message about this checkout first."),
    ),
    ReceiverRun.State.RUNNING: StateLabel(_("running"), "wait"),
    ReceiverRun.State.DONE: StateLabel(_("done"), "good"),
    ReceiverRun.State.SUPERSEDED: StateLabel(
        _("not needed any more"),
        "calm",
        _("Not run: the payment was reversed first, or there was nothing to revoke."),
    ),
    ReceiverRun.State.FAILED: StateLabel(
        _("failed"), "bad", _("Given up after its last attempt; staff can run it again.")
    ),
}

POSTPONED: Final = StateLabel(
    _("postponed"), "wait", _("The shop's code waits for something, and asked to be called later.")
)
OVERDUE: Final = StateLabel(
    _("overdue"), "bad", _("It has run for longer than RECEIVER_DEADLINE; it may hang."), "!"
)

SYNC_STATES: Final[Mapping[str, StateLabel]] = {
    SyncRun.State.RUNNING: StateLabel(_("running"), "wait"),
    SyncRun.State.COMPLETE: StateLabel(_("complete"), "good"),
    SyncRun.State.FAILED: StateLabel(_("failed"), "bad"),
    SyncRun.State.UNREACHABLE: StateLabel(_("service unreachable"), "bad"),
    SyncRun.State.ABANDONED: StateLabel(
        _("abandoned"), "bad", _("Its process ended, or another pass took over.")
    ),
}

LANES_IN_WORDS: Final[Mapping[str, Text]] = {
    "recent": pgettext_lazy("part of the list", "recent"),
    "open": pgettext_lazy("part of the list", "open"),
    "reversals": pgettext_lazy("part of the list", "reversals"),
    "all": pgettext_lazy("part of the list", "all"),
}
INCIDENT_STATES: Final[Mapping[str, StateLabel]] = {
    "open": StateLabel(pgettext_lazy("incident", "open"), "bad", sign="!"),
    "resolved": StateLabel(_("resolved"), "good"),
    "over": StateLabel(_("ended by itself"), "good", _("Its cause was over, so nobody had to resolve it.")),
}


def incident_state(incident: Incident) -> StateLabel:
    """Return whether an incident is open, was resolved by staff, or ended by itself."""
    if incident.resolved_at is None:
        return INCIDENT_STATES["open"]
    return INCIDENT_STATES["over" if incident.ended_itself else "resolved"]


BLOCKED: Final = StateLabel(_("blocked"), "bad", sign="!")
"""A customer who may not buy here."""
TEST: Final = StateLabel(_("TEST"), "wait", _("A test payment: no money moves."), "")
LIVE: Final = StateLabel(_("LIVE"), "good", _("A live payment."), "")
UNKNOWN_MODE: Final = StateLabel(
    _("mode unknown"), "calm", _("The service has not said whether this is a test.")
)


def mode_label(order: Order) -> StateLabel:
    """Return TEST when either the order or its notification says so."""
    if order.is_production is False or order.live is False:
        return TEST
    return LIVE if order.is_production else UNKNOWN_MODE


def is_test(order: Order | None) -> bool:
    """Return whether an order is a test: its links may lead to a sandbox on this machine; those of a live order never do."""
    return order is not None and mode_label(order) is TEST


COUNTED_ROWS: Final[Mapping[str, Text]] = {
    "checkouts": _("checkouts"),
    "receiver_runs": _("runs of the shop's code"),
    "signals": _("messages to the shop's code"),
    "outbox_messages": _("messages to the shop's code"),
    "grants": _("grants"),
    "refunds": _("refunds"),
    "notifications": _("notifications"),
    "notification_bodies": _("bodies of notifications"),
    "differences": _("differences"),
    "incidents": _("incidents"),
    "orders": _("orders"),
    "customers": _("customers"),
    "decisions": _("decisions"),
    "validation_decisions": _("decisions"),
    "sync_runs": _("sync runs"),
}
"""What an act of staff, or its preview, counts."""
