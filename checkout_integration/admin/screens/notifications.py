"""The log of notifications, and the application of those that wait, after a preview of what would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.site.buttons import Button, ButtonAdmin, Refused
from checkout_integration.admin.site.filters import (
    Choices,
    DateFilter,
    ProjectFilter,
    choice_filter,
    days_filter,
    label_filter,
)
from checkout_integration.admin.site.labels import (
    CHECKOUT_STATUSES,
    NOTIFICATION_STATES,
    ORDER_STATUSES,
    VERDICTS,
    StateLabel,
    Text,
    label_of,
)
from checkout_integration.admin.site.reasons import incident_label, reason_label
from checkout_integration.admin.site.values import NOTHING, Table, visible
from checkout_integration.conf import app_settings
from checkout_integration.flows.monitoring import span
from checkout_integration.models import Notification, Order
from checkout_integration.protocol.vocabulary import Event

if TYPE_CHECKING:
    from checkout_integration.flows.inbox import Application
    from checkout_integration.flows.ledger import ChangePreview


def application_in_words(application: Application) -> str:
    """Return what came of a notification: the changes, or why there are none."""
    if application.changes and not application.reason:
        return "; ".join(", ".join(_parts(change)) for change in application.changes)
    return without_changes(application)


def without_changes(application: Application) -> str:
    """Return the state of a notification that changes nothing, with the reason where it is not applied."""
    state = str(label_of(NOTIFICATION_STATES, application.state).text)
    text = _in_words(application.reason) or (_("nothing changes") if application.applied else "")
    return f"{state}: {text}" if text else state


RULES: Final = (
    gettext_lazy("created_at lies more than two days in the future"),
    gettext_lazy("the order has no id"),
)
"""Reasons of `policy.quarantine`, for the collectors of texts."""


def _in_words(reason: str) -> str:
    """Return why a notification is not applied: a rule in the active language, or the place in the code."""
    return visible(_(reason)) if reason else ""


def change_cells(change: ChangePreview) -> list[str]:
    """Return the changes of an order, its verdict and its checkout, then signals and incidents."""
    return [
        f"{visible(change.order_id)}: {_order_step(change)}",
        _step(verdict_in_words(change.verdict_before), verdict_in_words(change.verdict_after)),
        _checkout_step(change) if change.checkout else NOTHING,
        ", ".join(change.signals) or NOTHING,
        _incidents(change) or NOTHING,
    ]


def verdict_in_words(verdict: str) -> str:
    """Return a verdict of a preview, "review (amount)", in words."""
    status, _bracket, reason = verdict.rstrip(")").partition(" (")
    text = str(label_of(VERDICTS, status).text)
    return f"{text} ({reason_label(reason)})" if reason else text


def _parts(change: ChangePreview) -> Iterator[str]:
    yield _("order %(order)s: %(step)s") % {"order": visible(change.order_id), "step": _order_step(change)}
    verdicts = verdict_in_words(change.verdict_before), verdict_in_words(change.verdict_after)
    yield _("check: %(step)s") % {"step": _step(*verdicts)}
    if change.checkout:
        names = {"checkout": visible(change.checkout), "step": _checkout_step(change)}
        yield _("checkout %(checkout)s: %(step)s") % names
    yield _("to the shop's code: %(names)s") % {"names": ", ".join(change.signals) or NOTHING}
    if change.incidents:
        yield _("incidents: %(kinds)s") % {"kinds": _incidents(change)}


def _order_step(change: ChangePreview) -> str:
    after = _word(ORDER_STATUSES, change.status_after)
    return _step(
        _word(ORDER_STATUSES, change.status_before) if change.status_before else _("not known"), after
    )


def _checkout_step(change: ChangePreview) -> str:
    words = (_word(CHECKOUT_STATUSES, status) for status in (change.checkout_before, change.checkout_after))
    return _step(*words)


def _word(labels: Mapping[str, StateLabel], code: str) -> str:
    return str(label_of(labels, code).text)


def _incidents(change: ChangePreview) -> str:
    return ", ".join(str(incident_label(kind)) for kind in change.incidents)


def _step(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"


def preview_tables(rows: Sequence[Notification]) -> list[Table]:
    """Return the changes that each of these notifications would make now, if it alone were applied."""
    lines = [line for row in rows for line in _preview(row)]
    columns = [
        _("notification"),
        _("becomes"),
        _("order"),
        _("check"),
        _("checkout"),
        _("to the shop's code"),
        _("incidents"),
    ]
    return [Table(_("What would change"), columns, lines)]


def _preview(row: Notification) -> list[list[Any]]:
    name = visible(str(row))
    try:
        application = flows.operations.preview_notification(row, again=True)
    except flows.operations.NotApplicable as error:
        return [[name, str(error), *[NOTHING] * 5]]
    if not application.changes:
        return [[name, without_changes(application), *[NOTHING] * 5]]
    state = str(label_of(NOTIFICATION_STATES, application.state).text)
    return [[name, state, *change_cells(change)] for change in application.changes]


def _apply(row: Notification, staff: AbstractBaseUser, values: Mapping[str, Any]) -> Text:
    try:
        application = flows.operations.apply_notification(row, staff=staff)
    except flows.operations.NotApplicable as error:
        raise Refused(str(error)) from None
    if not application.applied:
        why = _("It could not be applied. %(why)s") % {"why": application_in_words(application)}
        raise Refused(
            f"{why} "
            + _("Search for its order, and ask the service: the list has what it says of the order.")
        )
    return _("Applied. %(what)s") % {"what": application_in_words(application)}


APPLY: Final = Button(
    name="apply",
    label=gettext_lazy("Apply this notification"),
    permission="apply_notification",
    question=gettext_lazy(
        "The notification is applied as if it had just arrived, at the current time. If it can be applied, its incident is "
        "resolved."
    ),
    offered=lambda row: row.state in flows.operations.WAITING and bool(row.body),
    act=_apply,
    preview=preview_tables,
)


APPLY_SELECTED: Final = replace(
    APPLY,
    name="apply_selected",
    label=gettext_lazy("Apply the selected notifications"),
    # Oldest first, as they would have been applied.
    chosen=lambda rows: flows.operations.waiting_notifications().filter(pk__in=[row.pk for row in rows]),
)
MOST_LOOKED_AT: Final = 1_000
"""How many of the newest notifications say whether a previous secret is in use."""
EVENTS = {event.value: StateLabel(event.value) for event in Event}


def _has_previous_secret() -> bool:
    return any(each.previous_secret_keys for each in app_settings().projects.values())


def _secrets() -> Choices:
    """Return the choices while a secret is rotated; there is no index of it, since they are few and new."""
    previous = {"previous": (_("a previous secret"), Q(secret_position__gt=0))}
    return previous if _has_previous_secret() else {}


@admin.register(Notification)
class NotificationAdmin(ButtonAdmin):
    """Every distinct body of a signed notification, as it was received. Refused requests are not stored."""

    list_display = ("event", "state", "object_id", "attempt", "delay", "received_at", "failure", "secret")
    list_filter = (
        label_filter("state", gettext_lazy("state"), NOTIFICATION_STATES),
        label_filter("event", gettext_lazy("event"), EVENTS),
        choice_filter("signed", gettext_lazy("signed with"), _secrets),
        ProjectFilter,
        days_filter("received_at"),
        ("received_at", DateFilter),
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
        "delay": gettext_lazy("delay"),
        "tries": gettext_lazy("failed attempts to apply it"),
        "due_at": gettext_lazy("next attempt after"),
        "notification_id": gettext_lazy("id"),
        "delivery_try": gettext_lazy("delivery attempt"),
        "receipts": gettext_lazy("times received"),
        "last_received_at": gettext_lazy("last received"),
        "expires_at": gettext_lazy("delivery attempts end"),
        "secret": gettext_lazy("signed with"),
    }
    labels = {"state": NOTIFICATION_STATES}
    personal_fields = ("body",)
    buttons = (APPLY,)
    list_buttons = (APPLY_SELECTED,)
    when_empty = gettext_lazy(
        "No notification yet. Start the sandbox with “python manage.py checkout_sandbox”, and pay for an order; "
        "docs/quickstart.md shows how."
    )

    def get_list_display(self, request: HttpRequest) -> Any:
        """Leave out the secret where no project has a previous one, and no newest notification was signed with one."""
        shown = super().get_list_display(request)
        is_shown = _has_previous_secret() or _is_previous_used()
        return shown if is_shown else [each for each in shown if each.name != "secret"]

    def attempt(self, row: Notification) -> str:
        """Return the delivery attempt, and how often the body was received."""
        return f"{row.delivery_try} ({row.receipts}×)" if row.receipts > 1 else str(row.delivery_try)

    def failure(self, row: Notification) -> str:
        """Return why it is not applied."""
        return _in_words(row.failure)

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


def _is_previous_used() -> bool:
    newest = Notification.objects.order_by("-received_at").values_list("secret_position", flat=True)
    return any(newest[:MOST_LOOKED_AT])


def delay_of(notification: Notification) -> str:
    """Return how long the notification was on its way, and whether it first came after its attempts were to end (WHK-06).

    It is "" when the notification does not say when it was created.
    """
    came, end = notification.received_at, notification.expires_at
    if notification.created_at is None:
        return ""
    seconds = int((came - notification.created_at).total_seconds())
    on_its_way = span(abs(seconds))
    if seconds < 0:
        return _("%(span)s before the time that it has") % {"span": on_its_way}
    if end is not None and came > end:
        return _("%(span)s, later than the service announced") % {"span": on_its_way}
    return on_its_way
