"""Refunds and chargebacks of orders."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import (
    Column,
    CurrencyField,
    DocumentField,
    IdentifierField,
    InstantField,
    MoneyField,
)
from checkout_integration.models.order import Order
from checkout_integration.models.row import Row
from checkout_integration.protocol.vocabulary import OrderStatus


class Refund(Row):
    """One refund or chargeback of an order (RFD-01 to RFD-06): a reversal document, or a notification's statement.

    A reversal document is an item of the transaction list with an id of its own. One that is seen before its order has no
    ``order`` yet: it is never taken for a payment. A notification's statement has a row only while no document is known.
    """

    key: Column[str] = models.CharField(max_length=32, editable=False)
    project = IdentifierField(max_length=64)
    order: Column[Order | None] = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.PROTECT, related_name="refunds"
    )
    document_id = IdentifierField(
        blank=True, default="", help_text=_("The reversal document's own id, if it has one.")
    )
    transaction = IdentifierField(blank=True, default="")
    status: Column[str] = models.CharField(max_length=16, default=OrderStatus.REFUNDED.value)
    refunded_at: Column[datetime | None] = InstantField(null=True, blank=True)
    amount = MoneyField(currency="currency")
    currency = CurrencyField()
    reason: Column[str] = models.TextField(blank=True, default="")
    code: Column[str] = models.CharField(max_length=255, blank=True, default="")
    receipt_number = IdentifierField(blank=True, default="")
    document: Column[dict[str, Any]] = DocumentField()
    observed_at: Column[datetime | None] = InstantField(null=True, blank=True)
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)
    reversed_at: Column[datetime] = models.GeneratedField(
        expression=Coalesce("refunded_at", "recorded_at"),
        output_field=InstantField(),
        db_persist=True,
        help_text=_(
            "When the money went back: as the service says, or until it says so, when the row was written."
        ),
    )

    class Meta:
        verbose_name = _("refund")
        verbose_name_plural = _("refunds")
        constraints = [models.UniqueConstraint(fields=["key"], name="ci_refund_key")]
        indexes = [
            models.Index(fields=["transaction"], name="ci_refund_transaction"),
            models.Index(fields=["document_id"], name="ci_refund_document"),
            models.Index(fields=["-reversed_at", "-id"], name="ci_refund_time"),
            models.Index(fields=["status", "-reversed_at", "-id"], name="ci_refund_status"),
        ]

    def __str__(self) -> str:
        return self.document_id or str(self.order)

    @property
    def receipt_url(self) -> str:
        """RFD-06: that of its own document, in the order's personal data, and erased with it; "" where it is not known."""
        if self.document_id:
            personal = getattr(self.order, "personal_data", None)
            return str(personal.refund_receipts.get(self.document_id, "")) if personal else ""
        refund = self.order.refund if self.order else None
        return (refund.receipt_url if refund else None) or ""
