"""The outbox: the runs of receivers, and the message of each signal that they received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration import dispatch, flows
from checkout_integration.admin.screens.failures import FailureGroup, failures, under_way
from checkout_integration.admin.site.buttons import Button, ButtonAdmin, ConfirmForm, ReasonForm, Refused
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.filters import (
    Choices,
    DateFilter,
    ProjectFilter,
    choice_filter,
    label_filter,
)
from checkout_integration.admin.site.labels import (
    MESSAGE_STATES,
    OVERDUE,
    POSTPONED,
    RUN_STATES,
    StateLabel,
    Text,
    label_of,
)
from checkout_integration.admin.site.large_tables import ORDER_DOCUMENTS
from checkout_integration.admin.site.read_only import ReadOnlyAdmin, ReadOnlyInline, ReportAdmin
from checkout_integration.admin.site.values import (
    NOTHING,
    Table,
    Value,
    folded_traceback,
    lines,
    moment,
    moment_text,
    short,
    visible,
)
from checkout_integration.conf import app_settings
from checkout_integration.display import shown_number
from checkout_integration.flows.monitoring import Rows
from checkout_integration.models import FailedAttempt, Failures, Order, OutboxMessage, ReceiverRun, StaffAct
from checkout_integration.signals import SIGNALS


def _run_again(run: ReceiverRun, staff: AbstractBaseUser, values: Mapping[str, Any]) -> Text:
    if not flows.operations.retry_run(run, staff=staff):
        raise Refused(_("Nothing changed: it is already due, running or done."))
    return _("The receiver is due now.")


def run_state(run: ReceiverRun) -> StateLabel:
    """Return the label of a run's state; a run that has lasted longer than RECEIVER_DEADLINE has its own."""
    deadline = datetime.now(UTC) - timedelta(seconds=app_settings().receiver_deadline)
    if run.state == ReceiverRun.State.RUNNING and run.due_at <= deadline:
        return OVERDUE
    if run.is_postponed:
        return POSTPONED
    return label_of(RUN_STATES, run.state)


def _retried() -> Choices:
    """Return the choice of runs that failed and wait for their next attempt. An index finds them."""
    later = Q(state=ReceiverRun.State.DUE, due_at__gt=datetime.now(UTC))
    return {
        "yes": (_("failed, retried later"), later & Q(postponed_for="")),
        "postponed": (_("postponed by the shop's code"), later & ~Q(postponed_for="")),
    }


def _retire(run: ReceiverRun, staff: AbstractBaseUser, values: Mapping[str, Any]) -> Text:
    ended = flows.operations.retire_receiver(run.receiver, staff=staff)
    if ended is None:
        raise Refused(
            _("Nothing changed: a process with this receiver works, or has in the last five minutes.")
        )
    return _("The receiver is retired. Runs that ended: %(n)d.") % {"n": ended}


def _pause(run: ReceiverRun, staff: AbstractBaseUser, values: Mapping[str, Any]) -> Text:
    waiting = flows.operations.pause_receiver(run.receiver, staff=staff, reason=values["reason"])
    if waiting is None:
        raise Refused(_("Nothing changed: no process has had this code."))
    return format_html(_("The code is paused. Runs that wait: {}."), runs_that_wait(waiting))


def _resume(run: ReceiverRun, staff: AbstractBaseUser, values: Mapping[str, Any]) -> Text:
    due = flows.operations.resume_receiver(run.receiver, staff=staff)
    if due is None:
        raise Refused(_("Nothing changed: this code is not paused."))
    return _("The code is resumed: every process knows it within a minute. Runs that are due: %(n)d.") % {
        "n": due
    }


PAUSED: Final = Rows(model="receiverrun", filters={"state": ReceiverRun.State.PAUSED.value})


def runs_that_wait(count: int) -> Value:
    """Return how many runs wait for code that is paused, linked to their list."""
    return format_html('<a href="{}">{}</a>', PAUSED.address, shown_number(count))


def _paused_lines(pause: flows.operations.Pause | None) -> list[Text]:
    if pause is None:
        return []
    since = {"at": moment_text(pause.since), "reason": pause.reason}
    waiting = format_html(_("Runs that wait: {}."), runs_that_wait(pause.runs))
    return [_("Paused since %(at)s: %(reason)s") % since, waiting]


