"""The outbox: signals to be sent, and the runs of their receivers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import Column, IdentifierField, InstantField
from checkout_integration.models.order import Order
from checkout_integration.models.row import NearQuerySet, PrimaryManager, Row

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager

    from checkout_integration.models import Checkout, Grant, Transition

COMMON_ARGUMENTS: Final[Mapping[str, Any]] = {
    "source": "notification",
    "previous_status": "",
    "live": True,
    "partial": False,
    "renewal": False,
}
"""Arguments that most signals about an order have. A message stores only those that differ."""


class OutboxMessageQuerySet(NearQuerySet["OutboxMessage"]):
    """Questions about messages."""

    def about(self, orders: Collection[Order]) -> Self:
        """Return the messages about these orders: of a grant, those of the order that pays for it now.

        A grant is handed to another order of its checkout when its payer is refunded and that one stands.
        """
        checkouts = {order.checkout_id for order in orders} - {None}
        # Two indexed look-ups; an OR over them would read the whole table.
        own = self.filter(order__in=orders).filter(models.Q(grant=None) | models.Q(grant__order__in=orders))
        of_siblings = self.filter(order__checkout__in=checkouts, grant__order__in=orders)
        keys = own.order_by().values("pk").union(of_siblings.order_by().values("pk"))
        return self.filter(pk__in=keys)


class OutboxMessage(Row):
    """One signal to be sent, written in the transaction that changed state.

    ``idempotency_key`` is unique: the signal of one logical event is sent once, ever. The runs of its
    receivers are written in the same transaction.
    """

    class State(models.TextChoices):
        """``no_receivers``: no receiver was connected; `checkout_replay` can make runs for receivers connected later."""

        SENT = "sent", _("handed to receivers")
        NO_RECEIVERS = "no_receivers", _("no receivers")

    # Unique by a constraint: a unique column of text has a second index on PostgreSQL, for LIKE.
    idempotency_key: Column[str] = models.CharField(max_length=32, editable=False)
    signal: Column[str] = models.CharField(max_length=32)
    project = IdentifierField(max_length=64)
    order: Column[Order | None] = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.CASCADE, related_name="outbox_messages"
    )
    checkout: Column[Checkout | None] = models.ForeignKey(
        "checkout_integration.Checkout",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="outbox_messages",
    )
    grant: Column[Grant | None] = models.ForeignKey(
        "checkout_integration.Grant",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        db_index=False,
        related_name="outbox_messages",
        help_text=_("What checkout_paid opened, or checkout_reversed closed."),
    )
    transition: Column[Transition | None] = models.ForeignKey(
        "checkout_integration.Transition",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        db_index=False,
        related_name="outbox_messages",
    )
    arguments: Column[dict[str, Any]] = models.JSONField(
        default=dict, help_text=_("Plain arguments of the signal, without common ones; ids and words only.")
    )
    state: Column[str] = models.CharField(max_length=16, choices=State.choices, default=State.SENT)
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)

    objects: ClassVar[OutboxMessageQuerySet] = OutboxMessageQuerySet.as_manager()  # type: ignore[assignment]  # the plug-in gives Row a plain one
    primary: ClassVar[OutboxMessageQuerySet] = PrimaryManager.from_queryset(OutboxMessageQuerySet)()  # type: ignore[assignment]  # likewise

    runs: RelatedManager[ReceiverRun]

    class Meta:
        verbose_name = _("signal")
        verbose_name_plural = _("signals")
        constraints = [models.UniqueConstraint(fields=["idempotency_key"], name="ci_outbox_message_key")]
        indexes = [
            # A third of the size of indexes with the id.
            models.Index(fields=["state"], name="ci_outbox_message_state"),
            models.Index(fields=["signal", "state"], name="ci_outbox_message_signal"),
        ]

    def __str__(self) -> str:
        return self.signal

    @property
    def payer_id(self) -> int | None:
        """The key of the order that pays for its grant now; without a grant of the order that it is about."""
        return self.grant.order_id if self.grant else self.order_id

    @property
    def all_arguments(self) -> dict[str, Any]:
        """The plain arguments of the signal, common ones included."""
        return {**COMMON_ARGUMENTS, **self.arguments} if self.order_id else dict(self.arguments)

    @property
    def line(self) -> str | None:
        """The line in which runs go one by one, in order: of the checkout, else of the order; None without both."""
        if self.checkout_id:
            return f"checkout {self.checkout_id}"
        return f"order {self.order_id}" if self.order_id else None


WAITED_IN_VAIN: Final = models.Q(error__contains=": ")
"""Runs that failed since the patience of `RetryLater` had ended: they alone have more than the class as their error."""


def waited_for(error: str) -> str:
    """Return what a run with this error waited for in vain; "" after any other failure."""
    return error.partition(": ")[2]


class ReceiverRun(Row):
    """The run of one receiver for one message; unique, so that each receiver runs once."""

    class State(models.TextChoices):
        """Of the unfinished runs of one line and receiver the oldest is ``due``, ``unknown`` or ``running``; the others wait.

        ``unknown``: due, and taken out of the queue, since no process that runs receivers knows its receiver.
        ``paused``: likewise, since staff have paused its receiver.
        ``superseded``: the grant was closed before it ran, there was nothing to undo, its checkout is not abandoned any more,
        or its receiver was retired;
        ``failed``: given up.
        """

        DUE = "due", _("due")
        UNKNOWN = "unknown", _("waiting for a process that knows this code")
        PAUSED = "paused", _("paused")
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        SUPERSEDED = "superseded", _("superseded")
        FAILED = "failed", _("failed")

    message: Column[OutboxMessage] = models.ForeignKey(
        OutboxMessage, on_delete=models.CASCADE, db_index=False, related_name="runs"
    )
    receiver = IdentifierField()
    line: Column[str | None] = models.CharField(max_length=32, null=True, blank=True, editable=False)
    # Set while it runs, and unique: of one checkout, or of one order without a checkout, one receiver runs at a time.
    exclusive: Column[str | None] = models.CharField(max_length=32, null=True, blank=True, editable=False)
    state: Column[str] = models.CharField(max_length=16, choices=State.choices, default=State.DUE)
    attempts: Column[int] = models.PositiveSmallIntegerField(default=0)
    fence: Column[str] = models.CharField(max_length=32, blank=True, default="", editable=False)
    due_at: Column[datetime] = InstantField(
        help_text=_("When it may run; while it is running, when that began.")
    )
    error: Column[str] = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=_("Class of the last exception; after RetryLater, its cause too."),
    )
    postponed_since: Column[datetime | None] = InstantField(
        null=True, blank=True, help_text=_("When the shop's code first asked to be called later.")
    )
    postponed_for: Column[str] = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=_("What the shop's code waits for, in its own words."),
    )
    finished_at: Column[datetime | None] = InstantField(null=True, blank=True)

    class Meta:
        verbose_name = _("run of the shop's code")
        verbose_name_plural = _("runs of the shop's code")
        constraints = [
            models.UniqueConstraint(fields=["message", "receiver"], name="ci_receiver_run_identity"),
            # By a constraint, as the key of a message.
            models.UniqueConstraint(fields=["exclusive"], name="ci_receiver_run_exclusive"),
        ]
        indexes = [
            models.Index(fields=["state", "due_at", "id"], name="ci_receiver_run_due"),
            models.Index(fields=["line", "state"], name="ci_receiver_run_line"),
            models.Index(fields=["due_at"], name="ci_receiver_run_day"),
        ]

    paused_for = ""
    """Why staff have paused its receiver, once a page has looked."""

    def __str__(self) -> str:
        return f"{self.message} → {self.receiver}"

    @property
    def order(self) -> Order | None:
        """The order that pays for the message's grant now; without a grant the order that the message is about."""
        return self.message.grant.order if self.message.grant else self.message.order

    @property
    def is_postponed(self) -> bool:
        """Whether the shop's code asked to be called later, and that time has not come."""
        return self.state == self.State.DUE and bool(self.postponed_for) and self.due_at > datetime.now(UTC)

    @property
    def waited_for(self) -> str:
        """What it waited for in vain, in the words of the shop's code; "" after any other failure."""
        return waited_for(self.error)

    @property
    def log_ids(self) -> dict[str, str | int]:
        """Its ids for logs and spans; of its message and order only if they are loaded."""
        ids: dict[str, str | int] = {
            "receiver_run": self.pk,
            "receiver": self.receiver,
            "attempt": self.attempts,
        }
        if "message" in self._state.fields_cache:
            ids |= {"project": self.message.project, "signal": self.message.signal}
            if "order" in self.message._state.fields_cache and self.message.order:
                ids["order_id"] = self.message.order.order_id
        return ids


class Failures(ReceiverRun):
    """The runs as failures: the admin's page that groups them. It has no table and no permission of its own."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = _("failures")
        verbose_name_plural = _("failures")


class FailedAttempt(Row):
    """One failed attempt of a receiver: its time and its place in the shop's code. Never the message of the exception."""

    run: Column[ReceiverRun] = models.ForeignKey(
        ReceiverRun, on_delete=models.CASCADE, related_name="failed_attempts"
    )
    attempt: Column[int] = models.PositiveSmallIntegerField()
    failed_at: Column[datetime] = InstantField(auto_now_add=True)
    error: Column[str] = models.CharField(max_length=255, help_text=_("Class of the exception."))
    traceback: Column[str] = models.TextField(
        help_text=_("Classes and lines of code, without values and messages.")
    )

    class Meta:
        verbose_name = _("failed attempt")
        verbose_name_plural = _("failed attempts")

    def __str__(self) -> str:
        return f"{self.run} ({self.attempt})"
