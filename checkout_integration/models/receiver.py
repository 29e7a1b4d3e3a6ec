"""The receivers that processes of the shop have connected: what one release knows, and another does not yet or no more."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import Column, IdentifierField, InstantField
from checkout_integration.models.row import Row


class Receiver(Row):
    """A receiver of one signal, remembered by the processes that have connected it.

    Runs are made for it by every process, also by one that does not know it. ``name`` is the name of its runs; it stays when
    the receiver is renamed. ``changes`` counts changes of all but the times, so that a process sees by one number that what
    it has read is out of date.
    """

    signal: Column[str] = models.CharField(max_length=32)
    name = IdentifierField(help_text=_("The name under which its runs are stored."))
    names: Column[list[str]] = models.JSONField(
        default=list, help_text=_("All names that it has had: a renamed receiver stays one receiver.")
    )
    undoes: Column[list[str]] = models.JSONField(
        default=list, help_text=_("The receivers of checkout_paid whose goods it revokes.")
    )
    first_seen: Column[datetime] = InstantField(help_text=_("When a process with it first worked."))
    last_seen: Column[datetime] = InstantField(help_text=_("When a process with it last worked."))
    last_ready: Column[datetime | None] = InstantField(
        null=True, blank=True, help_text=_("When a process with it that runs receivers last worked.")
    )
    missing_since: Column[datetime | None] = InstantField(
        null=True, blank=True, help_text=_("Since when processes work, and none of them has it.")
    )
    retired_at: Column[datetime | None] = InstantField(
        null=True, blank=True, help_text=_("Since when it gets no new runs.")
    )
    paused_at: Column[datetime | None] = InstantField(
        null=True, blank=True, help_text=_("Since when staff let its runs wait.")
    )
    paused_for: Column[str] = models.CharField(
        max_length=255, blank=True, default="", help_text=_("Why staff let its runs wait.")
    )
    changes: Column[int] = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name = _("receiver")
        verbose_name_plural = _("receivers")
        constraints = [models.UniqueConstraint(fields=["signal", "name"], name="ci_receiver_identity")]

    def __str__(self) -> str:
        return self.name
