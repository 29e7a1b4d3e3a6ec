"""The shop's answers to user.validate."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.display import badge, moment, short, visible
from checkout_integration.admin.filters import ProjectFilter, flag_filter
from checkout_integration.admin.page import Page, Value, chapter
from checkout_integration.admin.screen import Screen
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import Word
from checkout_integration.models import CheckoutUser, Notification, ValidationDecision

APPROVED = Word(gettext_lazy("approved"), "good")
REFUSED = Word(gettext_lazy("refused"), "bad")


@admin.register(ValidationDecision)
class ValidationScreen(Screen):
    """Who asked to pay, what was answered and why, and how long it took."""

    list_display = ("customer", "answer", "why", "seconds", "decided")
    list_filter = (
        flag_filter("approved", gettext_lazy("answer"), gettext_lazy("approved"), gettext_lazy("refused")),
        ProjectFilter,
        ("decided_at", admin.DateFieldListFilter),
    )
    search_fields = ("user__external_id",)
    search_help_text = gettext_lazy("The customer's id in this shop.")
    related = ("notification", "user")
    when_empty = gettext_lazy(
        "No decision yet. They are made where the project's webhooks are in pre-approval mode; the sandbox has it too."
    )

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(user__external_id=text)]

    def page(self, viewer: Viewer, row: ValidationDecision) -> Page:
        """The decision's page."""
        return Page(
            badges=[badge(answer_of(row))],
            chapters=[
                chapter(
                    _("Decision"),
                    [
                        (_("customer"), viewer.link(CheckoutUser, row.user_id, row.user)),
                        (_("id in this shop"), visible(row.external_id)),
                        (_("code"), visible(row.code)),
                        (_("reason"), visible(row.reason)),
                        (_("seconds"), f"{row.latency:.3f}"),
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

    @admin.display(description=gettext_lazy("seconds"))
    def seconds(self, row: ValidationDecision) -> str:
        """From the request's arrival to the decision."""
        return f"{row.latency:.3f}"

    @admin.display(description=gettext_lazy("decided"), ordering="decided_at")
    def decided(self, row: ValidationDecision) -> Value:
        """When."""
        return moment(row.decided_at)


def answer_of(decision: ValidationDecision) -> Word:
    """The answer in words."""
    return APPROVED if decision.approved else REFUSED
