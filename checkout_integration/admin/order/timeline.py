"""The timeline of an order, from all tables that have a part of it: newest last, a limited number of each kind.

What happened has the service's time, where the service says it; how the app learned or did it is of the engine room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration.admin.order.payment import reversed_at
from checkout_integration.admin.screens.notifications import delay_of
from checkout_integration.admin.screens.receiver_runs import run_state
from checkout_integration.admin.screens.staff_acts import person
from checkout_integration.admin.site import labels
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.labels import Text, label_of
from checkout_integration.admin.site.products import paid_at, recipient_of
from checkout_integration.admin.site.reasons import REASONS, incident_label, reason_label
from checkout_integration.admin.site.values import (
    NOTHING,
    Value,
    badge,
    moment,
    money,
    pretty_body,
    short,
    visible,
)
from checkout_integration.models import (
    Incident,
    Notification,
    Order,
    OutboxMessage,
    ReceiverRun,
    Refund,
    StaffAct,
    Transition,
)
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.protocol.vocabulary import OrderStatus

NEWEST: Final = 200
SHOWN_ARGUMENTS: Final = {"renewal": gettext_lazy("a renewal"), "partial": gettext_lazy("only a part")}
"""Arguments of a signal that help staff, where they are true; beside them its reason."""
SIGNALS_IN_WORDS: Final = {
    "checkout_abandoned": gettext_lazy("left unpaid: the shop's code may remind the customer")
}
"""Signals that are moments of the payment itself; what the others are about is shown beside them."""
BODIES: Final = 20
"""Notifications of which the timeline shows the body; the body of the others is on their own page."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of a timeline. ``rank`` orders what happened at the same instant: causes before effects.

    ``engine``: how the app learned or did it, which is folded.
    """

    at: datetime
    rank: int
    source: Text
    actor: Value = ""
    text: Value
    badge: Value = ""
    details: Sequence[Value] = ()
    raw: str = ""
    engine: bool = False

    @property
    def when(self) -> Value:
        """The time, in the zone of the page."""
        return moment(self.at)


def timeline_of(
    order: Order,
    viewer: Viewer,
    history: Sequence[Transition],
    messages: Sequence[OutboxMessage],
    runs: Sequence[ReceiverRun],
    incidents: Sequence[Incident],
    reversals: Sequence[Refund],
) -> list[Moment]:
    """Return all moments, newest last. Five statements, however long the history."""
    acts = viewer.address(StaffAct, "changelist") if viewer.may("view_staffact") else ""
    moments = [
        *_ordered(order, viewer),
        *_notifications(order, viewer),
        *_transitions(order, history, viewer, acts, reversals),
        *_messages(messages),
        *_runs(runs, viewer),
        *_incidents(incidents, viewer),
        *_staff_acts(order, acts),
    ]
    return sorted(moments, key=lambda moment: (moment.at, moment.rank))


def _ordered(order: Order, viewer: Viewer) -> Iterator[Moment]:
    if order.created_at:
        recipient = recipient_of(order, viewer)
        text: Value = format_html(_("ordered, as a gift for {}"), recipient) if recipient else _("ordered")
        yield Moment(at=order.created_at, rank=-1, source=_("order"), text=text)
    checkout = order.checkout
    if checkout and checkout.claimed_at and checkout.paid_order_id == order.pk:
        yield _claimed(checkout.claimed_at, checkout.user)


def _claimed(at: datetime, account: Any) -> Moment:
    text: Value = _("claimed by an account that is deleted since")
    if account:
        text = format_html(_("claimed by the account {}"), short(account))
    return Moment(at=at, rank=5, source=_("order"), text=text)


def _notifications(order: Order, viewer: Viewer) -> Iterator[Moment]:
    about = Notification.objects.about_orders(order.project, [order.order_id])
    notifications = about.order_by("-received_at", "-pk")
    bodies: dict[Any, Any] = {}
    if viewer.sees_personal_data:
        bodies = dict(notifications.values_list("pk", "body")[:BODIES])
    for notification in notifications.defer("body")[:NEWEST]:
        yield Moment(
            at=notification.received_at,
            rank=0,
            source=_("notification"),
            actor=_("the service"),
            text=viewer.link(Notification, notification.pk, notification.event),
            badge=badge(label_of(labels.NOTIFICATION_STATES, notification.state)),
            details=list(_delivery_details(notification)),
            raw=pretty_body(bodies.get(notification.pk)),
            engine=True,
        )


def _delivery_details(notification: Notification) -> Iterator[Value]:
    attempt = {"number": notification.delivery_try, "time": delay_of(notification)}
    if attempt["time"]:
        yield _("delivery attempt %(number)d, took %(time)s") % attempt
    else:
        yield _("delivery attempt %(number)d") % attempt
    if notification.receipts > 1:
        last = moment(notification.last_received_at)
        text = _("received {times} times, last at {at}")
        yield format_html(text, times=notification.receipts, at=last)
    if notification.failure:
        yield visible(notification.failure, longest=300)


def history_of(order: Order) -> list[Transition]:
    """Return the newest changes of its status and acts of staff, the newest first."""
    transitions = Transition.objects.filter(order=order).select_related("notification", "sync_run", "staff")
    return list(transitions.defer("notification__body").order_by("-pk")[:NEWEST])


LATER: Final = timedelta(minutes=1)
"""A change that was learned so long after the service's time says so."""


