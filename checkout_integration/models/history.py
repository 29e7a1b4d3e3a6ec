"""What happened to orders, and what staff should look at. Rows are added, never changed (G10, G11)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import IdentifierField, InstantField
from checkout_integration.models.order import Order
from checkout_integration.models.row import Row


class Transition(Row):
    """One change of an order's displayed status: from, to, cause and time."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="transitions")
    from_status = models.CharField(max_length=16, blank=True, default="")
    to_status = models.CharField(max_length=16)
    source = models.CharField(max_length=16, help_text=_("notification, list, creation or staff"))
    notification = models.ForeignKey(
        "checkout_integration.Notification",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="transitions",
    )
    sync_run = models.ForeignKey(
        "checkout_integration.SyncRun",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="transitions",
        db_index=False,
    )
    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    reason = models.CharField(max_length=255, blank=True, default="")
    recorded_at = InstantField(auto_now_add=True)

    class Meta:
        verbose_name = _("transition")
        verbose_name_plural = _("transitions")
        ordering = ["order", "pk"]
        # Few rows have either. MariaDB makes whole indexes for foreign keys by itself.
        indexes = [
            models.Index(
                fields=["sync_run"], name="ci_transition_sync", condition=models.Q(sync_run__isnull=False)
            ),
            models.Index(
                fields=["staff"], name="ci_transition_staff", condition=models.Q(staff__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.from_status or '–'} → {self.to_status}"


class Incident(Row):
    """Something that staff should look at: a contradiction, unknown content, a payment for nothing sold here.

    One row per ``key``, however often it is seen.
    """

    key = models.CharField(max_length=32, editable=False)
    kind = models.CharField(max_length=64)
    project = IdentifierField(max_length=64)
    order = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.CASCADE, related_name="incidents"
    )
    notification = models.ForeignKey(
        "checkout_integration.Notification",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="incidents",
    )
    detail = models.TextField(blank=True, default="")
    recorded_at = InstantField(auto_now_add=True)
    resolved_at = InstantField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        constraints = [models.UniqueConstraint(fields=["key"], name="ci_incident_key")]
        indexes = [
            models.Index(fields=["kind", "-recorded_at"], name="ci_incident_kind"),
            models.Index(fields=["-recorded_at"], name="ci_incident_recorded"),
        ]

    def __str__(self) -> str:
        return self.kind
