"""Exports and erasures of customers' data: who, when, why."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.site import DateFilter, ProjectFilter, ReadOnlyAdmin
from checkout_integration.models import PrivacyAct


@admin.register(PrivacyAct)
class PrivacyActAdmin(ReadOnlyAdmin):
    """Who exported or erased a customer, from where, when and why. Rows are added, never changed."""

    list_display = ("recorded_at", "act", "origin", "staff", "customer", "reason")
    list_filter = (ProjectFilter, ("recorded_at", DateFilter))
    csv_columns = ("recorded_at", "act", "origin", "staff", "customer", "project", "reason")
    list_select_related = ("staff", "customer")
    page_related = ("staff", "customer", "order")
    fieldsets = (
        (None, {"fields": ("act", "recorded_at", "origin", "staff", "reason")}),
        (_("The customer"), {"fields": ("customer", "order", "project", "counts")}),
    )
    headings = {
        "act": _("what"),
        "origin": _("from"),
        "staff": _("by"),
        "recorded_at": _("when"),
        "counts": _("rows"),
    }
    sortable = {"recorded_at": "pk"}
    when_empty = _("Nobody has exported or erased a customer yet. The page of a customer has the buttons.")

    def row_name(self, row: PrivacyAct) -> str:
        """Return the act in words, and the customer."""
        return f"{row.get_act_display()}: {row.customer or ''}"

    def act(self, row: PrivacyAct) -> str:
        """Return what was done, in words."""
        return row.get_act_display()

    def origin(self, row: PrivacyAct) -> str:
        """Return from where, in words."""
        return row.get_origin_display()
