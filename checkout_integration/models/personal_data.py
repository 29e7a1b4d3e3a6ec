"""The personal part of orders, in a table of its own."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import Column, DocumentField, InstantField, searched
from checkout_integration.models.order import Order
from checkout_integration.models.row import Row


class PersonalData(Row):
    """The personal part of an order's document, apart from it, so that one command can erase it.

    ``erased_at`` is a tombstone: it wins over every later observation.
    """

    order: Column[Order] = models.OneToOneField(
        Order, on_delete=models.CASCADE, primary_key=True, related_name="personal_data"
    )
    document: Column[dict[str, Any]] = DocumentField()
    refund_receipts: Column[dict[str, Any]] = DocumentField()
    email: Column[str] = models.CharField(max_length=255, blank=True, default="")
    last4: Column[str] = models.CharField(max_length=4, blank=True, default="")
    erased_at: Column[datetime | None] = InstantField(null=True, blank=True)

    class Meta:
        verbose_name = _("personal data")
        verbose_name_plural = _("personal data")
        indexes = [
            searched("email", "ci_personal_email"),
            models.Index(fields=["last4"], name="ci_personal_last4"),
        ]

    def __str__(self) -> str:
        return gettext("personal data of %(order)s") % {"order": self.order_id}