PAUSE: Final = Button(
    name="pause",
    label=gettext_lazy("Pause this code"),
    permission="change_receiverrun",
    question=gettext_lazy(
        "All runs of this code wait until somebody resumes it, those of other orders and of new payments too. What runs now "
        "goes on, and it may take a minute until every process knows. Nothing is lost; health names paid orders that wait."
    ),
    form=ReasonForm,
    danger=True,
    offered=lambda run: flows.operations.pause_of(run.receiver) is None,
    act=_pause,
)
RESUME: Final = Button(
    name="resume",
    label=gettext_lazy("Resume this code"),
    permission="change_receiverrun",
    question=gettext_lazy(
        "All runs of this code that wait are due at once, and so are those of new payments."
    ),
    effects=lambda run: _paused_lines(flows.operations.pause_of(run.receiver)),
    offered=lambda run: flows.operations.pause_of(run.receiver) is not None,
    act=_resume,
)
RETIRE: Final = Button(
    name="retire",
    label=gettext_lazy("This receiver was removed"),
    permission="change_receiverrun",
    question=gettext_lazy(
        "No process knows this receiver. If it was removed for good, say so: it gets no new runs, and all of its unfinished "
        "runs end. Each of them is a customer who has not got what this receiver delivers. If it was only renamed, do not do "
        "this: connect it with formerly=… instead."
    ),
    offered=lambda run: run.state == ReceiverRun.State.UNKNOWN,
    act=_retire,
)
RUN_AGAIN: Final = Button(
    name="run-again",
    label=gettext_lazy("Run this receiver again"),
    # The screen is read-only, so Django's own permission to change a run means this and nothing else.
    permission="change_receiverrun",
    question=gettext_lazy(
        "What has not completed runs now: what waits for its next attempt keeps its count, what was given up gets all its "
        "attempts anew. Before code that failed is corrected this costs an attempt, and the next one comes later than "
        "without it; what the code has postponed costs none. Writes of failed attempts to this database were rolled back; "
        "other effects, such as an e-mail, may happen twice. If the payment was refunded or charged back, nothing is granted."
    ),
    offered=flows.operations.is_retryable,
    act=_run_again,
)


def _preview(groups: Sequence[FailureGroup], viewer: Viewer | None = None, empty: str = "") -> list[Table]:
    columns = [
        _("code of the shop"),
        _("where"),
        _("runs"),
        _("customers"),
        _("amount"),
        _("oldest"),
        _("newest"),
        _("last attempt"),
        _("newest orders"),
    ]
    rows: list[list[Value]] = [
        [
            visible(each.receiver),
            visible(each.place),
            shown_number(len(each.runs)),
            shown_number(each.customers),
            ", ".join(each.money),
            moment(each.first),
            moment(each.last),
            moment(each.tried),
            lines([viewer.link(Order, key, name) if viewer else visible(name) for key, name in each.orders]),
        ]
        for each in groups
    ]
    return [Table(_("What failed"), columns, rows, empty)]


def _nothing_failed(running: int, pauses: Sequence[flows.operations.Pause]) -> str:
    """Return what is known where no run has failed: of what is under way or paused it is not known yet."""
    waiting = sum(pause.runs for pause in pauses)
    known = _("Nothing has failed in the shop's code.")
    if running:
        known = _("What came of the runs that are under way is not known yet: reload this page.")
    elif waiting:
        known = _("Nothing else has failed in the shop's code.")
    paused = _("Runs that wait for code that is paused, below: %(n)s.") % {"n": shown_number(waiting)}
    return f"{known} {paused}" if waiting else known


def _run_all(group: FailureGroup, staff: AbstractBaseUser, values: Mapping[str, Any]) -> Text:
    count = flows.operations.retry_runs(group.runs, receiver=group.receiver, staff=staff)
    return _("Runs of %(receiver)s that are due now: %(n)s.") % {
        "receiver": visible(group.receiver),
        "n": shown_number(count),
    }


RUN_ALL: Final = Button(
    name="run_all",
    label=gettext_lazy("Run all of them again"),
    permission="change_receiverrun",
    question=RUN_AGAIN.question,
    act=_run_all,
    preview=_preview,
)


class FailedAttemptsInline(ReadOnlyInline):
    """Failures of the receiver, newest first: where in the shop's code it failed, for staff who may see that."""

    model = FailedAttempt
    fields = ("failed_at", "attempt", "traceback")
    headings = {"traceback": gettext_lazy("where")}

    def traceback(self, row: FailedAttempt) -> Value:
        """Return the line of the shop's own code, and all lines folded away."""
        return folded_traceback(row.traceback)


