"""States and reasons in plain words: what support staff read instead of codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext_lazy as _

from checkout_integration.models import Checkout, Notification, Order, OutboxMessage, ReceiverRun, SyncRun
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import Reason, VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True)
class Word:
    """A state in words. ``tone`` is good, bad, wait or calm and gives the colour; ``mark`` says the same without colour."""

    text: StrOrPromise
    tone: str = "calm"
    meaning: StrOrPromise = ""
    sign: str | None = None

    @property
    def mark(self) -> str:
        """A sign of its own, or else the tone's."""
        return (
            self.sign if self.sign is not None else {"good": "✓", "bad": "✗", "wait": "…"}.get(self.tone, "•")
        )


ORDER: Final[Mapping[str, Word]] = {
    OrderStatus.CREATED: Word(
        _("not paid"), "wait", _("No payment has come. An order that is abandoned stays so for ever.")
    ),
    OrderStatus.PENDING: Word(
        _("pending"), "wait", _("The service says pending; it says no more than that.")
    ),
    OrderStatus.PROCESSED: Word(_("paid"), "good", _("The payment went through.")),
    OrderStatus.REJECTED: Word(_("declined"), "bad", _("The payment was declined; no money moved.")),
    OrderStatus.CANCELED: Word(_("cancelled"), "bad", _("The payment was cancelled.")),
    OrderStatus.REFUNDED: Word(_("refunded"), "calm", _("The buyer got the money back.")),
    OrderStatus.CHARGEBACK: Word(_("charged back"), "bad", _("The buyer's bank took the money back.")),
}

PARTLY_REFUNDED: Final = Word(
    _("partly refunded"), "calm", _("The buyer got part of the money back; the goods were not revoked.")
)


def order_word(state: OrderState) -> Word:
    """Return the word of an order's status; a refund of less than the charge has one of its own."""
    return PARTLY_REFUNDED if state.partial else word(ORDER, state.status)


VERDICT: Final[Mapping[str, Word]] = {
    VerdictStatus.PENDING: Word(
        _("no verdict"), "calm", _("There is no payment to judge: none has come, or it was taken back.")
    ),
    VerdictStatus.VERIFIED: Word(
        _("verified"), "good", _("The payment pays for exactly what this shop sold; goods may be granted.")
    ),
    VerdictStatus.REVIEW: Word(
        _("in review"), "bad", _("No goods are granted until a member of staff accepts the payment."), "!"
    ),
    VerdictStatus.ACCEPTED: Word(
        _("accepted"), "good", _("Goods may be granted although the payment is not verified.")
    ),
    VerdictStatus.HISTORIC: Word(
        _("historic"), "calm", _("The order is older than this installation: it is kept, and grants nothing.")
    ),
}

REASONS: Final[Mapping[str, tuple[StrOrPromise, StrOrPromise]]] = {
    Reason.UNBOUND: (_("no checkout"), _("The payment belongs to no checkout of this shop.")),
    Reason.BEFORE_INSTALLATION: (
        _("before the installation"),
        _("The payment belongs to no checkout, and its order is from before this app was installed."),
    ),
    Reason.RECEIVERS_RENAMED: (
        _("receivers renamed"),
        _(
            "The goods were granted by receivers that no longer exist, so they were not revoked: revoke them by hand."
        ),
    ),
    Reason.TYPE: (_("other type"), _("The order is of another type than the checkout.")),
    Reason.MODE: (
        _("test or live"),
        _("Test and live do not agree: a live checkout takes live payments, a test checkout test payments."),
    ),
    Reason.TESTING_CASE: (_("testing case"), _("It is a testing case of the service, not a payment.")),
    Reason.CURRENCY: (_("other currency"), _("The payment is in another currency than the checkout.")),
    Reason.AMOUNT: (_("other amount"), _("The amount is not the one that the checkout asks for.")),
    Reason.NO_ITEMS: (_("no items"), _("The service did not say which items were bought.")),
    Reason.PRODUCTS: (_("other items"), _("The items bought are not those of the checkout.")),
    Reason.VIRTUAL_CURRENCY: (
        _("other virtual currency"),
        _("The virtual currency bought is not that of the checkout."),
    ),
    Reason.CONFLICT: (_("told in two ways"), _("The service told of two different amounts or currencies.")),
    Reason.PAID_TWICE: (_("paid twice"), _("The checkout is paid already, by another order.")),
    Reason.BY_SETTING: (
        _("by setting"),
        _("The setting UNBOUND_ORDERS accepts payments without a checkout."),
    ),
    Reason.BY_HOOK: (_("by hook"), _("The shop's own hook accepted it.")),
    Reason.BY_STAFF: (_("by staff"), _("A member of staff accepted it.")),
}
"""Why a verdict is what it is: in two words for the list, in a sentence for the page."""