def _transitions(
    order: Order, history: Sequence[Transition], viewer: Viewer, acts: str, reversals: Sequence[Refund]
) -> Iterator[Moment]:
    times: dict[str, datetime | None] = {
        OrderStatus.PROCESSED.value: paid_at(order.facts),
        OrderStatus.CANCELED.value: order.canceled_at,
        **{status.value: reversed_at(order, reversals, status) for status in REVERSALS},
    }
    reached = Counter(each.to_status for each in history if each.from_status != each.to_status)
    for transition in history:
        status, moved = transition.to_status, transition.from_status != transition.to_status
        at = times.get(status) if moved and not transition.act and reached[status] == 1 else None
        details: list[Value] = [_origin(transition, viewer), visible(transition.reason)]
        if moved and status in REVERSALS and (recipient := recipient_of(order, viewer)):
            details.append(format_html(_("the goods were a gift for {}"), recipient))
        if moved and status in REVERSALS and reached[status] == 1:
            own = [each for each in reversals if each.status == status and each.amount is not None]
            details.insert(0, ", ".join(money(each.amount, each.currency) for each in own))
        if at and abs(transition.recorded_at - at) > LATER:
            details.insert(0, format_html(_("learned here {}"), moment(transition.recorded_at)))
        elif moved and at is None and status == OrderStatus.PROCESSED and _is_late(order, transition):
            details.insert(0, _("learned here at this time: the service has not said when it was paid"))
        yield Moment(
            at=at or transition.recorded_at,
            rank=1,
            source=_("staff") if transition.actor else _("status"),
            actor=person(transition, acts) or _cause(transition),
            text=_what_changed(transition),
            badge=badge(label_of(labels.ORDER_STATUSES, status)) if transition.act and moved else "",
            details=[detail for detail in details if detail],
            engine=status == OrderStatus.CREATED and order.created_at is not None and not transition.act,
        )


def _is_late(order: Order, transition: Transition) -> bool:
    """Return whether the app learned of a change long after the order was made, so that its time is not the change's."""
    return order.created_at is not None and transition.recorded_at - order.created_at > LATER


def _what_changed(transition: Transition) -> str:
    """Return the new status, the act of staff, or both."""
    after, act = label_of(labels.ORDER_STATUSES, transition.to_status).text, transition.get_act_display()
    if transition.from_status == transition.to_status:
        return act or _("decision of staff")
    return f"{act}: {after}" if act else str(after)


def _cause(transition: Transition) -> str:
    causes = {"notification": _("a notification"), "list": _("the sync"), "creation": _("this shop")}
    return causes.get(transition.source, transition.source)


def _origin(transition: Transition, viewer: Viewer) -> Value:
    origin = transition.notification or transition.sync_run
    return viewer.row(origin) if origin else ""


