"""Who exported or erased the data of a customer, when, and why."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import Column, IdentifierField, InstantField, account_column
from checkout_integration.models.order import Order
from checkout_integration.models.row import Row
from checkout_integration.models.user import CheckoutUser


class PrivacyAct(Row):
    """One export or erasure of a customer's data: by whom, from where, why, and how much it was. Never changed or pruned.

    The customer is named by their row only, which an erasure turns into a tombstone; a guest has an order instead. An erasure
    empties the reasons of the acts before it.
    """

    class Act(models.TextChoices):
        """What was done."""

        EXPORT = "export", _("exported")
        ERASE = "erase", _("erased")

    class Origin(models.TextChoices):
        """From where: ``code`` is the shop's own."""

        ADMIN = "admin", _("admin")
        COMMAND = "command", _("command line")
        CODE = "code", _("the shop's code")

    project = IdentifierField(max_length=64)
    act: Column[str] = models.CharField(max_length=16, choices=Act.choices)
    origin: Column[str] = models.CharField(max_length=16, choices=Origin.choices)
    staff = account_column()
    reason: Column[str] = models.CharField(max_length=255, blank=True, default="")
    customer: Column[CheckoutUser | None] = models.ForeignKey(
        CheckoutUser, null=True, blank=True, on_delete=models.SET_NULL, related_name="privacy_acts"
    )
    order: Column[Order | None] = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.SET_NULL, related_name="privacy_acts"
    )
    counts: Column[dict[str, int]] = models.JSONField(
        default=dict, help_text=_("How many rows of each kind had data of the customer.")
    )
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)

    class Meta:
        verbose_name = _("privacy act")
        verbose_name_plural = _("privacy acts")

    def __str__(self) -> str:
        return f"{self.act} {self.recorded_at:%Y-%m-%d %H:%M:%S}"
