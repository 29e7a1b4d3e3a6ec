"""What staff should look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.buttons import Button, Refused
from checkout_integration.admin.display import NOTHING, badge, moment, short, visible
from checkout_integration.admin.filters import ProjectFilter, empty_filter
from checkout_integration.admin.page import Page, Value, chapter
from checkout_integration.admin.pressing import ButtonScreen
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import Word, brief_incident, incident_meaning
from checkout_integration.models import Incident, Notification, Order

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

OPEN = Word(gettext_lazy("open"), "bad", sign="!")
RESOLVED = Word(gettext_lazy("resolved"), "good")


def _resolve(incident: Incident, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    if not flows.resolve_incident(incident, staff=staff):
        raise Refused(_("Somebody has resolved it already."))
    return _("The incident is resolved.")


RESOLVE = Button(
    name="resolve",
    label=gettext_lazy("Resolve this incident"),
    # The screen is read-only, so Django's own permission to change an incident means this and nothing else.
    permission="change_incident",
    question=gettext_lazy(
        "The incident is marked as looked at, with your name, and leaves the list of open ones. Nothing else changes: no "
        "payment is accepted by it, and no goods are granted."
    ),
    offered=lambda incident: incident.resolved_at is None,
    act=_resolve,
)


@admin.register(Incident)
class IncidentScreen(ButtonScreen):
    """Contradictions, unknown content, payments for nothing sold here."""

    list_display = ("what", "state", "of_order", "about", "recorded")
    list_filter = (
        empty_filter("resolved_at", gettext_lazy("state"), gettext_lazy("open"), gettext_lazy("resolved")),
        ProjectFilter,
        ("recorded_at", admin.DateFieldListFilter),
    )
    list_select_related = ("order",)
    search_fields = ("kind", "order__order_id")
    search_help_text = gettext_lazy("Kind of incident, or order id.")
    unlisted = ("order__document", "order__facts", "order__stamps", "order__conflicts")
    related = ("order", "notification", "resolved_by")
    buttons = (RESOLVE,)
    when_empty = gettext_lazy("No incident: everything that the service told of fits together.")

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(kind=text), Q(order__order_id=text)]

    def page(self, viewer: Viewer, row: Incident) -> Page:
        """The incident's page."""
        return Page(
            badges=[badge(state_of(row))],
            chapters=[
                chapter(
                    _("Incident"),
                    [
                        (_("what"), visible(brief_incident(row.kind))),
                        (_("what that means"), incident_meaning(row.kind)),
                        (_("kind"), visible(row.kind)),
                        (_("detail"), visible(row.detail)),
                        (_("order"), viewer.link(Order, row.order_id, row.order)),
                        (_("notification"), viewer.link(Notification, row.notification_id, row.notification)),
                        (_("project"), visible(row.project)),
                        (_("recorded"), moment(row.recorded_at)),
                        (_("resolved"), moment(row.resolved_at)),
                        (_("resolved by"), short(row.resolved_by) if row.resolved_by else ""),
                    ],
                )
            ],
        )

    @admin.display(description=gettext_lazy("what"))
    def what(self, row: Incident) -> str:
        """The kind in words; its code is on the incident's page."""
        return short(brief_incident(row.kind))

    @admin.display(description=gettext_lazy("state"))
    def state(self, row: Incident) -> Value:
        """Open or resolved."""
        return badge(state_of(row))

    @admin.display(description=gettext_lazy("order"))
    def of_order(self, row: Incident) -> str:
        """The order, if it is about one."""
        return short(row.order) if row.order else NOTHING

    @admin.display(description=gettext_lazy("detail"))
    def about(self, row: Incident) -> str:
        """What was seen."""
        return short(row.detail)

    @admin.display(description=gettext_lazy("recorded"), ordering="recorded_at")
    def recorded(self, row: Incident) -> Value:
        """When it was first seen."""
        return moment(row.recorded_at)


def state_of(incident: Incident) -> Word:
    """Open until somebody resolves it."""
    return RESOLVED if incident.resolved_at else OPEN