class RunsInline(ReadOnlyInline):
    """The receivers of a message."""

    model = ReceiverRun
    fields = ("receiver", "state", "attempts", "error", "finished_at")
    headings = {"error": gettext_lazy("last error")}
    when_empty = gettext_lazy("No receiver has received this signal.")

    def receiver(self, row: ReceiverRun) -> ReceiverRun:
        """Return the run itself, which is linked."""
        return row

    def state(self, row: ReceiverRun) -> StateLabel:
        """Return the state."""
        return run_state(row)


@admin.register(ReceiverRun)
class ReceiverRunAdmin(ButtonAdmin):
    """Receiver runs: how often the receiver was attempted, whether it completed, and where it failed."""

    list_display = ("receiver", "signal", "state", "attempts", "error", "order", "due_or_finished")
    list_filter = (
        label_filter("state", gettext_lazy("state"), RUN_STATES),
        choice_filter("retried", gettext_lazy("retried"), _retried),
        ("due_at", DateFilter),
    )
    list_select_related = ("message__order", "message__grant__order")
    list_deferred = (
        *(f"message__{name}" for name in ORDER_DOCUMENTS),
        *(f"message__grant__{name}" for name in ORDER_DOCUMENTS),
        "message__arguments",
    )
    search_fields = ("message__order__order_id",)
    search_help_text = gettext_lazy("Order id.")
    page_related = ("message__order", "message__grant__order")
    fieldsets = (
        (None, {"fields": ("state", "receiver", "message", "order", "attempts", "error", "postponed_for")}),
        (
            gettext_lazy("Times"),
            {"fields": ("recorded_at", "running_since", "due_at", "postponed_since", "finished_at")},
        ),
    )
    inlines = (FailedAttemptsInline,)
    buttons = (RUN_AGAIN, PAUSE, RESUME, RETIRE)
    headings = {
        "message": gettext_lazy("signal"),
        "error": gettext_lazy("last error"),
        "running_since": gettext_lazy("running since"),
        "due_or_finished": gettext_lazy("due or finished"),
    }

    def search_conditions(self, viewer: Viewer, text: str) -> list[Q]:
        """Return the condition of the runs of an order: those that its page shows too."""
        orders = list(Order.objects.filter(order_id=text).only("checkout"))
        return [Q(message__in=OutboxMessage.objects.about(orders))]

    def state(self, row: ReceiverRun) -> StateLabel:
        """Return the state."""
        return run_state(row)

    def error(self, row: ReceiverRun) -> Value:
        """Return the class of the last exception, or what the shop's code waits for."""
        return (
            _("waits for: %(cause)s") % {"cause": visible(row.postponed_for)}
            if row.is_postponed
            else row.error
        )

    def signal(self, row: ReceiverRun) -> str:
        """Return the name of the signal."""
        return row.message.signal

    def recorded_at(self, row: ReceiverRun) -> datetime:
        """Return when the signal was recorded."""
        return row.message.recorded_at

    def running_since(self, row: ReceiverRun) -> datetime | None:
        """Return since when it has been running."""
        return row.due_at if row.state == ReceiverRun.State.RUNNING else None

    def due_at(self, row: ReceiverRun) -> datetime | None:
        """Return when it is due."""
        return None if row.finished_at or row.state == ReceiverRun.State.RUNNING else row.due_at

    def postponed_for(self, row: ReceiverRun) -> str:
        """Return what it waits for; "" once it has ended, whose cause the order's timeline keeps."""
        return row.postponed_for if row.is_postponed else ""

    def due_or_finished(self, row: ReceiverRun) -> datetime:
        """Return when it finished, or is due."""
        return row.finished_at or row.due_at


def _who_paused(receiver: str) -> str:
    acts = StaffAct.objects.filter(act=StaffAct.Act.PAUSE, receiver=receiver).select_related("staff")
    newest = acts.order_by("-recorded_at").first()
    return short(newest.actor or NOTHING) if newest else NOTHING


