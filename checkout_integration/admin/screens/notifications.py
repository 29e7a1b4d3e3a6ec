"""The log of notifications."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.screens.apply_notifications import APPLY, apply_selected
from checkout_integration.admin.site import (
    NOTIFICATION_STATES,
    ButtonAdmin,
    DateFilter,
    ProjectFilter,
    StateLabel,
    label_filter,
)
from checkout_integration.flows.monitoring import span
from checkout_integration.models import Notification, Order
from checkout_integration.protocol.vocabulary import Event

EVENTS = {event.value: StateLabel(event.value) for event in Event}


@admin.register(Notification)
class NotificationAdmin(ButtonAdmin):
    """Every distinct body of a signed notification, as it was received. Refused requests are not stored."""

    list_display = ("event", "state", "object_id", "attempt", "delay", "received_at", "failure")
    list_filter = (
        label_filter("state", gettext_lazy("state"), NOTIFICATION_STATES),
        label_filter("event", gettext_lazy("event"), EVENTS),
        ProjectFilter,
        ("received_at", DateFilter),
    )
    csv_columns = (
        *(
            "notification_id",
            "event",
            "state",
            "object_id",
            "project",
            "live",
            "delivery_try",
            "receipts",
            "created_at",
        ),
        *("received_at", "last_received_at", "expires_at", "failure"),
    )
    list_deferred = ("body",)
    ordering = ("-received_at", "-pk")
    sortable = {"received_at": "received_at"}
    search_fields = ("notification_id", "object_id")
    search_help_text = gettext_lazy("Notification id, or the id of its order or customer.")
    fieldsets = (
        (None, {"fields": ("event", "state", "failure", "tries", "due_at")}),
        (
            gettext_lazy("Content"),
            {"fields": ("notification_id", "order", "object_id", "live", "project", "body")},
        ),
        (
            gettext_lazy("Delivery"),
            {
                "fields": (
                    *("delivery_try", "receipts", "created_at", "received_at", "delay"),
                    *("last_received_at", "expires_at", "secret"),
                )
            },
        ),
    )
    headings = {
        "object_id": gettext_lazy("order or customer"),
        "attempt": gettext_lazy("attempt"),
        "delay": gettext_lazy("delay"),
        "tries": gettext_lazy("failed attempts to apply it"),
        "due_at": gettext_lazy("next attempt after"),
        "notification_id": gettext_lazy("id"),
        "order": gettext_lazy("order"),
        "delivery_try": gettext_lazy("delivery attempt"),
        "receipts": gettext_lazy("times received"),
        "received_at": gettext_lazy("received"),
        "last_received_at": gettext_lazy("last received"),
        "expires_at": gettext_lazy("delivery attempts end"),
        "secret": gettext_lazy("signed with"),
    }
    labels = {"state": NOTIFICATION_STATES}
    personal_fields = ("body",)
    buttons = (APPLY,)
    actions = (apply_selected,)
    when_empty = gettext_lazy(
        "No notification yet. Start the sandbox with “python manage.py checkout_sandbox”, and pay for an order; the README "
        "shows how."
    )

    def has_apply_permission(self, request: HttpRequest) -> bool:
        """Return whether the viewer may apply notifications: the permission of the list's action."""
        return self.viewer(request).may(APPLY.permission)

    def attempt(self, row: Notification) -> str:
        """Return the delivery attempt, and how often the body was received."""
        return f"{row.delivery_try} ({row.receipts}×)" if row.receipts > 1 else str(row.delivery_try)

    def delay(self, row: Notification) -> str:
        """Return the time between its creation and its arrival."""
        return delay_of(row)

    def order(self, row: Notification) -> Order | None:
        """Return the order that it is about."""
        orders = Order.objects.filter(project=row.project, order_id=row.object_id)
        return orders.only("order_id").first()

    def secret(self, row: Notification) -> str:
        """Return in words which secret matched; never the secret."""
        if row.secret_position == 0:
            return _("the current secret")
        return _("previous secret %(n)d") % {"n": row.secret_position}


def delay_of(notification: Notification) -> str:
    """Return how long the notification was on its way; "" when it does not say when it was created."""
    if notification.created_at is None:
        return ""
    return span(int(abs(notification.received_at - notification.created_at).total_seconds()))
