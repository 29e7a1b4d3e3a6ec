"""The outbox: the runs of receivers, and the message of each signal that they received."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration import dispatch, flows
from checkout_integration.admin.screens.failures import FailureGroup, failures, under_way
from checkout_integration.admin.site import filters
from checkout_integration.admin.site.buttons import Button, ButtonAdmin, ReasonForm
from checkout_integration.admin.site.fields import Viewer, group
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


def run_state(run: ReceiverRun) -> StateLabel:
    """Return the label of a run's state; a run that has lasted longer than RECEIVER_DEADLINE has its own."""
    deadline = datetime.now(UTC) - timedelta(seconds=app_settings().receiver_deadline)
    if run.state == ReceiverRun.State.RUNNING and run.due_at <= deadline:
        return OVERDUE
    if run.is_postponed:
        return POSTPONED
    return label_of(RUN_STATES, run.state)


def _retried() -> filters.Choices:
    """Return the choice of runs that failed and wait for their next attempt. An index finds them."""
    later = Q(state=ReceiverRun.State.DUE, due_at__gt=datetime.now(UTC))
    return {
        "yes": (_("failed, retried later"), later & Q(postponed_for="")),
        "postponed": (_("postponed by the shop's code"), later & ~Q(postponed_for="")),
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
    operation=lambda run, **values: flows.operations.pause_receiver(run.receiver, **values),
    refused=gettext_lazy("Nothing changed: no process has had this code."),
    done=lambda run, n: format_html(_("The code is paused. Runs that wait: {}."), runs_that_wait(n)),
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
    operation=lambda run, staff: flows.operations.resume_receiver(run.receiver, staff=staff),
    refused=gettext_lazy("Nothing changed: this code is not paused."),
    done=lambda run, due: (
        _("The code is resumed: every process knows it within a minute. Runs that are due: %(n)d.")
        % {"n": due}
    ),
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
    operation=lambda run, staff: flows.operations.retire_receiver(run.receiver, staff=staff),
    refused=gettext_lazy(
        "Nothing changed: a process with this receiver works, or has in the last five minutes."
    ),
    done=lambda run, ended: _("The receiver is retired. Runs that ended: %(n)d.") % {"n": ended},
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
    operation=flows.operations.retry_run,
    refused=gettext_lazy("Nothing changed: it is already due, running or done."),
    done=lambda run, due: _("The receiver is due now."),
)


def _preview(groups: Sequence[FailureGroup], viewer: Viewer | None = None, empty: str = "") -> list[Table]:
    rows = [
        [
            (_("code of the shop"), visible(each.receiver)),
            (_("where"), visible(each.place)),
            (_("runs"), shown_number(len(each.runs))),
            (_("customers"), shown_number(each.customers)),
            (_("amount"), ", ".join(each.money)),
            (_("oldest"), moment(each.first)),
            (_("newest"), moment(each.last)),
            (_("last attempt"), moment(each.tried)),
            (_("newest orders"), lines([_order(viewer, *order) for order in each.orders])),
        ]
        for each in groups
    ]
    return [Table(_("What failed"), rows, empty)]


def _order(viewer: Viewer | None, key: int, name: str) -> str:
    return viewer.link(Order, key, name) if viewer else visible(name)


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


def _run_all(group: FailureGroup, *, staff: AbstractBaseUser) -> Text:
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
    operation=_run_all,
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
    state = staticmethod(run_state)
    when_empty = gettext_lazy("No receiver has received this signal.")

    def receiver(self, row: ReceiverRun) -> ReceiverRun:
        """Return the run itself, which is linked."""
        return row


@admin.register(ReceiverRun)
class ReceiverRunAdmin(ButtonAdmin):
    """Receiver runs: how often the receiver was attempted, whether it completed, and where it failed."""

    list_display = ("receiver", "message__signal", "state", "attempts", "error", "order", "due_or_finished")
    list_filter = (
        filters.label_filter("state", gettext_lazy("state"), RUN_STATES),
        filters.choice_filter("retried", gettext_lazy("retried"), _retried),
        ("due_at", filters.DateFilter),
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
        group(None, "state receiver message order attempts error postponed_for"),
        group(gettext_lazy("Times"), "message__recorded_at running_since due_at postponed_since finished_at"),
    )
    inlines = (FailedAttemptsInline,)
    buttons = (RUN_AGAIN, PAUSE, RESUME, RETIRE)
    headings = {
        "message": gettext_lazy("signal"),
        "error": gettext_lazy("last error"),
    }
    state = staticmethod(run_state)

    def search_conditions(self, viewer: Viewer, text: str) -> list[Q]:
        """Return the condition of the runs of an order: those that its page shows too."""
        orders = list(Order.objects.filter(order_id=text).only("checkout"))
        return [Q(message__in=OutboxMessage.objects.about(orders))]

    def error(self, row: ReceiverRun) -> Value:
        """Return the class of the last exception, or what the shop's code waits for."""
        return (
            _("waits for: %(cause)s") % {"cause": visible(row.postponed_for)}
            if row.is_postponed
            else row.error
        )

    def running_since(self, row: ReceiverRun) -> datetime | None:
        """Return since when it has been running."""
        return row.due_at if row.state == ReceiverRun.State.RUNNING else None

    def due_at(self, row: ReceiverRun) -> datetime | None:
        """Return when it is due."""
        return None if row.finished_at or row.state == ReceiverRun.State.RUNNING else row.due_at

    def postponed_for(self, row: ReceiverRun) -> str:
        """Return what it waits for; "" once it has ended, whose cause the order's timeline keeps."""
        waits = row.is_postponed or row.state == ReceiverRun.State.PAUSED
        return row.postponed_for if waits else ""

    def due_or_finished(self, row: ReceiverRun) -> datetime:
        """Return when it finished, or is due."""
        return row.finished_at or row.due_at