@admin.register(Failures)
class FailuresAdmin(ReportAdmin, ButtonAdmin):
    """The entry "Failures" of the index: what failed in the shop's code, in groups."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the viewer may see the runs."""
        return self.viewer(request).may("view_receiverrun")

    def changelist_view(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """Show the groups, and what is paused; on POST ask whether to run all of a group again, then do it."""
        viewer = self.viewer(request)
        if not self.has_view_permission(request):
            raise PermissionDenied
        groups = failures(sees_places=viewer.may("view_failedattempt"))
        may_run = viewer.may(RUN_ALL.permission)
        context: dict[str, Any] = {
            "title": _("What failed in the shop's code"),
            "heading": _("What failed"),
            "tables": _preview(groups, viewer),
        }
        if request.method != "POST":
            count, pauses = under_way(), flows.operations.pauses()
            context["tables"] = _preview(groups, viewer, _nothing_failed(count, pauses))
            text = ngettext("%(n)s run is under way.", "%(n)s runs are under way.", count)
            context |= {"under_way": text % {"n": shown_number(count)} if count else ""}
            context["tables"] += self._paused(viewer, pauses)
            acts = [(each, viewer.address(ReceiverRun, PAUSE.name, each.runs[-1])) for each in groups]
            context |= {"groups": acts if may_run else [], "button": RUN_ALL, "pause": PAUSE}
            context |= {"opts": self.opts, "media": self.media, **self.admin_site.each_context(request)}
            return TemplateResponse(request, "admin/checkout_integration/failures.html", context)
        if not may_run:
            raise PermissionDenied
        back = self.address_of("changelist")
        group = next((each for each in groups if each.key == request.POST.get("group")), None)
        if group is None:
            messages.warning(request, _("Nothing changed: these runs have not failed, or run already."))
            return HttpResponseRedirect(back)
        if "confirmed" not in request.POST:
            hidden = [("group", group.key), ("confirmed", "yes")]
            context |= {"form": ConfirmForm(), "back": back, "hidden": hidden}
            return self.confirmation(RUN_ALL, request, [group], context)
        assert isinstance(request.user, AbstractBaseUser)
        messages.success(request, str(self.press(RUN_ALL, request, group, {})))
        dispatch.dispatch_due()
        return HttpResponseRedirect(back)

    def _paused(self, viewer: Viewer, pauses: Sequence[flows.operations.Pause]) -> list[Table]:
        """Return what staff have paused, with the page of a run where it is resumed."""
        columns = [_("code of the shop"), _("since"), _("by"), _("reason"), _("runs that wait"), ""]
        rows: list[list[Value]] = []
        for pause in pauses:
            runs = ReceiverRun.objects.filter(receiver=pause.receiver)
            run = runs.filter(state=ReceiverRun.State.PAUSED).order_by("due_at", "pk").first()
            if run is None:  # nothing waits yet: any run has the button
                run = runs.filter(due_at__gte=pause.since - timedelta(days=7)).order_by("due_at").last()
            resume: Value = NOTHING
            if run is not None and viewer.may(RESUME.permission):
                address = viewer.address(ReceiverRun, RESUME.name, run.pk)
                resume = format_html('<a class="button" href="{}">{}</a>', address, RESUME.label)
            rows.append(
                [
                    visible(pause.receiver),
                    moment(pause.since),
                    _who_paused(pause.receiver),
                    visible(pause.reason),
                    runs_that_wait(pause.runs),
                    resume,
                ]
            )
        return [Table(_("Paused by staff"), columns, rows)]


@admin.register(OutboxMessage)
class OutboxMessageAdmin(ReadOnlyAdmin):
    """A signal, the order that it is about, and the runs of its receivers."""

    list_display = ("signal", "state", "order", "recorded_at")
    list_filter = (
        label_filter("state", gettext_lazy("state"), MESSAGE_STATES),
        label_filter("signal", gettext_lazy("signal"), {name: StateLabel(name) for name in SIGNALS}),
        ProjectFilter,
    )
    list_select_related = ("order",)
    list_deferred = ORDER_DOCUMENTS
    sortable = {"recorded_at": "pk"}
    search_fields = ("order__order_id",)
    search_help_text = gettext_lazy("Order id.")
    page_related = ("order", "checkout")
    fieldsets = (
        (
            None,
            {"fields": ("signal", "state", "order", "checkout", "project", "recorded_at", "all_arguments")},
        ),
    )
    inlines = (RunsInline,)
    headings = {"all_arguments": gettext_lazy("arguments")}
    labels = {"state": MESSAGE_STATES}