def _messages(messages: Sequence[OutboxMessage]) -> Iterator[Moment]:
    for message in messages:
        yield Moment(
            at=message.recorded_at,
            rank=2,
            source=_("signal"),
            actor=_("this app"),
            text=SIGNALS_IN_WORDS.get(message.signal) or visible(message.signal),
            badge=badge(label_of(labels.MESSAGE_STATES, message.state)),
            details=list(_argument_details(message.arguments)),
            engine=message.signal not in SIGNALS_IN_WORDS,
        )
        if message.signal == "checkout_paid" and message.grant and message.grant.acknowledged_at:
            yield Moment(
                at=message.grant.acknowledged_at,
                rank=3,
                source=_("game server"),
                actor=_("a game server"),
                text=_("the goods were acknowledged as delivered"),
            )


def _argument_details(arguments: Mapping[str, Any]) -> Iterator[Value]:
    if code := arguments.get("reason"):
        yield short(reason_label(code) if code in REASONS else incident_label(code))
    yield from (text for name, text in SHOWN_ARGUMENTS.items() if arguments.get(name))


def _act_of(run: ReceiverRun) -> Text:
    """Return what a run of the shop's code is for. Without a checkout it does not learn what to deliver."""
    if run.message.signal == "checkout_paid":
        return _("delivery") if run.message.checkout_id else _("code of the shop, without a checkout")
    return _("taking back") if run.message.signal == "checkout_reversed" else run.message.signal


def _runs(runs: Sequence[ReceiverRun], viewer: Viewer) -> Iterator[Moment]:
    for run in runs:
        attempts = ngettext("%(n)d attempt", "%(n)d attempts", run.attempts) % {"n": run.attempts}
        failed = _("last error: %(error)s") % {"error": visible(run.error)} if run.error else ""
        yield Moment(
            # An unfinished run has the time of its signal: its due time is no event yet.
            at=run.finished_at or run.message.recorded_at,
            rank=3,
            source=_("receiver"),
            actor=visible(run.receiver),
            text=viewer.link(ReceiverRun, run.pk, _act_of(run)),
            badge=badge(run_state(run)),
            details=[detail for detail in (attempts, failed, _postponed(run)) if detail],
            engine=run.message.signal not in ("checkout_paid", "checkout_reversed"),
        )


def _postponed(run: ReceiverRun) -> str:
    text = _("waits for: %(cause)s") if run.is_postponed else _("waited for: %(cause)s")
    return text % {"cause": visible(run.postponed_for)} if run.postponed_for else ""


def incidents_of(order: Order) -> list[Incident]:
    """Return the newest incidents of an order, the newest first."""
    newest = Incident.objects.filter(order=order).select_related("staff").order_by("-recorded_at", "-pk")
    return list(newest[:NEWEST])


def _incidents(incidents: Sequence[Incident], viewer: Viewer) -> Iterator[Moment]:
    for incident in incidents:
        yield Moment(
            at=incident.recorded_at,
            rank=4,
            source=_("incident"),
            actor=_("this app"),
            text=viewer.link(Incident, incident.pk, incident_label(incident.kind)),
            badge=badge(labels.incident_state(incident)),
            details=list(_incident_details(incident)),
        )


def _incident_details(incident: Incident) -> Iterator[Value]:
    """Yield what it says, and who resolved it when: the moment itself is when it was opened."""
    if incident.detail:
        yield visible(incident.detail, longest=300)
    if incident.resolved_at and not incident.ended_itself:
        who = short(incident.actor or NOTHING)
        yield format_html(_("resolved {} by {}"), moment(incident.resolved_at), who)


def _staff_acts(order: Order, acts: str) -> Iterator[Moment]:
    """Yield what is not in the order's history, which is shown above: also what was done to its customer."""
    whom = Q(order=order) | Q(customer=order.user_id) if order.user_id else Q(order=order)
    rows = StaffAct.objects.filter(whom).exclude(act__in=Transition.Act.values)
    for act in rows.select_related("staff", "account").order_by("-pk")[:NEWEST]:
        if act.act == StaffAct.Act.UNCLAIM:
            yield _claimed(datetime.fromisoformat(act.detail), act.account)  # the checkout knows it no more
        whose = short(act.account) if act.account else ""
        yield Moment(
            at=act.recorded_at,
            rank=5,
            source=_("staff"),
            actor=person(act, acts) or NOTHING,
            text=act.get_act_display(),
            details=[visible(detail) for detail in (whose, act.receiver, act.reason) if detail],
        )
