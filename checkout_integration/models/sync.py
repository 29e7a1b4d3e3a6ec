"""Reading the service's transaction list: runs, and how far they came."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import IdentifierField, InstantField
from checkout_integration.models.row import Row


class SyncRun(Row):
    """One pass over the transaction list, or over a part of it."""

    class State(models.TextChoices):
        """``complete``: the pass reached the end of the list; ``unreachable``: the service did not answer."""

        RUNNING = "running", _("running")
        COMPLETE = "complete", _("complete")
        FAILED = "failed", _("failed")
        UNREACHABLE = "unreachable", _("service unreachable")

    project = IdentifierField(max_length=64)
    lane = models.CharField(max_length=16)
    state = models.CharField(max_length=16, choices=State.choices, default=State.RUNNING)
    started_at = InstantField()
    finished_at = InstantField(null=True, blank=True)
    window_from = InstantField(null=True, blank=True)
    window_to = InstantField(null=True, blank=True)
    pages = models.PositiveIntegerField(default=0)
    rows = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0, help_text=_("Orders whose status or verdict changed."))
    failure = models.CharField(max_length=255, blank=True, default="")

    class Meta:
        verbose_name = _("sync run")
        verbose_name_plural = _("sync runs")
        indexes = [models.Index(fields=["project", "lane", "-started_at"], name="ci_sync_run_started")]

    def __str__(self) -> str:
        return f"{self.project} {self.lane} {self.started_at:%Y-%m-%d %H:%M:%S}"


class SyncCursor(Row):
    """How far a lane came: ``watermark`` is the start, by the service's clock, of its last complete pass.

    It is moved by compare-and-set with a fence number, never backwards.
    """

    project = IdentifierField(max_length=64)
    lane = models.CharField(max_length=16)
    watermark = InstantField(null=True, blank=True)
    fence = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name = _("sync cursor")
        verbose_name_plural = _("sync cursors")
        constraints = [models.UniqueConstraint(fields=["project", "lane"], name="ci_sync_cursor_identity")]

    def __str__(self) -> str:
        return f"{self.project} {self.lane}"


class Installation(Row):
    """When this app first wrote or read anything of a project: unbound orders older than that are ``historic``."""

    project = IdentifierField(max_length=64, unique=True)
    installed_at = InstantField()

    class Meta:
        verbose_name = _("installation")
        verbose_name_plural = _("installations")

    def __str__(self) -> str:
        return self.project
