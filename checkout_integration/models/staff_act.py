"""What staff did and looked up, all of it: who, when, from where, why, and on what."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.actor import ActedBy
from checkout_integration.models.columns import Column, IdentifierField, InstantField, account_column
from checkout_integration.models.history import Incident, Transition
from checkout_integration.models.order import Order
from checkout_integration.models.user import CheckoutUser

if TYPE_CHECKING:
    from checkout_integration.models import Notification


class StaffAct(ActedBy):
    """One act of staff: by whom, from where, why, and on what. It is written with the act, and never changed or pruned.

    A customer is named by their row only, which an erasure turns into a tombstone; a guest has an order instead. An erasure
    empties the reasons of the acts before it. What `Transition.Act` has is in the history of the order too, with notes.
    """

    class Act(models.TextChoices):
        """What was done, beside what is in the history of an order (`Transition.Act`)."""

        DOWNLOAD = "download", _("list with personal data downloaded")
        EVIDENCE = "evidence", _("evidence downloaded")
        EXPORT = "export", _("customer exported")
        ERASE = "erase", _("customer erased")
        BLOCK = "block", _("customer blocked")
        UNBLOCK = "unblock", _("block lifted")
        LINK = "link", _("customer linked to an account")
        UNLINK = "unlink", _("link to an account undone")
        UNCLAIM = "unclaim", _("claim of a purchase undone")
        CHECK = "check", _("checked with the service")
        RESOLVE = "resolve", _("incident resolved")
        APPLY = "apply", _("notification applied")
        REPLAY = "replay", _("past events given to the shop's code")
        RETRY = "retry", _("code of the shop run again")
        RETIRE = "retire", _("code of the shop retired")
        PAUSE = "pause", _("code of the shop paused")
        RESUME = "resume", _("code of the shop resumed")
        PRUNE = "prune", _("old data removed")
        DELETE_TESTS = "delete_tests", _("test data deleted")

    class Origin(models.TextChoices):
        """From where: ``code`` is the shop's own."""

        ADMIN = "admin", _("admin")
        COMMAND = "command", _("command line")
        CODE = "code", _("the shop's code")

    project = IdentifierField(max_length=64, blank=True, default="", help_text=_("Empty for all of them."))
    act: Column[str] = models.CharField(max_length=16, choices=[*Transition.Act.choices, *Act.choices])
    origin: Column[str] = models.CharField(max_length=16, choices=Origin.choices)
    reason: Column[str] = models.CharField(max_length=255, blank=True, default="")
    customer: Column[CheckoutUser | None] = models.ForeignKey(
        CheckoutUser, null=True, blank=True, on_delete=models.SET_NULL, related_name="staff_acts"
    )
    order: Column[Order | None] = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.SET_NULL, related_name="staff_acts"
    )
    incident: Column[Incident | None] = models.ForeignKey(
        Incident, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    notification: Column[Notification | None] = models.ForeignKey(
        "checkout_integration.Notification",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    account = account_column()
    receiver = IdentifierField(blank=True, default="", help_text=_("The name of the receiver."))
    detail: Column[str] = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=_(
            "Of a download: the list, and the names of its filters. Of a claim that was undone: when it was made."
        ),
    )
    counts: Column[dict[str, int]] = models.JSONField(
        default=dict, help_text=_("How many rows of each kind it was about.")
    )
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)

    class Meta:
        verbose_name = _("act of staff")
        verbose_name_plural = _("acts of staff")
        default_permissions = ("view",)
        # The list is by time, and so are its filters.
        indexes = [
            models.Index(fields=["-recorded_at"], name="ci_staff_act_recorded"),
            models.Index(fields=["staff", "-recorded_at"], name="ci_staff_act_staff"),
            models.Index(fields=["system_user", "-recorded_at"], name="ci_staff_act_system"),
            models.Index(fields=["act", "-recorded_at"], name="ci_staff_act_act"),
            models.Index(fields=["origin", "-recorded_at"], name="ci_staff_act_origin"),
        ]

    def __str__(self) -> str:
        return f"{self.get_act_display()} {self.recorded_at:%Y-%m-%d %H:%M:%S}"
