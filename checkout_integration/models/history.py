"""The history of orders, and incidents for staff. Rows are added, never changed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.actor import ActedBy
from checkout_integration.models.columns import (
    Column,
    IdentifierField,
    InstantField,
    of_present,
    optional_instant,
    optional_row,
)
from checkout_integration.models.order import IN_REVIEW, Order
from checkout_integration.models.row import NearQuerySet

if TYPE_CHECKING:
    from checkout_integration.models import Notification, SyncRun
    from checkout_integration.models.order import OrderQuerySet

LONGEST_REASON: Final = 1_000
"""Characters of a reason or a note of staff."""
EMPTIED: Final = {"reason": "", "staff": None, "notification": None, "sync_run": None}
"""The columns of a transition that may be emptied: erasing takes the reason, and what it refers to may be deleted."""
APPEND_ONLY: Final = "A transition of an order is never changed or deleted. See docs/reconciliation.md."


class TransitionQuerySet(NearQuerySet["Transition"]):
    """Transitions, which are added and read. They are deleted only with their order."""

    def update(self, **columns: Any) -> int:
        """Empty some of the columns `EMPTIED`. Raises ``TypeError`` for any other change."""
        if any(name not in EMPTIED or value != EMPTIED[name] for name, value in columns.items()):
            raise TypeError(APPEND_ONLY)
        return super().update(**columns)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Raise ``TypeError``."""
        raise TypeError(APPEND_ONLY)


class Transition(ActedBy):
    """One change of an order's displayed status, or one act of staff: from, to, cause and time.

    An act that leaves the status as it is, such as a note, has the same status twice. Rows are added, and never changed; the
    database refuses it too (docs/reconciliation.md).
    """

    class Act(models.TextChoices):
        """What staff did."""

        ACCEPT = "accept", _("payment accepted")
        BIND = "bind", _("order linked to a checkout")
        RESTORE = "restore", _("payment restored")
        REVOKE = "revoke", _("goods revoked by hand")
        MARK_GRANTED = "mark_granted", _("marked as granted by hand")
        NOTE = "note", _("note")

    order: Column[Order] = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="transitions")
    from_status: Column[str] = models.CharField(max_length=16, blank=True, default="")
    to_status: Column[str] = models.CharField(max_length=16)
    source: Column[str] = models.CharField(
        max_length=16, help_text=_("notification, list, creation or staff")
    )
    notification: Column[Notification | None] = optional_row(
        "Notification", models.SET_NULL, "transitions", db_index=False
    )
    sync_run: Column[SyncRun | None] = optional_row("SyncRun", models.SET_NULL, "transitions", db_index=False)
    act: Column[str] = models.CharField(max_length=16, choices=Act.choices, blank=True, default="")
    reason: Column[str] = models.CharField(max_length=LONGEST_REASON, blank=True, default="")
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)

    objects: ClassVar[TransitionQuerySet] = TransitionQuerySet.as_manager()  # type: ignore[assignment]  # the plug-in gives Row a plain one

    class Meta:
        verbose_name = _("transition")
        verbose_name_plural = _("transitions")
        ordering = ["order", "pk"]
        # Few rows have either. MariaDB makes whole indexes for foreign keys by itself.
        indexes = [
            of_present("sync_run", name="ci_transition_sync"),
            of_present("staff", name="ci_transition_staff"),
        ]
        # Acts of staff whose row in an order's history is one of these.
        permissions = [
            ("restore_payment", _("Can restore a payment that was refunded or charged back")),
            ("revoke_payment", _("Can revoke the goods of a payment by hand")),
            ("mark_granted", _("Can mark the goods of an order as granted by hand")),
            ("add_note", _("Can write a note on an order")),
        ]

    def __str__(self) -> str:
        return f"{self.from_status or '–'} → {self.to_status}"

    def save(self, **options: Any) -> None:
        """Insert the row. Raises ``TypeError`` where it exists."""
        if not self._state.adding:
            raise TypeError(APPEND_ONLY)
        super().save(**options)

    def delete(self, using: str | None = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        """Raise ``TypeError``."""
        raise TypeError(APPEND_ONLY)


class Incident(ActedBy):
    """Something that staff should look at: a contradiction, unknown content, a payment that matches no checkout.

    One row per ``key``, however often it is seen. Staff (``actor``) resolve it, or it ends by itself when its cause is over.
    Payments in review that are bound to no checkout have one row for each project, kind and UTC day, without an ``order``:
    ``payments`` finds them.
    """

    key: Column[str] = models.CharField(max_length=32, editable=False)
    kind: Column[str] = models.CharField(max_length=64)
    project = IdentifierField(max_length=64)
    order: Column[Order | None] = optional_row(Order, models.CASCADE, "incidents")
    notification: Column[Notification | None] = optional_row("Notification", models.SET_NULL, "incidents")
    detail: Column[str] = models.TextField(blank=True, default="")
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)
    resolved_at: Column[datetime | None] = optional_instant()
    ended_itself: Column[bool] = models.BooleanField(
        default=False, help_text=_("Its cause was over, so nobody had to resolve it.")
    )

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        constraints = [models.UniqueConstraint(fields=["key"], name="ci_incident_key")]
        indexes = [
            models.Index(fields=["kind", "-recorded_at"], name="ci_incident_kind"),
            models.Index(fields=["-recorded_at"], name="ci_incident_recorded"),
            # Open ones have no time in it, and are few.
            models.Index(fields=["resolved_at", "project"], name="ci_incident_open"),
        ]

    def __str__(self) -> str:
        return self.kind

    @property
    def is_about_many(self) -> bool:
        """Whether it is about all payments of a day that match no checkout."""
        return self.order_id is None and self.kind.startswith("review:")

    @property
    def payments(self) -> OrderQuerySet:
        """The payments of any day without a checkout that are in review for its reason now; without those fully reversed."""
        orders = Order.objects.using(self._state.db)
        if not self.is_about_many:
            return orders.none()
        reason = self.kind.removeprefix("review:")
        return orders.filter(IN_REVIEW, verdict_reason=reason, project=self.project, checkout=None)
