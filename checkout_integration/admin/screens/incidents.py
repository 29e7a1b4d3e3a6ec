"""Incidents: what staff should look at."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from django.contrib import admin
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.site import filters
from checkout_integration.admin.site.buttons import Button, ButtonAdmin
from checkout_integration.admin.site.fields import Viewer, group
from checkout_integration.admin.site.labels import INCIDENT_STATES, Text, incident_state
from checkout_integration.admin.site.large_tables import ORDER_DOCUMENTS
from checkout_integration.admin.site.reasons import incident_label, incident_sentence
from checkout_integration.admin.site.values import Value, short, visible
from checkout_integration.display import shown_number
from checkout_integration.models import Incident, Order

MOST_COUNTED: Final = 10_000
RESOLVE: Final = Button(
    name="resolve",
    label=gettext_lazy("Resolve this incident"),
    # The screen is read-only, so Django's own permission to change an incident means this and nothing else.
    permission="change_incident",
    question=gettext_lazy(
        "The incident is marked as resolved, with your name. Nothing else changes: no payment is accepted and no goods are "
        "granted."
    ),
    offered=lambda incident: incident.resolved_at is None,
    operation=flows.operations.resolve_incident,
    refused=gettext_lazy("Somebody has already resolved it."),
    done=lambda incident, resolved: _("The incident is resolved."),
)


@admin.register(Incident)
class IncidentAdmin(ButtonAdmin):
    """Contradictions, unknown content, and payments that match no checkout."""

    list_display = ("incident", "state", "order", "detail", "recorded_at")
    linked = ("order",)
    list_filter = (
        filters.empty_filter(
            "resolved_at",
            gettext_lazy("state"),
            INCIDENT_STATES["open"].text,
            INCIDENT_STATES["resolved"].text,
        ),
        filters.ProjectFilter,
        ("recorded_at", filters.DateFilter),
    )
    list_select_related = ("order",)
    list_deferred = ORDER_DOCUMENTS
    ordering = ("-recorded_at", "-pk")
    sortable = {"recorded_at": "recorded_at"}
    search_fields = ("kind", "order__order_id")
    search_help_text = gettext_lazy("Kind of incident, or order id.")
    page_related = ("order", "notification", "staff")
    fieldsets = (
        group(None, "incident meaning state order payments notification detail"),
        group(gettext_lazy("History"), "kind project recorded_at resolved_at resolved_by"),
    )
    headings = {
        "incident": gettext_lazy("what"),
        "meaning": gettext_lazy("what this means"),
        "payments": gettext_lazy("payments in review now"),
    }
    buttons = (RESOLVE,)
    state = staticmethod(incident_state)
    when_empty = gettext_lazy("No incident: everything that the service sent is consistent.")

    def meaning(self, row: Incident) -> Text:
        """Return the sentence that explains the kind."""
        return incident_sentence(row.kind)

    def detail(self, row: Incident) -> str:
        """Return the detail, of an incident about many payments the ids of a few."""
        if not row.is_about_many:
            return visible(row.detail)
        return _("for instance %(orders)s") % {"orders": visible(row.detail)}

    def payments(self, row: Incident) -> str | None:
        """Return how many payments without a checkout are in review for its reason; None for any other incident."""
        if not row.is_about_many:
            return None
        count = row.payments[: MOST_COUNTED + 1].count()
        if count <= MOST_COUNTED:
            return shown_number(count)
        return _("more than %(n)s") % {"n": shown_number(MOST_COUNTED)}

    def row_name(self, row: Incident) -> Text:
        """Return the kind in words; its code is on the incident's page."""
        return incident_label(row.kind)

    incident = row_name

    def note(self, viewer: Viewer, row: Incident) -> Value:
        """Return a link to the payments in review, if it is about those without a checkout."""
        if not row.is_about_many or not viewer.may("view_order"):
            return super().note(viewer, row)
        orders = viewer.address(Order, "changelist")
        address = (
            f"{orders}?{urlencode({'unbound': row.kind.removeprefix('review:'), 'project': row.project})}"
        )
        return format_html('<a href="{}">{}</a>', address, _("Show the payments in review"))

    def resolved_by(self, row: Incident) -> str:
        """Return who resolved it: an account, or the system's user; "" for nobody."""
        return short(row.actor or "")