CHECKOUT: Final[Mapping[str, Word]] = {
    Checkout.Status.NEW: Word(_("new"), "wait", _("The service has not been asked yet.")),
    Checkout.Status.UNKNOWN: Word(
        _("unknown"), "wait", _("The service may or may not have made the order; the next sync tells.")
    ),
    Checkout.Status.OPEN: Word(_("open"), "wait", _("The buyer has a form to pay with.")),
    Checkout.Status.REVIEW: Word(
        _("in review"), "bad", _("A payment came that is not verified; staff should look."), "!"
    ),
    Checkout.Status.PAID: Word(_("paid"), "good"),
    Checkout.Status.CANCELLED: Word(_("cancelled"), "bad", _("The buyer cancelled, or was declined.")),
    Checkout.Status.REVERSED: Word(_("reversed"), "bad", _("Paid, then refunded or charged back.")),
    Checkout.Status.FAILED: Word(_("failed"), "bad", _("The service refused to make the order.")),
}

NOTIFICATION: Final[Mapping[str, Word]] = {
    Notification.State.STORED: Word(
        _("stored"), "calm", _("Stored and acknowledged; it is applied as soon as a process is free.")
    ),
    Notification.State.APPLIED: Word(_("applied"), "good"),
    Notification.State.FAILED: Word(
        _("failed"),
        "bad",
        _(
            "Stored, but our code or the database failed on it. It is tried again, and once that is mended it is applied."
        ),
    ),
    Notification.State.QUARANTINED: Word(
        _("quarantined"),
        "bad",
        _("Stored and acknowledged, but not applied: it breaks a rule. Staff decide."),
    ),
    Notification.State.TEST: Word(
        _("testing case"), "calm", _("A test of the webhook; it tells of no payment.")
    ),
}

ANNOUNCEMENT: Final[Mapping[str, Word]] = {
    OutboxMessage.State.NEW: Word(_("waiting"), "wait", _("Not yet handed to receivers.")),
    OutboxMessage.State.FANNED_OUT: Word(_("handed to receivers"), "good"),
    OutboxMessage.State.NO_RECEIVERS: Word(
        _("no receivers"), "calm", _("No receiver was connected to this signal.")
    ),
}

DELIVERY: Final[Mapping[str, Word]] = {
    ReceiverRun.State.DUE: Word(_("due"), "wait"),
    ReceiverRun.State.WAITING: Word(
        _("waiting"), "wait", _("An earlier signal of this checkout has to get through this receiver first.")
    ),
    ReceiverRun.State.RUNNING: Word(_("running"), "wait"),
    ReceiverRun.State.DONE: Word(_("done"), "good"),
    ReceiverRun.State.SUPERSEDED: Word(
        _("superseded"), "calm", _("Not run: the payment was reversed first, or nothing was granted.")
    ),
    ReceiverRun.State.FAILED: Word(
        _("failed"), "bad", _("Given up after ten attempts; staff can run it again.")
    ),
}

OVERDUE: Final = Word(
    _("overdue"), "bad", _("It has run for longer than RECEIVER_DEADLINE; it may hang."), "!"
)

SYNC_RUN: Final[Mapping[str, Word]] = {
    SyncRun.State.RUNNING: Word(_("running"), "wait"),
    SyncRun.State.COMPLETE: Word(_("complete"), "good"),
    SyncRun.State.FAILED: Word(_("failed"), "bad"),
    SyncRun.State.UNREACHABLE: Word(_("service unreachable"), "bad"),
}

