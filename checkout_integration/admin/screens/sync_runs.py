"""Passes over the service's transaction list."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.site import (
    SYNC_STATES,
    DateFilter,
    ProjectFilter,
    ReadOnlyAdmin,
    label_filter,
)
from checkout_integration.models import SyncRun


@admin.register(SyncRun)
class SyncRunAdmin(ReadOnlyAdmin):
    """Passes of the sync: rows read, orders changed, and the reason of a failure."""

    list_display = ("started_at", "lane", "state", "rows", "changed", "failure")
    list_filter = (
        label_filter("state", _("state"), SYNC_STATES),
        ProjectFilter,
        ("started_at", DateFilter),
    )
    csv_columns = (
        *(
            "started_at",
            "finished_at",
            "project",
            "lane",
            "state",
            "window_from",
            "window_to",
            "pages",
            "rows",
        ),
        *("changed", "failure"),
    )
    sortable = {"started_at": "pk"}
    fieldsets = (
        (None, {"fields": ("state", "failure", "project", "lane", "started_at", "finished_at")}),
        (_("Read"), {"fields": ("window_from", "window_to", "pages", "rows", "changed")}),
    )
    labels = {"state": SYNC_STATES}
    headings = {
        "window_from": _("orders created from"),
        "window_to": _("orders created until"),
        "pages": _("pages read"),
        "rows": _("rows read"),
        "changed": _("orders changed"),
    }
    when_empty = _(
        "No sync yet. Run “python manage.py checkout_sync”, or start “checkout_work” or Celery's beat."
    )
