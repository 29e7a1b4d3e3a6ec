"""The orders of a checkout or of a customer, as a table on their page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.site import ORDER_STATUSES, VERDICTS, ReadOnlyInline, money
from checkout_integration.models import Order

if TYPE_CHECKING:
    from datetime import datetime


class OrdersInline(ReadOnlyInline):
    """The newest orders, with links to their pages."""

    model = Order
    fields = ("order", "status", "amount", "verdict", "created")
    headings = {"order": _("order"), "created": _("created")}
    labels = {"status": ORDER_STATUSES, "verdict": VERDICTS}
    when_empty = _("No order yet.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the orders without their large columns."""
        return super().get_queryset(request).defer("document", "facts", "stamps", "conflicts")

    def order(self, row: Order) -> Order:
        """Return the order itself, which is linked."""
        return row

    def amount(self, row: Order) -> str:
        """Return the order's amount."""
        return money(row.amount, row.currency)

    def created(self, row: Order) -> datetime:
        """Return when the service created it, or when it was first seen."""
        return row.created_at or row.recorded_at
