"""Reading the service's transaction list: the passes, and how far they read."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import Column, IdentifierField, InstantField
from checkout_integration.models.row import Row
from checkout_integration.policy.drift import DifferenceKind

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager


class SyncRun(Row):
    """One pass over the transaction list, or over a part of it."""

    class State(models.TextChoices):
        """``complete``: the pass reached the end of the list; ``unreachable``: the service did not respond.

        ``abandoned``: its process ended, or stood still for so long that another pass took over.
        """

        RUNNING = "running", _("running")
        COMPLETE = "complete", _("complete")
        FAILED = "failed", _("failed")
        UNREACHABLE = "unreachable", _("service unreachable")
        ABANDONED = "abandoned", _("abandoned")

    project = IdentifierField(max_length=64)
    lane: Column[str] = models.CharField(max_length=16)
    state: Column[str] = models.CharField(max_length=16, choices=State.choices, default=State.RUNNING)
    started_at: Column[datetime] = InstantField()
    finished_at: Column[datetime | None] = InstantField(null=True, blank=True)
    window_from: Column[datetime | None] = InstantField(null=True, blank=True)
    window_to: Column[datetime | None] = InstantField(null=True, blank=True)
    pages: Column[int] = models.PositiveIntegerField(default=0)
    rows: Column[int] = models.PositiveIntegerField(default=0)
    changed: Column[int] = models.PositiveIntegerField(
        default=0, help_text=_("Orders whose status or verdict changed.")
    )
    failure: Column[str] = models.CharField(max_length=255, blank=True, default="")
    rows_since: Column[datetime | None] = InstantField(
        null=True,
        blank=True,
        help_text=_("The service's time of the first page, of this pass or of the one that it resumed."),
    )
    fence: Column[int] = models.PositiveBigIntegerField(
        default=0,
        help_text=_("The lane's fence at the start; with another one the pass may not write any more."),
    )

    windows: RelatedManager[SyncWindow]
    differences: RelatedManager[SyncDifference]

    totals: Column[list[dict[str, Any]]] = models.JSONField(
        default=list,
        blank=True,
        editable=False,
        help_text=_(
            "Count and sum per currency and status, here and there, after a complete pass over everything."
        ),
    )

    compared: tuple[SyncDifference, ...] = ()
    """The differences of a dry run, which is not saved."""
    expected = 0
    """How many rows the service says this pass will read, while it reads them; 0 if that is not known."""

    class Meta:
        verbose_name = _("sync run")
        verbose_name_plural = _("sync runs")
        indexes = [models.Index(fields=["project", "lane", "-started_at"], name="ci_sync_run_started")]

    def __str__(self) -> str:
        return f"{self.project} {self.lane} {self.started_at:%Y-%m-%d %H:%M:%S}"

    @property
    def log_ids(self) -> dict[str, str | int]:
        """Its ids for logs."""
        return {"project": self.project, "lane": self.lane, "sync_run": self.pk}


class SyncWindow(Row):
    """A part of a pass: the orders that were created in a period. One worker at a time reads it, until ``busy_until``.

    An empty end is open. A pass is complete when all its windows are; the windows that are not complete are left to the pass
    that resumes it.
    """

    class State(models.TextChoices):
        """``waiting``: not read to its end yet, perhaps by a worker that reads it now; the others as for a pass."""

        WAITING = "waiting", _("waiting")
        COMPLETE = "complete", _("complete")
        FAILED = "failed", _("failed")
        UNREACHABLE = "unreachable", _("service unreachable")

    run: Column[SyncRun] = models.ForeignKey(SyncRun, on_delete=models.CASCADE, related_name="windows")
    state: Column[str] = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    window_from: Column[datetime | None] = InstantField(null=True, blank=True)
    window_to: Column[datetime | None] = InstantField(null=True, blank=True)
    busy_until: Column[datetime | None] = InstantField(
        null=True, blank=True, help_text=_("Until when a worker has the window, unless it extends this time.")
    )
    fence: Column[int] = models.PositiveBigIntegerField(
        default=0,
        help_text=_("Increased by each worker that begins; the writes of earlier workers are refused."),
    )
    failure: Column[str] = models.CharField(max_length=255, blank=True, default="")
    totals: Column[list[dict[str, Any]]] = models.JSONField(
        default=list, blank=True, editable=False, help_text=_("Its part of the totals of the pass.")
    )

    class Meta:
        verbose_name = _("sync window")
        verbose_name_plural = _("sync windows")

    def __str__(self) -> str:
        return f"{self.window_from or ''} – {self.window_to or ''}"


class SyncDifference(Row):
    """A difference between the transaction list and this shop, found by a pass, with both values: "processed 9.99 EUR".

    ``healed``: recording the list removed it, or it was gone when it was looked at again. ``waiting``: the list and this shop
    still disagree; the same difference is not listed twice while it waits.
    """

    class State(models.TextChoices):
        """Whether the two sides agree by now."""

        HEALED = "healed", _("healed")
        WAITING = "waiting", _("waiting")

    # Without an index of its own: the first one of the table begins with it.
    run: Column[SyncRun] = models.ForeignKey(
        SyncRun, on_delete=models.CASCADE, related_name="differences", db_index=False
    )
    project = IdentifierField(max_length=64)
    kind: Column[str] = models.CharField(
        max_length=16, choices=[(kind.value, kind.value) for kind in DifferenceKind]
    )
    order_id = IdentifierField(
        help_text=_("The service's id of the order, or of a reversal without an order.")
    )
    here: Column[str] = models.CharField(
        max_length=128,
        blank=True,
        default="",
        help_text=_("The order as this shop had it; empty if it had none."),
    )
    there: Column[str] = models.CharField(
        max_length=128,
        blank=True,
        default="",
        help_text=_("The order as the list has it; empty if it has none."),
    )
    state: Column[str] = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    waiting_key: Column[str | None] = models.CharField(
        max_length=32,
        null=True,
        editable=False,
        help_text=_("Hash of the difference while it waits, so that it is not listed twice."),
    )
    found_at: Column[datetime] = InstantField()

    class Meta:
        verbose_name = _("sync difference")
        # Its list in the admin stands on the page about the list and this shop.
        verbose_name_plural = _("reconciliation")
        constraints = [models.UniqueConstraint(fields=["waiting_key"], name="ci_sync_difference_waiting")]
        indexes = [
            models.Index(fields=["run", "state"], name="ci_sync_difference_run"),
            models.Index(fields=["project", "order_id"], name="ci_sync_difference_order"),
            models.Index(fields=["kind"], name="ci_sync_difference_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.order_id}"


class SyncCursor(Row):
    """The progress of a lane: ``watermark`` is the start, by the service's clock, of its last complete pass.

    It is moved by compare-and-set with a fence number, never backwards. One pass at a time has the lane, until
    ``busy_until``, which it moves with each page.
    """

    project = IdentifierField(max_length=64)
    lane: Column[str] = models.CharField(max_length=16)
    watermark: Column[datetime | None] = InstantField(null=True, blank=True)
    fence: Column[int] = models.PositiveBigIntegerField(default=0)
    busy_until = InstantField(
        null=True, blank=True, help_text=_("Until when a pass has the lane, unless it extends this time.")
    )
    paused_until = InstantField(
        null=True,
        blank=True,
        help_text=_("Until when no worker reads the list: the service responded with 429."),
    )

    class Meta:
        verbose_name = _("sync cursor")
        verbose_name_plural = _("sync cursors")
        constraints = [models.UniqueConstraint(fields=["project", "lane"], name="ci_sync_cursor_identity")]

    def __str__(self) -> str:
        return f"{self.project} {self.lane}"


class ListedRow(Row):
    """A row of the transaction list at its last reading. The same bytes are not parsed again, and write nothing.

    ``row_hash`` is a keyed hash of the row's bytes and of the version of our rules. It is committed together with the
    changes of the row, and is not stored for a row that failed or waits. `DELETED` stands for test data that was deleted:
    whatever comes about the order is skipped.
    """

    DELETED = "deleted"

    key = models.CharField(
        max_length=32, primary_key=True, help_text=_("Hash of the project and the row's id.")
    )
    row_hash = models.CharField(max_length=32, help_text=_("Keyed hash of its bytes at the last reading."))

    class Meta:
        verbose_name = _("listed row")
        verbose_name_plural = _("listed rows")

    def __str__(self) -> str:
        return self.key


class HostClock(Row):
    """A host whose clock was found to differ from the database's: waits and limits of time are wrong by so much there."""

    host = IdentifierField(unique=True)
    seconds_ahead: Column[float] = models.FloatField(help_text=_("Negative for a clock that is behind."))
    measured_at: Column[datetime] = InstantField()

    class Meta:
        verbose_name = _("clock of a host")
        verbose_name_plural = _("clocks of hosts")

    def __str__(self) -> str:
        return self.host


class Alert(Row):
    """What was last said of one kind of finding (`health_changed`), and when: at most once an hour.

    The row without a finding says when health was last looked at for alerts.
    """

    kind = IdentifierField(unique=True, help_text=_("Name of the finding, and alias of its project."))
    severity: Column[str] = models.CharField(max_length=16, default="ok", help_text=_("What was last said."))
    sent_at: Column[datetime] = InstantField()

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")

    def __str__(self) -> str:
        return f"{self.kind} {self.severity}"


class Installation(Row):
    """When this app first wrote or read anything of a project: older orders without a checkout are ``historic``."""

    project = IdentifierField(max_length=64, unique=True)
    installed_at: Column[datetime] = InstantField()

    class Meta:
        verbose_name = _("installation")
        # Its list in the admin is the page about the health of every project.
        verbose_name_plural = _("health")
        permissions = [("view_health", _("Can see whether all is well"))]

    def __str__(self) -> str:
        return self.project
