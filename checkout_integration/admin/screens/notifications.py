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
from checkout_integration.admin.site import filters
from checkout_integration.admin.site.buttons import Button, ButtonAdmin, Refused
from checkout_integration.admin.site.fields import group
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
    state = _word(NOTIFICATION_STATES, application.state)
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


def _cells(change: ChangePreview) -> list[str]:
    """Return the changes of an order, its verdict and its checkout, then signals and incidents."""
    before = _word(ORDER_STATUSES, change.status_before) if change.status_before else _("not known")
    checkout = (_word(CHECKOUT_STATUSES, each) for each in (change.checkout_before, change.checkout_after))
    return [
        _step(before, _word(ORDER_STATUSES, change.status_after)),
        _step(verdict_in_words(change.verdict_before), verdict_in_words(change.verdict_after)),
        _step(*checkout) if change.checkout else NOTHING,
        ", ".join(change.signals) or NOTHING,
        ", ".join(str(incident_label(kind)) for kind in change.incidents) or NOTHING,
    ]


def verdict_in_words(verdict: str) -> str:
    """Return a verdict of a preview, "review (amount)", in words."""
    status, _bracket, reason = verdict.rstrip(")").partition(" (")
    text = _word(VERDICTS, status)
    return f"{text} ({reason_label(reason)})" if reason else text


def _parts(change: ChangePreview) -> Iterator[str]:
    """Yield the same in sentences."""
    order, verdict, checkout, signals, incidents = _cells(change)
    yield _("order %(order)s: %(step)s") % {"order": visible(change.order_id), "step": order}
    yield _("check: %(step)s") % {"step": verdict}
    if change.checkout:
        names = {"checkout": visible(change.checkout), "step": checkout}
        yield _("checkout %(checkout)s: %(step)s") % names
    yield _("to the shop's code: %(names)s") % {"names": signals}
    if change.incidents:
        yield _("incidents: %(kinds)s") % {"kinds": incidents}


def _word(labels: Mapping[str, StateLabel], code: str) -> str:
    return str(label_of(labels, code).text)


def _step(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"


def preview_tables(rows: Sequence[Notification]) -> list[Table]:
    """Return the changes that each of these notifications would make now, if it alone were applied."""
    columns = (
        *(_("notification"), _("becomes"), _("order"), _("check"), _("checkout")),
        *(_("to the shop's code"), _("incidents")),
    )
    lines = [list(zip(columns, line, strict=True)) for row in rows for line in _preview(row)]
    return [Table(_("What would change"), lines)]


def _preview(row: Notification) -> list[list[str]]:
    name = visible(str(row))
    try:
        application = flows.operations.preview_notification(row, again=True)
    except flows.operations.NotApplicable as error:
        return [[name, str(error), *[NOTHING] * 5]]
    if not application.changes:
        return [[name, without_changes(application), *[NOTHING] * 5]]
    state, rows = _word(NOTIFICATION_STATES, application.state), []
    for change in application.changes:
        order, *others = _cells(change)
        rows.append([name, state, f"{visible(change.order_id)}: {order}", *others])
    return rows


def _apply(row: Notification, *, staff: AbstractBaseUser) -> Text:
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
    operation=_apply,
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


def _secrets() -> filters.Choices:
    """Return the choices while a secret is rotated; there is no index of it, since they are few and new."""
    previous = {"previous": (_("a previous secret"), Q(secret_position__gt=0))}
    return previous if _has_previous_secret() else {}


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


@admin.register(Notification)
class NotificationAdmin(ButtonAdmin):
    """Every distinct body of a signed notification, as it was received. Refused requests are not stored."""

    list_display = ("event", "state", "object_id", "attempt", "delay", "received_at", "failure", "secret")
    list_filter = (
        filters.label_filter("state", gettext_lazy("state"), NOTIFICATION_STATES),
        filters.label_filter("event", gettext_lazy("event"), EVENTS),
        filters.choice_filter("signed", gettext_lazy("signed with"), _secrets),
        filters.ProjectFilter,
        filters.days_filter("received_at"),
        ("received_at", filters.DateFilter),
    )
    list_deferred = ("body",)
    ordering = ("-received_at", "-pk")
    sortable = {"received_at": "received_at"}
    search_fields = ("notification_id", "object_id")
    search_help_text = gettext_lazy("Notification id, or the id of its order or customer.")
    fieldsets = (
        group(None, "event state failure tries due_at"),
        group(gettext_lazy("Content"), "notification_id order object_id live project body"),
        group(
            gettext_lazy("Delivery"),
            "delivery_try receipts created_at received_at delay last_received_at expires_at secret",
        ),
    )
    headings = {
        "object_id": gettext_lazy("order or customer"),
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
    delay = staticmethod(delay_of)
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
