"""The log of notifications."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.applying import APPLY, apply_selected
from checkout_integration.admin.display import NOTHING, badge, moment, pretty_body, short, visible
from checkout_integration.admin.filters import ProjectFilter, words_filter
from checkout_integration.admin.page import Page, Raw, Value, chapter
from checkout_integration.admin.pressing import ButtonScreen
from checkout_integration.admin.search import of_our_projects
from checkout_integration.admin.timeline import lateness
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import NOTIFICATION, Word, word
from checkout_integration.models import Notification, Order
from checkout_integration.protocol.vocabulary import Event

EVENTS = {event.value: Word(event.value) for event in Event}


@admin.register(Notification)
class NotificationScreen(ButtonScreen):
    """Every distinct body of a signed notification, as it came. Refused requests are not stored."""

    list_display = ("told", "state_words", "about", "attempt", "late", "received", "failure_words")
    list_filter = (
        words_filter("state", gettext_lazy("state"), NOTIFICATION),
        words_filter("event", gettext_lazy("event"), EVENTS),
        ProjectFilter,
        ("received_at", admin.DateFieldListFilter),
    )
    ordering = ("-received_at", "-pk")
    search_fields = ("notification_id", "object_id")
    search_help_text = gettext_lazy("Notification id, or the id of the order or user that it tells of.")
    unlisted = ("body",)
    buttons = (APPLY,)
    actions = (apply_selected,)
    when_empty = gettext_lazy(
        "No notification yet. Start the sandbox with “python -m checkout_integration.sandbox”, give it the address of "
        "your webhook, and pay for an order; the README shows how."
    )

    def has_apply_permission(self, request: HttpRequest) -> bool:
        """Whether the viewer may apply notifications: the permission of the list's action."""
        return self.viewer(request).may(APPLY.permission)

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(notification_id=text), of_our_projects(object_id=text)]

    def page(self, viewer: Viewer, row: Notification) -> Page:
        """The notification's page."""
        order = Order.objects.filter(project=row.project, order_id=row.object_id).only("order_id").first()
        sees = viewer.sees_personal_data
        return Page(
            badges=[badge(word(NOTIFICATION, row.state))],
            note=""
            if sees
            else _("The body is hidden: you need the permission “Can see personal data of customers”."),
            chapters=[
                chapter(
                    _("Notification"),
                    [
                        (_("event"), visible(row.event)),
                        (_("id"), visible(row.notification_id)),
                        (_("order"), viewer.link(Order, order.pk, order) if order else ""),
                        (_("tells of"), visible(row.object_id)),
                        (_("live"), {True: _("yes"), False: _("no"), None: ""}[row.live]),
                        (_("project"), visible(row.project)),
                    ],
                ),
                chapter(
                    _("Delivery"),
                    [
                        (_("failure"), visible(row.failure)),
                        (_("tries that failed"), str(row.tries) if row.tries else ""),
                        (_("is applied from"), moment(row.due_at) if row.due_at else ""),
                        (_("attempt"), str(row.delivery_try)),
                        (_("how often this body came"), str(row.receipts)),
                        (_("made"), moment(row.created_at)),
                        (_("first received"), moment(row.received_at)),
                        (_("under way for"), lateness(row)),
                        (_("last received"), moment(row.last_received_at)),
                        (_("attempts end"), moment(row.expires_at)),
                        (_("signed with"), secret_words(row.secret_position)),
                    ],
                ),
            ],
            raws=[Raw(_("Body"), pretty_body(row.body))] if sees and row.body else [],
        )

    @admin.display(description=gettext_lazy("event"))
    def told(self, row: Notification) -> str:
        """What it tells."""
        return short(row.event)

    @admin.display(description=gettext_lazy("state"))
    def state_words(self, row: Notification) -> Value:
        """What became of it."""
        return badge(word(NOTIFICATION, row.state))

    @admin.display(description=gettext_lazy("tells of"))
    def about(self, row: Notification) -> str:
        """The order or user."""
        return short(row.object_id)

    @admin.display(description=gettext_lazy("attempt"))
    def attempt(self, row: Notification) -> str:
        """The attempt, and how often its body came."""
        return f"{row.delivery_try} ({row.receipts}×)" if row.receipts > 1 else str(row.delivery_try)

    @admin.display(description=gettext_lazy("under way for"))
    def late(self, row: Notification) -> str:
        """The time between making and arrival."""
        return lateness(row) or NOTHING

    @admin.display(description=gettext_lazy("received"), ordering="received_at")
    def received(self, row: Notification) -> Value:
        """When it first came."""
        return moment(row.received_at)

    @admin.display(description=gettext_lazy("failure"))
    def failure_words(self, row: Notification) -> str:
        """Why it could not be applied."""
        return short(row.failure)


def secret_words(position: int) -> str:
    """Which secret matched, in words; never the secret."""
    return _("the current secret") if position == 0 else _("previous secret %(n)d") % {"n": position}
