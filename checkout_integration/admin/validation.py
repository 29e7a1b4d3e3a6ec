"""The shop's answers to user.validate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration.admin.display import badge, moment, short, visible
from checkout_integration.admin.filters import ProjectFilter, flag_filter, words_filter
from checkout_integration.admin.page import Page, Value, chapter
from checkout_integration.admin.screen import Screen
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import Word
from checkout_integration.models import CheckoutUser, Notification, ValidationDecision

APPROVED = Word(gettext_lazy("approved"), "good")
REFUSED = Word(gettext_lazy("refused"), "bad")
LATE = Word(gettext_lazy("late"), "warn")
DECIDERS = {decider.value: Word(decider.label) for decider in ValidationDecision.DecidedBy}
LATE_WINDOW = timedelta(days=7)


@admin.register(ValidationDecision)
class ValidationScreen(Screen):
    """Who asked to pay, what was answered and why, and how long it took."""

    list_display = ("customer", "answer", "why", "decider", "seconds", "decided")
    list_filter = (
        flag_filter("approved", gettext_lazy("answer"), gettext_lazy("approved"), gettext_lazy("refused")),
        flag_filter("late", gettext_lazy("time"), gettext_lazy("late"), gettext_lazy("within the budget")),
        words_filter("decided_by", gettext_lazy("decided by"), DECIDERS),
        ProjectFilter,
        ("decided_at", admin.DateFieldListFilter),
    )
    search_fields = ("external_id",)
    search_help_text = gettext_lazy("The customer's id in this shop.")
    related = ("notification", "user")
    when_empty = gettext_lazy(
        "No decision yet. They are made where the project's webhooks are in pre-approval mode; the sandbox has it too."
    )

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(external_id=text)]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list, below how many decisions of the last days were late."""
        return super().changelist_view(request, {"note": late_note(), **(extra_context or {})})

    def page(self, viewer: Viewer, row: ValidationDecision) -> Page:
        """The decision's page."""
        return Page(
            badges=badges_of(row),
            chapters=[
                chapter(
                    _("Decision"),
                    [
                        (_("customer"), viewer.link(CheckoutUser, row.user_id, row.user)),
                        (_("id in this shop"), visible(row.external_id)),
                        (_("code"), visible(row.code)),
                        (_("reason"), visible(row.reason)),
                        (_("decided by"), DECIDERS[row.decided_by].text),
                        (_("failure"), visible(row.failure)),
                        (_("seconds"), f"{row.latency:.3f}"),
                        (_("times received"), str(row.notification.receipts) if row.notification else ""),
                        (_("decided"), moment(row.decided_at)),
                        (_("notification"), viewer.link(Notification, row.notification_id, row.notification)),
                        (_("project"), visible(row.project)),
                    ],
                )
            ],
        )

    @admin.display(description=gettext_lazy("customer"))
    def customer(self, row: ValidationDecision) -> str:
        """The customer's id in this shop."""
        return short(row.external_id)

    @admin.display(description=gettext_lazy("answer"))
    def answer(self, row: ValidationDecision) -> Value:
        """Approved or refused."""
        return badge(answer_of(row))

    @admin.display(description=gettext_lazy("reason"))
    def why(self, row: ValidationDecision) -> str:
        """As the shop's hook said."""
        return short(row.reason or row.code)

    @admin.display(description=gettext_lazy("decided by"))
    def decider(self, row: ValidationDecision) -> Value:
        """The shop's validators, one that failed, or the budget."""
        return DECIDERS[row.decided_by].text

    @admin.display(description=gettext_lazy("seconds"))
    def seconds(self, row: ValidationDecision) -> Value:
        """From the request's arrival to the decision, and whether that was late."""
        taken = f"{row.latency:.3f}"
        return format_html("{} {}", taken, badge(LATE)) if row.late else taken

    @admin.display(description=gettext_lazy("decided"), ordering="decided_at")
    def decided(self, row: ValidationDecision) -> Value:
        """When."""
        return moment(row.decided_at)


def badges_of(decision: ValidationDecision) -> list[SafeString]:
    """Approved or refused, and late."""
    return [badge(answer_of(decision)), *([badge(LATE)] if decision.late else [])]


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


def answer_of(decision: ValidationDecision) -> Word:
    """The answer in words."""
    return APPROVED if decision.approved else REFUSED
