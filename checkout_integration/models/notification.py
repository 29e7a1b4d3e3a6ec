"""The inbox: every signed notification, as it came."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Self

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import (
    Column,
    IdentifierField,
    InstantField,
    of_present,
    optional_instant,
    optional_row,
)
from checkout_integration.models.row import NearQuerySet, PrimaryManager, Row
from checkout_integration.policy.quarantine import PAYMENT_EVENTS
from checkout_integration.protocol.vocabulary import Event

if TYPE_CHECKING:
    from checkout_integration.models import CheckoutUser


class NotificationQuerySet(NearQuerySet["Notification"]):
    """Queries of notifications."""

    def about_orders(self, project: str, order_ids: Iterable[str]) -> Self:
        """Return the notifications of these orders; not user.validate: its object is a customer whose id may be equal."""
        return self.filter(project=project, object_id__in=list(order_ids)).exclude(event=Event.USER_VALIDATE)


class Notification(Row):
    """One attempt to deliver a notification whose signature matched (WHK-01 to WHK-08): one row per distinct body.

    ``key`` is 128 bits of a SHA-256 over project, notification id, event and object id: it groups the attempts of one
    notification, whose bodies differ in their times. Its content never changes: an exact repetition counts one more receipt.
    Erasing a customer empties ``body``.
    """

    class State(models.TextChoices):
        """Stored ones wait to be applied, failed ones are tried again, quarantined ones wait for staff."""

        STORED = "stored", _("stored")
        APPLIED = "applied", _("applied")
        FAILED = "failed", _("failed")
        QUARANTINED = "quarantined", _("quarantined")
        TEST = "test", _("test")

    key: Column[str] = models.CharField(max_length=32, editable=False)
    body_hash: Column[str] = models.CharField(
        max_length=32,
        editable=False,
        help_text=_("A keyed hash, so that it does not reveal an erased body."),
    )
    project = IdentifierField(max_length=64)
    notification_id = IdentifierField(blank=True, default="")
    event: Column[str] = models.CharField(max_length=64, blank=True, default="")
    object_id = IdentifierField(
        blank=True, default="", help_text=_("Id of the order or user that it is about.")
    )
    reference = IdentifierField(
        blank=True, default="", help_text=_("Our reference of the checkout, from the order's metadata.")
    )
    live: Column[bool | None] = models.BooleanField(null=True, blank=True)
    created_at: Column[datetime | None] = optional_instant()
    expires_at: Column[datetime | None] = optional_instant()
    delivery_try: Column[int] = models.IntegerField(default=0)
    state: Column[str] = models.CharField(max_length=16, choices=State.choices, default=State.STORED)
    due_at: Column[datetime | None] = optional_instant(_("When it is to be applied; empty if it is not."))
    tries: Column[int] = models.PositiveIntegerField(
        default=0, help_text=_("How often applying it has failed.")
    )
    failure: Column[str] = models.TextField(blank=True, default="")
    secret_position: Column[int] = models.PositiveSmallIntegerField(
        default=0, help_text=_("Which secret of the project matched: 0 is the current one.")
    )
    body: Column[bytes | None] = models.BinaryField(null=True, blank=True)
    receipts: Column[int] = models.PositiveIntegerField(
        default=1, help_text=_("How often this body was received.")
    )
    received_at: Column[datetime] = InstantField()
    last_received_at: Column[datetime] = InstantField()

    objects: ClassVar[NotificationQuerySet] = NotificationQuerySet.as_manager()  # type: ignore[assignment]  # the plug-in gives Row a plain one
    primary: ClassVar[NotificationQuerySet] = PrimaryManager.from_queryset(NotificationQuerySet)()  # type: ignore[assignment]  # likewise

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        constraints = [models.UniqueConstraint(fields=["key", "body_hash"], name="ci_notification_body")]
        indexes = [
            models.Index(fields=["object_id"], name="ci_notification_object"),
            models.Index(fields=["reference"], name="ci_notification_reference"),
            models.Index(fields=["notification_id"], name="ci_notification_id"),
            models.Index(fields=["state"], name="ci_notification_state"),
            models.Index(fields=["event"], name="ci_notification_event"),
            # Few rows; MariaDB has no such indexes, and finds them by their state.
            models.Index(
                fields=["project", "state", "received_at"],
                name="ci_notification_waiting",
                condition=models.Q(state__in=("failed", "quarantined")),
            ),
            models.Index(fields=["-received_at"], name="ci_notification_received"),
            # For the silence of one project beside others.
            models.Index(fields=["project", "received_at"], name="ci_notification_project"),
            # Of the claim, and of nothing else: ascending, and with no other column before it, since MariaDB locks each row
            # that it reads or sorts. Applied rows are not in it, or have no time in it.
            of_present("due_at", name="ci_notification_due"),
        ]
        permissions = [("apply_notification", _("Can apply notifications that failed or are quarantined"))]

    def __str__(self) -> str:
        return f"{self.event} {self.notification_id}"

    @property
    def order_id(self) -> str:
        """The service's id of the order that a payment is about; "" for other events, whose object may be a customer."""
        return self.object_id if self.event in PAYMENT_EVENTS else ""

    @property
    def log_ids(self) -> dict[str, str | int]:
        """Its ids for logs."""
        ids: dict[str, str | int] = {"project": self.project, "notification": self.pk}
        return {**ids, "notification_id": self.notification_id, "order_id": self.order_id}


