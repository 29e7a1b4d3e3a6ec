"""The inbox: every signed notification, as it came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import IdentifierField, InstantField
from checkout_integration.models.row import NearQuerySet, Row
from checkout_integration.protocol.vocabulary import Event


class NotificationQuerySet(NearQuerySet["Notification"]):
    """Questions about notifications."""

    def about_orders(self, project: str, order_ids: Iterable[str]) -> Self:
        """Return the notifications of these orders; a user.validate is about a customer, whose id may be the same."""
        return self.filter(project=project, object_id__in=list(order_ids)).exclude(event=Event.USER_VALIDATE)


class Notification(Row):
    """One attempt to deliver a notification whose signature matched (WHK-01 to WHK-08): one row per distinct body.

    ``key`` is a SHA-256 over project, notification id, event and object id: it groups the attempts of one notification, whose
    bodies differ in their times. Its content never changes: an exact repetition counts one more receipt. Erasing a customer
    empties ``body``.
    """

    class State(models.TextChoices):
        """Stored ones wait to be applied, failed ones are tried again, quarantined ones wait for staff."""

        STORED = "stored", _("stored")
        APPLIED = "applied", _("applied")
        FAILED = "failed", _("failed")
        QUARANTINED = "quarantined", _("quarantined")
        TEST = "test", _("test")

    key = models.CharField(max_length=64, editable=False)
    body_hash = models.CharField(
        max_length=64,
        editable=False,
        help_text=_("Keyed: it does not tell what an erased body may have been."),
    )
    project = IdentifierField(max_length=64)
    notification_id = IdentifierField(blank=True, default="")
    event = models.CharField(max_length=64, blank=True, default="")
    object_id = IdentifierField(
        blank=True, default="", help_text=_("Id of the order or user that it tells of.")
    )
    reference = IdentifierField(
        blank=True, default="", help_text=_("Our reference of the checkout, from the order's metadata.")
    )
    live = models.BooleanField(null=True, blank=True)
    created_at = InstantField(null=True, blank=True)
    expires_at = InstantField(null=True, blank=True)
    delivery_try = models.IntegerField(default=0)
    state = models.CharField(max_length=16, choices=State.choices, default=State.STORED)
    due_at = InstantField(
        null=True, blank=True, help_text=_("When it is to be applied; empty where nobody is to.")
    )
    tries = models.PositiveIntegerField(default=0, help_text=_("How often applying it has failed."))
    failure = models.TextField(blank=True, default="")
    secret_position = models.PositiveSmallIntegerField(
        default=0, help_text=_("Which secret of the project matched: 0 is the current one.")
    )
    body = models.BinaryField(null=True, blank=True)
    receipts = models.PositiveIntegerField(default=1, help_text=_("How often this body came."))
    received_at = InstantField()
    last_received_at = InstantField()

    objects = NotificationQuerySet.as_manager()  # type: ignore[misc]  # the plug-in gives Row a plain one

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        constraints = [models.UniqueConstraint(fields=["key", "body_hash"], name="ci_notification_body")]
        indexes = [
            models.Index(fields=["project", "object_id"], name="ci_notification_object"),
            models.Index(fields=["reference"], name="ci_notification_reference"),
            models.Index(fields=["notification_id"], name="ci_notification_id"),
            models.Index(fields=["state", "received_at"], name="ci_notification_state"),
            models.Index(fields=["-received_at"], name="ci_notification_received"),
            # Of the claim, and of nothing else: ascending, and with no other column before it, since MariaDB locks each row
            # that it reads or sorts. Applied rows have no time in it.
            models.Index(fields=["due_at"], name="ci_notification_due"),
        ]
        permissions = [("apply_notification", _("Can apply notifications that failed or are quarantined"))]

    def __str__(self) -> str:
        return f"{self.event} {self.notification_id}"


class ValidationDecision(Row):
    """The answer to one user.validate: about whom, approved or refused and why, and how long it took.

    One row per distinct body (``request_hash``): an exact repetition gets the recorded answer. See docs/validation.md.
    """

    class DecidedBy(models.TextChoices):
        """Who decided."""

        SHOP = "shop", _("the shop's validators")
        FAILURE = "failure", _("refused: a validator failed")
        TIMEOUT = "timeout", _("the budget ran out")

    request_hash = models.CharField(max_length=64, unique=True, editable=False)
    notification = models.ForeignKey(
        Notification, null=True, on_delete=models.SET_NULL, related_name="decisions"
    )
    project = IdentifierField(max_length=64)
    external_id = IdentifierField(blank=True, default="")
    user = models.ForeignKey(
        "checkout_integration.CheckoutUser",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="decisions",
    )
    approved = models.BooleanField()
    code = models.CharField(max_length=64, blank=True, default="")
    reason = models.CharField(max_length=255, blank=True, default="")
    decided_by = models.CharField(max_length=16, choices=DecidedBy.choices, default=DecidedBy.SHOP)
    failure = models.CharField(
        max_length=255, blank=True, default="", help_text=_("Where a validator failed: error, file and line.")
    )
    latency = models.FloatField(help_text=_("Seconds from the request's arrival to the decision."))
    late = models.BooleanField(default=False, help_text=_("Whether it took longer than VALIDATE_BUDGET."))
    decided_at = InstantField()

    class Meta:
        verbose_name = _("validation decision")
        verbose_name_plural = _("validation decisions")
        indexes = [
            models.Index(fields=["-decided_at"], name="ci_validation_decided"),
            models.Index(fields=["late", "-decided_at"], name="ci_validation_late"),
            models.Index(fields=["external_id"], name="ci_validation_external_id"),
        ]

    def __str__(self) -> str:
        return f"{self.external_id}: {'approved' if self.approved else 'refused'}"
