"""What happened to an order, from every table that knows a part of it: newest first, a bounded number of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from checkout_integration.admin.display import badge, moment, pretty_body, short, visible
from checkout_integration.admin.page import Moment, Value
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import (
    ANNOUNCEMENT,
    DELIVERY,
    NOTIFICATION,
    ORDER,
    Word,
    brief_incident,
    word,
)
from checkout_integration.models import (
    Incident,
    Notification,
    Order,
    OutboxMessage,
    ReceiverRun,
    SyncRun,
    Transition,
)

NEWEST: Final = 200
TOLD: Final = ("reason", "renewal", "partial")
"""Arguments of a signal that say something to staff."""
BODIES: Final = 20
"""Of so many notifications the body is shown in the timeline; of the others, on their own page."""


def timeline_of(
    order: Order, viewer: Viewer, outbox_messages: Sequence[OutboxMessage], runs: Sequence[ReceiverRun]
) -> list[Moment]:
    """All moments, newest first. Six statements, however long the history."""
    moments = [
        *_notifications(order, viewer),
        *_transitions(order, viewer),
        *_announcements(outbox_messages),
        *_deliveries(runs, viewer),
        *_incidents(order, viewer),
        *_staff_acts(order),
    ]
    return sorted(moments, key=lambda each: (each.at, each.rank), reverse=True)


def age(span: timedelta) -> str:
    """A span in its largest unit, for "arrived 10 min later"."""
    seconds = int(abs(span).total_seconds())
    for size, unit in ((86_400, _("days")), (3_600, _("h")), (60, _("min"))):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} {_('s')}"


def lateness(notification: Notification) -> str:
    """How long the notification was under way, "" when it does not say when it was made."""
    if notification.created_at is None:
        return ""
    return age(notification.received_at - notification.created_at)


def _notifications(order: Order, viewer: Viewer) -> Iterator[Moment]:
    told = Notification.objects.filter(project=order.project, object_id=order.order_id).order_by(
        "-received_at", "-pk"
    )
    bodies: dict[Any, Any] = {}
    if viewer.sees_personal_data:
        bodies = dict(told.values_list("pk", "body")[:BODIES])
    for each in told.defer("body")[:NEWEST]:
        yield Moment(
            at=each.received_at,
            rank=0,
            source=_("notification"),
            actor=_("the service"),
            text=viewer.link(Notification, each.pk, each.event),
            badge=badge(word(NOTIFICATION, each.state)),
            details=list(_about(each)),
            raw=pretty_body(bodies.get(each.pk)),
        )


def _about(notification: Notification) -> Iterator[Value]:
    attempt = _("delivery attempt %(number)d") % {"number": notification.delivery_try}
    late = lateness(notification)
    yield f"{attempt}, {_('under way for %(time)s') % {'time': late}}" if late else attempt
    if notification.receipts > 1:
        last = moment(notification.last_received_at)
        yield format_html(_("came {} times, last at {}"), notification.receipts, last)
    if notification.failure:
        yield visible(notification.failure, longest=300)


def _transitions(order: Order, viewer: Viewer) -> Iterator[Moment]:
    told = Transition.objects.filter(order=order).select_related("notification", "sync_run", "staff")
    for each in told.defer("notification__body").order_by("-pk")[:NEWEST]:
        before, after = word(ORDER, each.from_status), word(ORDER, each.to_status)
        text = f"{before.text} → {after.text}" if each.from_status else f"{after.text}"
        if each.from_status == each.to_status:
            text = _("payment accepted")
        yield Moment(
            at=each.recorded_at,
            rank=1,
            source=_("staff") if each.staff else _("status"),
            actor=str(each.staff) if each.staff else _cause(each),
            text=text,
            badge=badge(after),
            details=[detail for detail in (_origin(each, viewer), visible(each.reason)) if detail],
        )


def _cause(transition: Transition) -> str:
    causes = {"notification": _("a notification"), "list": _("the sync"), "creation": _("this shop")}
    return causes.get(transition.source, transition.source)


def _origin(transition: Transition, viewer: Viewer) -> Value:
    if transition.notification:
        return viewer.link(Notification, transition.notification_id, transition.notification)
    if transition.sync_run:
        return viewer.link(SyncRun, transition.sync_run_id, transition.sync_run)
    return ""


def _announcements(outbox_messages: Sequence[OutboxMessage]) -> Iterator[Moment]:
    for each in outbox_messages:
        yield Moment(
            at=each.recorded_at,
            rank=2,
            source=_("signal"),
            actor=_("this app"),
            text=visible(each.signal),
            badge=badge(word(ANNOUNCEMENT, each.state)),
            details=[visible(f"{key}: {each.arguments[key]}") for key in TOLD if each.arguments.get(key)],
        )


def _deliveries(runs: Sequence[ReceiverRun], viewer: Viewer) -> Iterator[Moment]:
    for each in runs:
        attempts = ngettext("%(n)d attempt", "%(n)d attempts", each.attempts) % {"n": each.attempts}
        failed = _("last error: %(error)s") % {"error": visible(each.error)} if each.error else ""
        yield Moment(
            at=each.finished_at or _last_known(each),
            rank=3,
            source=_("receiver"),
            actor=visible(each.receiver),
            text=viewer.link(ReceiverRun, each.pk, each.message.signal),
            badge=badge(word(DELIVERY, each.state)),
            details=[detail for detail in (attempts, failed) if detail],
        )


def _last_known(run: ReceiverRun) -> datetime:
    """A run that is not finished stands where it was announced; when it is due is no event yet."""
    return run.message.recorded_at


def _incidents(order: Order, viewer: Viewer) -> Iterator[Moment]:
    told = Incident.objects.filter(order=order).select_related("resolved_by").order_by("-recorded_at", "-pk")
    for each in told[:NEWEST]:
        state = Word(_("resolved"), "good") if each.resolved_at else Word(_("open"), "bad", sign="!")
        yield Moment(
            at=each.recorded_at,
            rank=4,
            source=_("incident"),
            actor=_("this app"),
            text=viewer.link(Incident, each.pk, brief_incident(each.kind)),
            badge=badge(state),
            details=[visible(each.detail, longest=300)] if each.detail else [],
        )


def _staff_acts(order: Order) -> Iterator[Moment]:
    acts = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(Order), object_id=str(order.pk)
    )
    for each in acts.select_related("user").order_by("-action_time", "-pk")[:NEWEST]:
        yield Moment(
            at=each.action_time,
            rank=5,
            source=_("staff"),
            actor=short(each.user),
            text=visible(each.get_change_message()),
        )