INCIDENT: Final[Mapping[str, tuple[StrOrPromise, StrOrPromise]]] = {
    "paid_and_canceled": (
        _("paid and cancelled"),
        _(
            "The service told of a payment and of its cancellation. Whether money moved is a question for the service."
        ),
    ),
    "listed_canceled_though_paid": (
        _("paid, listed as cancelled"),
        _("The list shows a paid order as cancelled or declined; nobody signed that. It stays paid here."),
    ),
    "double_loss": (
        _("refunded and charged back"),
        _("The buyer's money was given back and taken back too: it may have been lost twice."),
    ),
    "reversal_after_decision": (
        _("reversed after a decision"),
        _(
            "The payment was refunded or charged back after staff decided that it stands. The goods were not revoked."
        ),
    ),
    "partial_refund": (
        _("refunded in part"),
        _("Less was given back than was paid, so the goods were not taken back."),
    ),
    "listed_rejected_with_transaction": (
        _("declined with a transaction"),
        _(
            "The list shows the order as declined, but with a transaction and without a reason: it may be paid."
        ),
    ),
    "conflict": (
        _("told in two ways"),
        _("The service told of two values of a field that does not change; the earlier one stands."),
    ),
    "inexact": (
        _("inexact amount"),
        _(
            "The service told of an amount with more digits or decimal places than its currency or our column has. The "
            "order's document holds it as it came, the column a rounded one; too large for the column, it stays empty."
        ),
    ),
    "review": (
        _("payment in review"),
        _("A payment for which no goods are granted until staff have looked."),
    ),
    "unknown_status": (
        _("unknown status"),
        _(
            "The service told of a status that its specification does not know. The order was not moved by it."
        ),
    ),
    "unknown_event": (
        _("unknown event"),
        _("The service told of an event that its specification does not know. The message is kept."),
    ),
    "unreadable": (
        _("unreadable number"),
        _(
            "The service sent a number of more than 40 digits, or with an exponent beyond 20. This field is empty, the "
            "others were read; the notification holds it as it came."
        ),
    ),
    "refused_content": (
        _("quarantined"),
        _("A signed message breaks our limits. It is stored, not applied, and can be applied later."),
    ),
    "not_applied": (
        _("not applied"),
        _("Our own rules failed on what the service told. It is kept and can be applied again."),
    ),
}
"""What staff should look at, by the kind of incident or what stands before its colon: in a few words, and in a sentence."""

TEST: Final = Word(_("TEST"), "wait", _("A test payment: no money moves."), "")
LIVE: Final = Word(_("LIVE"), "good", _("A production payment."), "")
UNKNOWN_MODE: Final = Word(_("mode unknown"), "calm", _("The service has not said whether it is a test."))


def word(words: Mapping[str, Word], code: str) -> Word:
    """The word of a code; an unknown code stands for itself."""
    return words.get(code) or Word(code or _("unknown"))


def mode_of(order: Order) -> Word:
    """TEST when either the order or its notification says so."""
    if order.is_production is False or order.live is False:
        return TEST
    return LIVE if order.is_production else UNKNOWN_MODE


def is_sandboxed(order: Order | None) -> bool:
    """Whether its links may lead to a sandbox on this machine: nothing of a real payment does."""
    return order is not None and mode_of(order) is TEST


def brief_reason(code: str) -> StrOrPromise:
    """The reason of a verdict in two words."""
    return REASONS.get(code, (code, code))[0]


def reason_of(code: str) -> StrOrPromise:
    """The reason of a verdict in a sentence."""
    return REASONS.get(code, (code, code))[1]


def brief_incident(kind: str) -> StrOrPromise:
    """The kind of an incident in a few words, with the field or the reason that it is about."""
    name, _colon, about = kind.partition(":")
    text = INCIDENT.get(name, (kind, kind))[0]
    if name == "review":
        about = str(brief_reason(about) if about in REASONS else brief_incident(about))
    return f"{text}: {about}" if about and name in INCIDENT else text


def incident_meaning(kind: str) -> StrOrPromise:
    """The kind of an incident in a sentence; one in review says why."""
    name, _colon, about = kind.partition(":")
    if name == "review" and about:
        return reason_of(about) if about in REASONS else incident_meaning(about)
    return INCIDENT.get(name, ("", ""))[1]
