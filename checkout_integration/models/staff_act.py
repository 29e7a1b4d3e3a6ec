"""What staff did that is not in the history of one order: who, when, why, and on what."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.actor import ActedBy
from checkout_integration.models.columns import Column, IdentifierField, InstantField, account_column
from checkout_integration.models.order import Order
from checkout_integration.models.user import CheckoutUser


class StaffAct(ActedBy):
    """One act of staff on a customer or a receiver: by whom, from where, why, and on how much. Never changed or pruned.

    The customer is named by their row only, which an erasure turns into a tombstone; a guest has an order instead. An erasure
    empties the reasons of the acts before it. What staff do to one order is in its history (`Transition`).
    """

    class Act(models.TextChoices):
        """What was done."""

        EXPORT = "export", _("customer exported")
        ERASE = "erase", _("customer erased")
        BLOCK = "block", _("customer blocked")
        UNBLOCK = "unblock", _("block lifted")
        LINK = "link", _("customer linked to an account")
        UNLINK = "unlink", _("link to an account undone")
        DELETE_TESTS = "delete_tests", _("test data deleted")
        REPLAY = "replay", _("past events given to a receiver")
        RETRY = "retry", _("failed runs of a receiver retried")
        RETIRE = "retire", _("receiver retired")

    class Origin(models.TextChoices):
        """From where: ``code`` is the shop's own."""

        ADMIN = "admin", _("admin")
        COMMAND = "command", _("command line")
        CODE = "code", _("the shop's code")

    project = IdentifierField(max_length=64, blank=True, default="", help_text=_("Empty for all of them."))
    act: Column[str] = models.CharField(max_length=16, choices=Act.choices)
    origin: Column[str] = models.CharField(max_length=16, choices=Origin.choices)
    reason: Column[str] = models.CharField(max_length=255, blank=True, default="")
    customer: Column[CheckoutUser | None] = models.ForeignKey(
        CheckoutUser, null=True, blank=True, on_delete=models.SET_NULL, related_name="staff_acts"
    )
    order: Column[Order | None] = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.SET_NULL, related_name="staff_acts"
    )
    account = account_column()
    receiver = IdentifierField(blank=True, default="", help_text=_("The name of the receiver."))
    counts: Column[dict[str, int]] = models.JSONField(
        default=dict, help_text=_("How many rows of each kind it was about.")
    )
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)

    class Meta:
        verbose_name = _("act of staff")
        verbose_name_plural = _("acts of staff")

    def __str__(self) -> str:
        return f"{self.act} {self.recorded_at:%Y-%m-%d %H:%M:%S}"
