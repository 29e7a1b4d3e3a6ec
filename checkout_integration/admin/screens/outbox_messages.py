"""The outbox: one message for each signal."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.screens.receiver_runs import RunsInline
from checkout_integration.admin.site import (
    MESSAGE_STATES,
    ORDER_DOCUMENTS,
    ProjectFilter,
    ReadOnlyAdmin,
    StateLabel,
    label_filter,
)
from checkout_integration.models import OutboxMessage
from checkout_integration.signals import SIGNALS


@admin.register(OutboxMessage)
class OutboxMessageAdmin(ReadOnlyAdmin):
    """A signal, the order that it is about, and the runs of its receivers."""

    list_display = ("signal", "state", "order", "recorded_at")
    list_filter = (
        label_filter("state", _("state"), MESSAGE_STATES),
        label_filter("signal", _("signal"), {name: StateLabel(name) for name in SIGNALS}),
        ProjectFilter,
    )
    csv_columns = ("signal", "order__order_id", "checkout__reference", "project", "state", "recorded_at")
    list_select_related = ("order",)
    list_deferred = ORDER_DOCUMENTS
    sortable = {"recorded_at": "pk"}
    search_fields = ("order__order_id",)
    search_help_text = _("Order id.")
    page_related = ("order", "checkout")
    fieldsets = (
        (
            None,
            {"fields": ("signal", "state", "order", "checkout", "project", "recorded_at", "all_arguments")},
        ),
    )
    inlines = (RunsInline,)
    headings = {"all_arguments": _("arguments")}
    labels = {"state": MESSAGE_STATES}
