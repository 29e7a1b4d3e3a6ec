"""The runs of receivers: one for each receiver of each signal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.site import (
    ORDER_DOCUMENTS,
    OVERDUE,
    RUN_STATES,
    Button,
    ButtonAdmin,
    Choices,
    DateFilter,
    ReadOnlyInline,
    Refused,
    StateLabel,
    Value,
    choice_filter,
    folded_traceback,
    label_filter,
    label_of,
)
from checkout_integration.conf import app_settings
from checkout_integration.models import FailedAttempt, Order, OutboxMessage, ReceiverRun

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    Runs: TypeAlias = QuerySet[ReceiverRun]


def _run_again(run: ReceiverRun, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    if not flows.operations.retry_run(run, staff=staff):
        raise Refused(_("Nothing changed: it is already due, running or done."))
    return _("The receiver is due now.")


def run_state(run: ReceiverRun) -> StateLabel:
    """Return the label of a run's state; a run that has lasted longer than RECEIVER_DEADLINE has its own."""
    deadline = datetime.now(UTC) - timedelta(seconds=app_settings().receiver_deadline)
    if run.state == ReceiverRun.State.RUNNING and run.due_at <= deadline:
        return OVERDUE
    return label_of(RUN_STATES, run.state)


def _retried() -> Choices:
    """Return the choice of runs that failed and wait for their next attempt. An index finds them."""
    later = Q(state=ReceiverRun.State.DUE, due_at__gt=datetime.now(UTC))
    return {"yes": (_("failed, retried later"), later)}


RUN_AGAIN = Button(
    name="run-again",
    label=gettext_lazy("Run this receiver again"),
    # The screen is read-only, so Django's own permission to change a run means this and nothing else.
    permission="change_receiverrun",
    question=gettext_lazy(
        "This receiver has not completed for this signal. It becomes due now: if it waits for its next attempt, it keeps its "
        "count; if it was given up, it gets ten new attempts. Writes of failed attempts to this database were rolled back; "
        "other effects, such as an e-mail, may happen twice. If the payment was refunded or charged back, nothing is granted."
    ),
    offered=flows.operations.is_retryable,
    act=_run_again,
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
    csv_columns = (
        *("receiver", "message__signal", "message__order__order_id", "message__grant__order__order_id"),
        *("state", "attempts", "error", "message__recorded_at", "due_at", "finished_at"),
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
        (None, {"fields": ("state", "receiver", "message", "order", "attempts", "error")}),
        (gettext_lazy("Times"), {"fields": ("recorded_at", "running_since", "due_at", "finished_at")}),
    )
    inlines = (FailedAttemptsInline,)
    buttons = (RUN_AGAIN,)
    headings = {
        "message": gettext_lazy("signal"),
        "signal": gettext_lazy("signal"),
        "order": gettext_lazy("order"),
        "error": gettext_lazy("last error"),
        "recorded_at": gettext_lazy("recorded"),
        "running_since": gettext_lazy("running since"),
        "due_or_finished": gettext_lazy("due or finished"),
    }

    def get_search_results(self, request: HttpRequest, queryset: Runs, search_term: str) -> tuple[Runs, bool]:
        """Return the runs of an order: those that its page shows too."""
        text = search_term.strip()
        if not text:
            return queryset, False
        orders = list(Order.objects.filter(order_id=text).only("checkout"))
        return queryset.filter(message__in=OutboxMessage.objects.about(orders)), False

    def state(self, row: ReceiverRun) -> StateLabel:
        """Return the state."""
        return run_state(row)

    def signal(self, row: ReceiverRun) -> str:
        """Return the name of the signal."""
        return row.message.signal

    def message(self, row: ReceiverRun) -> OutboxMessage:
        """Return the message, named by its signal."""
        return row.message

    def order(self, row: ReceiverRun) -> Order | None:
        """Return the order that the signal is about."""
        return row.order

    def recorded_at(self, row: ReceiverRun) -> datetime:
        """Return when the signal was recorded."""
        return row.message.recorded_at

    def running_since(self, row: ReceiverRun) -> datetime | None:
        """Return since when it has been running."""
        return row.due_at if row.state == ReceiverRun.State.RUNNING else None

    def due_at(self, row: ReceiverRun) -> datetime | None:
        """Return when it is due."""
        return None if row.finished_at or row.state == ReceiverRun.State.RUNNING else row.due_at

    def due_or_finished(self, row: ReceiverRun) -> datetime:
        """Return when it finished, or is due."""
        return row.finished_at or row.due_at
