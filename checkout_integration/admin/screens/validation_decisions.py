"""The shop's responses to user.validate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from checkout_integration.admin.site import filters
from checkout_integration.admin.site.fields import group
from checkout_integration.admin.site.labels import StateLabel
from checkout_integration.admin.site.read_only import ReadOnlyAdmin
from checkout_integration.admin.site.values import Value, badge
from checkout_integration.models import ValidationDecision

RESPONSES = {True: StateLabel(_("approved"), "good"), False: StateLabel(_("refused"), "bad")}
LATE = StateLabel(_("late"), "bad", sign="!")
DECIDERS = {decider.value: StateLabel(decider.label) for decider in ValidationDecision.DecidedBy}
LATE_WINDOW = timedelta(days=7)


@admin.register(ValidationDecision)
class ValidationDecisionAdmin(ReadOnlyAdmin):
    """Which customer started to pay, the response with its reason, and how long it took."""

    list_display = ("external_id", "approved", "why", "decided_by", "latency", "decided_at")
    list_filter = (
        filters.flag_filter("approved", _("response"), _("approved"), _("refused")),
        filters.flag_filter("late", _("time"), _("late"), _("within the budget")),
        filters.label_filter("decided_by", _("decided by"), DECIDERS),
        filters.ProjectFilter,
        ("decided_at", filters.DateFilter),
    )
    ordering = ("-decided_at", "-pk")
    sortable = {"decided_at": "decided_at"}
    search_fields = ("external_id",)
    search_help_text = _("The customer's id in this shop.")
    page_related = ("notification", "user")
    fieldsets = (
        group(None, "approved user external_id code reason decided_by failure"),
        group(_("Request"), "latency receipts decided_at notification project"),
    )
    headings = {
        "external_id": _("customer's id in this shop"),
        "approved": _("response"),
        "why": _("reason"),
        "latency": _("seconds"),
        "receipts": _("times received"),
        "user": _("customer"),
    }
    labels = {"approved": RESPONSES, "decided_by": DECIDERS}
    when_empty = _(
        "No decision yet. Your shop decides only if the project's webhooks are in pre-approval mode; the sandbox has this "
        "mode too."
    )

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return a note on how many decisions of the last days were late."""
        return {"note": late_note()}

    def why(self, row: ValidationDecision) -> str:
        """Return the reason that the shop's hook gave, or its code."""
        return row.reason or row.code

    def latency(self, row: ValidationDecision) -> Value:
        """Return how long the decision took after the request arrived, marked where it was late."""
        seconds = number_format(row.latency, 3)
        return format_html("{} {}", seconds, badge(LATE)) if row.late else seconds

    def receipts(self, row: ValidationDecision) -> int | None:
        """Return how often the request was received."""
        return row.notification.receipts if row.notification else None


def late_note() -> str:
    """Say how many decisions of the last seven days were late; "" where none was."""
    late = ValidationDecision.objects.filter(
        late=True, decided_at__gte=datetime.now(UTC) - LATE_WINDOW
    ).count()
    if not late:
        return ""
    return ngettext(
        "%(late)d decision of the last 7 days took longer than VALIDATE_BUDGET.",
        "%(late)d decisions of the last 7 days took longer than VALIDATE_BUDGET.",
        late,
    ) % {"late": late}