class ValidationDecision(Row):
    """The decision on one user.validate: the customer, the outcome with its reason, and the duration.

    One row per distinct body (``request_hash``): an exact repetition gets the recorded decision. See docs/validation.md.
    """

    class DecidedBy(models.TextChoices):
        """The source of the decision."""

        SHOP = "shop", _("the shop's validators")
        FAILURE = "failure", _("refused: a validator failed")
        BLOCK = "block", _("refused: the customer is blocked")
        TIMEOUT = "timeout", _("the budget ran out")

    request_hash: Column[str] = models.CharField(max_length=64, editable=False)
    notification: Column[Notification | None] = models.ForeignKey(
        Notification, null=True, on_delete=models.SET_NULL, related_name="decisions"
    )
    project = IdentifierField(max_length=64)
    external_id = IdentifierField(blank=True, default="")
    user: Column[CheckoutUser | None] = optional_row("CheckoutUser", models.SET_NULL, "decisions")
    approved: Column[bool] = models.BooleanField()
    code: Column[str] = models.CharField(max_length=64, blank=True, default="")
    reason: Column[str] = models.CharField(max_length=255, blank=True, default="")
    decided_by: Column[str] = models.CharField(
        max_length=16, choices=DecidedBy.choices, default=DecidedBy.SHOP
    )
    failure: Column[str] = models.CharField(
        max_length=255, blank=True, default="", help_text=_("Where a validator failed: error, file and line.")
    )
    latency: Column[float] = models.FloatField(
        help_text=_("Seconds from the request's arrival to the decision.")
    )
    late: Column[bool] = models.BooleanField(
        default=False, help_text=_("Whether it took longer than VALIDATE_BUDGET.")
    )
    decided_at: Column[datetime] = InstantField()

    class Meta:
        verbose_name = _("validation decision")
        verbose_name_plural = _("validation decisions")
        # Unique by a constraint, as in `Checkout`.
        constraints = [models.UniqueConstraint(fields=["request_hash"], name="ci_validation_request")]
        indexes = [
            models.Index(fields=["-decided_at"], name="ci_validation_decided"),
            models.Index(fields=["late", "-decided_at"], name="ci_validation_late"),
            models.Index(fields=["approved", "-decided_at"], name="ci_validation_approved"),
            models.Index(fields=["decided_by", "-decided_at"], name="ci_validation_decider"),
            models.Index(fields=["external_id"], name="ci_validation_external_id"),
            # For the health of one project beside others.
            models.Index(fields=["project", "-decided_at"], name="ci_validation_project"),
        ]

    def __str__(self) -> str:
        decided = gettext("approved") if self.approved else gettext("refused")
        return f"{self.external_id}: {decided}"


class RefusedRequests(Row):
    """How many requests to the webhook of one project were refused in one hour with one code; nothing of what they said."""

    key = models.CharField(
        max_length=32, primary_key=True, help_text=_("Hash of the project, the code and the hour.")
    )
    project = IdentifierField(
        max_length=64, blank=True, default="", help_text=_("Empty for all that the settings do not have.")
    )
    code: Column[str] = models.CharField(max_length=64, help_text=_("The code of the response."))
    hour: Column[datetime] = InstantField(help_text=_("The beginning of the hour."))
    count: Column[int] = models.PositiveBigIntegerField(default=0)
    last_at: Column[datetime] = InstantField()

    class Meta:
        verbose_name = _("refused requests")
        verbose_name_plural = _("refused requests")
        indexes = [models.Index(fields=["hour"], name="ci_refused_hour")]

    def __str__(self) -> str:
        return f"{self.project} {self.code} {self.hour:%Y-%m-%d %H}"
