"""The outbox: what is to be announced, and to whom it has been delivered."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import IdentifierField, InstantField
from checkout_integration.models.order import Order
from checkout_integration.models.row import Row


class OutboxMessage(Row):
    """One signal to be sent, written in the transaction that changed state.

    ``idempotency_key`` is unique: one logical event is announced once, ever. Whoever runs receivers fans it out.
    """

    class State(models.TextChoices):
        """``no_receivers``: nobody was connected; it can be given to receivers later."""

        NEW = "new", _("new")
        FANNED_OUT = "fanned_out", _("handed to receivers")
        NO_RECEIVERS = "no_receivers", _("no receivers")

    # Unique by a constraint: a unique column of text has a second index on PostgreSQL, for LIKE.
    idempotency_key = models.CharField(max_length=32, editable=False)
    signal = models.CharField(max_length=32)
    project = IdentifierField(max_length=64)
    order = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.CASCADE, related_name="outbox_messages"
    )
    checkout = models.ForeignKey(
        "checkout_integration.Checkout",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="outbox_messages",
    )
    grant = models.ForeignKey(
        "checkout_integration.Grant",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        db_index=False,
        related_name="outbox_messages",
        help_text=_("What checkout_paid opened, or checkout_reversed closed."),
    )
    transition = models.ForeignKey(
        "checkout_integration.Transition",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        db_index=False,
        related_name="outbox_messages",
    )
    arguments = models.JSONField(
        default=dict, help_text=_("Plain arguments of the signal; ids and words only.")
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.NEW)
    recorded_at = InstantField(auto_now_add=True)

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        constraints = [models.UniqueConstraint(fields=["idempotency_key"], name="ci_outbox_message_key")]
        indexes = [models.Index(fields=["state", "id"], name="ci_outbox_message_state")]

    def __str__(self) -> str:
        return self.signal

    @property
    def line(self) -> int | None:
        """Whose runs are one at a time and in order: the checkout's key, else minus the order's; None without either."""
        if self.checkout_id:
            return self.checkout_id
        return -self.order_id if self.order_id else None


class ReceiverRun(Row):
    """One message for one receiver; unique, so that each receiver runs once."""

    class State(models.TextChoices):
        """Of the unfinished runs of one line and receiver the oldest is ``due`` or ``running``; the others wait.

        ``superseded``: the grant was closed before it ran, or there was nothing to undo; ``failed``: given up.
        """

        DUE = "due", _("due")
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        SUPERSEDED = "superseded", _("superseded")
        FAILED = "failed", _("failed")

    message = models.ForeignKey(OutboxMessage, on_delete=models.CASCADE, db_index=False, related_name="runs")
    receiver = IdentifierField()
    line = models.BigIntegerField(null=True, blank=True, editable=False)
    # Set while it runs, and unique: of one checkout, or of one order without a checkout, one receiver runs at a time.
    exclusive = models.BigIntegerField(unique=True, null=True, blank=True, editable=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.DUE)
    attempts = models.PositiveSmallIntegerField(default=0)
    fence = models.CharField(max_length=32, blank=True, default="", editable=False)
    due_at = InstantField(help_text=_("When it may run; of a run that runs, since when."))
    error = models.CharField(
        max_length=255, blank=True, default="", help_text=_("Class of the last exception.")
    )
    finished_at = InstantField(null=True, blank=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        constraints = [
            models.UniqueConstraint(fields=["message", "receiver"], name="ci_receiver_run_identity")
        ]
        indexes = [
            models.Index(fields=["state", "due_at", "id"], name="ci_receiver_run_due"),
            models.Index(fields=["line", "state"], name="ci_receiver_run_line"),
        ]

    def __str__(self) -> str:
        return f"{self.message} → {self.receiver}"

    @property
    def order(self) -> Order | None:
        """The message's order."""
        return self.message.order


class FailedAttempt(Row):
    """One attempt of a receiver that failed: when, and where in the shop's code. Never what the exception said."""

    run = models.ForeignKey(ReceiverRun, on_delete=models.CASCADE, related_name="failed_attempts")
    attempt = models.PositiveSmallIntegerField()
    failed_at = InstantField(auto_now_add=True)
    error = models.CharField(max_length=255, help_text=_("Class of the exception."))
    traceback = models.TextField(help_text=_("Classes and lines of code, without values and messages."))

    class Meta:
        verbose_name = _("failed attempt")
        verbose_name_plural = _("failed attempts")

    def __str__(self) -> str:
        return f"{self.run} ({self.attempt})"