def _who_paused(receiver: str) -> str:
    acts = StaffAct.objects.filter(act=StaffAct.Act.PAUSE, receiver=receiver).select_related("staff")
    newest = acts.order_by("-recorded_at").first()
    return short(newest.actor or NOTHING) if newest else NOTHING


def _resume_link(pause: flows.operations.Pause, viewer: Viewer) -> Value:
    """Return a link to the page of a run, where the code is resumed."""
    runs = ReceiverRun.objects.filter(receiver=pause.receiver)
    run = runs.filter(state=ReceiverRun.State.PAUSED).order_by("due_at", "pk").first()
    if run is None:  # nothing waits yet: any run has the button
        run = runs.filter(due_at__gte=pause.since - timedelta(days=7)).order_by("due_at").last()
    if run is None or not viewer.may(RESUME.permission):
        return NOTHING
    address = viewer.address(ReceiverRun, RESUME.name, run.pk)
    return format_html('<a class="button" href="{}">{}</a>', address, RESUME.label)


def _paused(viewer: Viewer, pauses: Sequence[flows.operations.Pause]) -> Table:
    """Return what staff have paused."""
    rows = [
        [
            (_("code of the shop"), visible(pause.receiver)),
            (_("since"), moment(pause.since)),
            (_("by"), _who_paused(pause.receiver)),
            (_("reason"), visible(pause.reason)),
            (_("runs that wait"), runs_that_wait(pause.runs)),
            ("", _resume_link(pause, viewer)),
        ]
        for pause in pauses
    ]
    return Table(_("Paused by staff"), rows)


@admin.register(Failures)
class FailuresAdmin(ReportAdmin, ButtonAdmin):
    """The entry "Failures" of the index: what failed in the shop's code, in groups."""

    title = gettext_lazy("What failed in the shop's code")
    template = "failures.html"
    view_permission = "view_receiverrun"

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return the groups, and what is paused."""
        viewer, count, pauses = self.viewer(request), under_way(), flows.operations.pauses()
        groups = failures(sees_places=viewer.may("view_failedattempt"))
        text = ngettext("%(n)s run is under way.", "%(n)s runs are under way.", count)
        acts = [(each, viewer.address(ReceiverRun, PAUSE.name, each.runs[-1])) for each in groups]
        return {
            "tables": [*_preview(groups, viewer, _nothing_failed(count, pauses)), _paused(viewer, pauses)],
            "under_way": text % {"n": shown_number(count)} if count else "",
            "groups": acts if viewer.may(RUN_ALL.permission) else [],
            "button": RUN_ALL,
            "pause": PAUSE,
        }

    def changelist_view(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """Show the page; on POST ask whether to run all of a group again, then do it."""
        if request.method != "POST":
            return super().changelist_view(request, extra_context)
        viewer = self.viewer(request)
        may_run = self.has_view_permission(request) and viewer.may(RUN_ALL.permission)
        if not may_run:
            raise PermissionDenied
        back = self.address_of("changelist")
        groups = failures(sees_places=viewer.may("view_failedattempt"))
        group = next((each for each in groups if each.key == request.POST.get("group")), None)
        if group is None:
            messages.warning(request, _("Nothing changed: these runs have not failed, or run already."))
            return HttpResponseRedirect(back)
        if "confirmed" not in request.POST:
            hidden = [("group", group.key), ("confirmed", "yes")]
            context = {"title": self.title, "heading": _("What failed"), "hidden": hidden}
            return self.confirmation(RUN_ALL, request, [group], back, **context)
        assert isinstance(request.user, AbstractBaseUser)
        messages.success(request, str(self.press(RUN_ALL, request, group, {})))
        dispatch.dispatch_due()
        return HttpResponseRedirect(back)


@admin.register(OutboxMessage)
class OutboxMessageAdmin(ReadOnlyAdmin):
    """A signal, the order that it is about, and the runs of its receivers."""

    list_display = ("signal", "state", "order", "recorded_at")
    list_filter = (
        filters.label_filter("state", gettext_lazy("state"), MESSAGE_STATES),
        filters.label_filter("signal", gettext_lazy("signal"), {name: StateLabel(name) for name in SIGNALS}),
        filters.ProjectFilter,
    )
    list_select_related = ("order",)
    list_deferred = ORDER_DOCUMENTS
    sortable = {"recorded_at": "pk"}
    search_fields = ("order__order_id",)
    search_help_text = gettext_lazy("Order id.")
    page_related = ("order", "checkout")
    fieldsets = (group(None, "signal state order checkout project recorded_at all_arguments"),)
    inlines = (RunsInline,)
    headings = {"all_arguments": gettext_lazy("arguments")}
    labels = {"state": MESSAGE_STATES}
