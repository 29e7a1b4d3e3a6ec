"""What staff did and looked up: who, when, from where, why, and on what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model, Q
from django.utils.html import format_html
from django.utils.translation import gettext_lazy

from checkout_integration.admin.site import filters
from checkout_integration.admin.site.fields import group
from checkout_integration.admin.site.labels import COUNTED_ROWS, StateLabel
from checkout_integration.admin.site.large_tables import ORDER_DOCUMENTS, of_account
from checkout_integration.admin.site.read_only import ReadOnlyAdmin
from checkout_integration.admin.site.values import Value, short
from checkout_integration.display import shown_number
from checkout_integration.models import StaffAct, Transition
from checkout_integration.models.actor import ActedBy

ACTS: Final[Mapping[str, StateLabel]] = {
    code: StateLabel(label) for code, label in [*Transition.Act.choices, *StaffAct.Act.choices]
}
ORIGINS: Final = {code: StateLabel(label) for code, label in StaffAct.Origin.choices}


def person(row: ActedBy, acts: str) -> Value:
    """Return who acted, as a link to all that they did, where ``acts`` is the address of the list; "" for nobody."""
    name = row.staff.get_username() if row.staff else row.system_user
    if not name or not acts:
        return short(row.actor) if name else ""
    return format_html('<a href="{}?{}">{}</a>', acts, urlencode({"person": name}), short(row.actor))


def _of_person(name: str) -> Q:
    return Q(*of_account(name, "staff"), system_user=name, _connector=Q.OR)


@admin.register(StaffAct)
class StaffActAdmin(ReadOnlyAdmin):
    """Every act of staff, newest first, by person and by day; each leads to what it was about."""

    list_display = ("recorded_at", "act", "by", "about", "details", "reason")
    list_filter = (
        filters.text_filter(
            gettext_lazy("person"),
            ("person", gettext_lazy("login name, or system's user"), "search", _of_person),
        ),
        filters.days_filter("recorded_at"),
        filters.label_filter("act", gettext_lazy("what"), ACTS),
        filters.label_filter("origin", gettext_lazy("from"), ORIGINS),
        filters.ProjectFilter,
    )
    list_select_related = ("staff", "customer", "order", "incident", "notification", "account")
    list_deferred = (*ORDER_DOCUMENTS, "notification__body")
    ordering = ("-recorded_at", "-pk")
    sortable = {"recorded_at": "recorded_at"}
    search_fields = ("order__order_id",)
    search_help_text = gettext_lazy("Order id.")
    page_related = list_select_related
    fieldsets = (
        group(None, "act recorded_at origin by reason"),
        group(
            gettext_lazy("On what"),
            "order customer account incident notification receiver detail project counts",
        ),
    )
    headings = {
        "act": gettext_lazy("what"),
        "origin": gettext_lazy("from"),
        "about": gettext_lazy("on what"),
        "details": gettext_lazy("detail"),
        "recorded_at": gettext_lazy("when"),
        "counts": gettext_lazy("rows"),
    }
    labels = {"act": ACTS, "origin": ORIGINS}
    personal_fields = ("reason",)
    linked = ("about",)
    when_empty = gettext_lazy("Nobody has done or looked up anything yet.")

    def by(self, row: StaffAct) -> Value:
        """Return who acted: an account, or the system's user."""
        return person(row, self.address_of("changelist"))

    def about(self, row: StaffAct) -> Model | None:
        """Return what it was about, which is linked."""
        return row.order or row.customer or row.incident or row.notification

    def details(self, row: StaffAct) -> str:
        """Return the account, the code of the shop, the list, or how many rows."""
        detail = "" if row.act == StaffAct.Act.UNCLAIM else row.detail  # a time, in the story of its order
        return row.receiver or detail or ", ".join(map(str, filter(None, (row.account, self.counts(row)))))

    def counts(self, row: StaffAct) -> str:
        """Return how many rows of each kind."""
        counted = ((COUNTED_ROWS.get(name, name), count) for name, count in row.counts.items() if count)
        return ", ".join(f"{what}: {shown_number(count)}" for what, count in counted)
