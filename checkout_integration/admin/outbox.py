"""The outbox: signals that were announced, and their runs to receivers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.buttons import Button, Refused
from checkout_integration.admin.display import NOTHING, badge, moment, pretty, short, visible
from checkout_integration.admin.failures import failures_of_run
from checkout_integration.admin.filters import ProjectFilter, words_filter
from checkout_integration.admin.page import Answer, Page, Raw, Table, Value, chapter
from checkout_integration.admin.pressing import ButtonScreen
from checkout_integration.admin.screen import Screen
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import ANNOUNCEMENT, DELIVERY, OVERDUE, Word, word
from checkout_integration.conf import app_settings
from checkout_integration.flows.support import NOT_DONE
from checkout_integration.models import Checkout, Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import SIGNALS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ORDER_DOCUMENTS = ("order__document", "order__facts", "order__stamps", "order__conflicts")
NEWEST = 200


def _run_again(run: ReceiverRun, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    if not flows.run_again(run, staff=staff):
        raise Refused(_("It is due or running already, or has run."))
    return _("The receiver is due again.")


def _state_of(run: ReceiverRun) -> Word:
    """Return the word of a run's state; a run that has lasted longer than RECEIVER_DEADLINE has one of its own."""
    deadline = datetime.now(UTC) - timedelta(seconds=app_settings().receiver_deadline)
    return (
        OVERDUE
        if run.state == ReceiverRun.State.RUNNING and run.due_at <= deadline
        else word(DELIVERY, run.state)
    )


def _since(run: ReceiverRun) -> StrOrPromise:
    return _("runs since") if run.state == ReceiverRun.State.RUNNING else _("due")


RUN_AGAIN = Button(
    name="run-again",
    label=gettext_lazy("Run this receiver again"),
    # The screen is read-only, so Django's own permission to change a run means this and nothing else.
    permission="change_receiverrun",
    question=gettext_lazy(
        "This receiver has not done its work for this signal. It becomes due now, with ten new attempts. What failed "
        "attempts wrote in this database was undone; what they did outside it, such as sending a letter, may happen twice. "
        "If the payment was taken back, nothing is granted."
    ),
    offered=lambda run: run.state in NOT_DONE,
    act=_run_again,
)


@admin.register(OutboxMessage)
class AnnouncementScreen(Screen):
    """One row for each signal."""

    list_display = ("name", "state_words", "of_order", "recorded")
    list_filter = (
        words_filter("state", gettext_lazy("state"), ANNOUNCEMENT),
        words_filter("signal", gettext_lazy("signal"), {name: Word(name) for name in SIGNALS}),
        ProjectFilter,
    )
    list_select_related = ("order",)
    search_fields = ("order__order_id",)
    search_help_text = gettext_lazy("Order id.")
    unlisted = ORDER_DOCUMENTS
    related = ("order", "checkout")

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(order__order_id=text)]

    def page(self, viewer: Viewer, row: OutboxMessage) -> Page:
        """The message's page."""
        state = word(ANNOUNCEMENT, row.state)
        runs = [
            [
                viewer.link(ReceiverRun, each.pk, each.receiver),
                badge(_state_of(each)),
                str(each.attempts),
                visible(each.error) or NOTHING,
                moment(each.finished_at),
            ]
            for each in row.runs.order_by("-pk")[:NEWEST]
        ]
        columns = [_("receiver"), _("state"), _("attempts"), _("last error"), _("finished")]
        return Page(
            badges=[badge(state)],
            note=state.meaning,
            chapters=[
                chapter(
                    _("Signal"),
                    [
                        (_("signal"), visible(row.signal)),
                        (_("order"), viewer.link(Order, row.order_id, row.order)),
                        (_("checkout"), viewer.link(Checkout, row.checkout_id, row.checkout)),
                        (_("project"), visible(row.project)),
                        (_("announced"), moment(row.recorded_at)),
                    ],
                )
            ],
            tables=[Table(_("Receivers"), columns, runs, _("No receiver has been given this signal."))],
            raws=[Raw(_("Arguments (JSON)"), pretty(row.arguments))],
        )

    @admin.display(description=gettext_lazy("signal"))
    def name(self, row: OutboxMessage) -> str:
        """The signal's name."""
        return short(row.signal)

    @admin.display(description=gettext_lazy("state"))
    def state_words(self, row: OutboxMessage) -> Value:
        """Whether receivers have been given it."""
        return badge(word(ANNOUNCEMENT, row.state))

    @admin.display(description=gettext_lazy("order"))
    def of_order(self, row: OutboxMessage) -> str:
        """The order that it is about."""
        return short(row.order) if row.order else NOTHING

    @admin.display(description=gettext_lazy("announced"), ordering="pk")
    def recorded(self, row: OutboxMessage) -> Value:
        """When state changed."""
        return moment(row.recorded_at)


@admin.register(ReceiverRun)
class DeliveryScreen(ButtonScreen):
    """One row for each receiver of each signal."""

    list_display = ("name", "signal", "state_words", "tried", "last_error", "of_order", "due")
    list_filter = (
        words_filter("state", gettext_lazy("state"), DELIVERY),
        ("due_at", admin.DateFieldListFilter),
    )
    list_select_related = ("message__order",)
    search_fields = ("message__order__order_id",)
    search_help_text = gettext_lazy("Order id.")
    unlisted = (*(f"message__{name}" for name in ORDER_DOCUMENTS), "message__arguments")
    related = ("message__order",)
    buttons = (RUN_AGAIN,)

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(message__order__order_id=text)]

    def page(self, viewer: Viewer, row: ReceiverRun) -> Page:
        """The run's page."""
        state = _state_of(row)
        error = _("last error: %(error)s") % {"error": visible(row.error)} if row.error else ""
        return Page(
            badges=[badge(state)],
            answers=[
                Answer(_("What is its state?"), badge(state), [state.meaning] if state.meaning else []),
                Answer(_("How often was it tried?"), str(row.attempts), [error] if error else []),
            ],
            chapters=[
                chapter(
                    _("ReceiverRun"),
                    [
                        (_("receiver"), visible(row.receiver)),
                        (_("signal"), viewer.link(OutboxMessage, row.message_id, row.message)),
                        (_("order"), viewer.link(Order, row.message.order_id, row.order)),
                        (_("announced"), moment(row.message.recorded_at)),
                        (_since(row), "" if row.finished_at else moment(row.due_at)),
                        (_("finished"), moment(row.finished_at)),
                    ],
                )
            ],
            tables=[failures_of_run(row, viewer)],
        )

    @admin.display(description=gettext_lazy("receiver"))
    def name(self, row: ReceiverRun) -> str:
        """The receiver's name."""
        return short(row.receiver)

    @admin.display(description=gettext_lazy("signal"))
    def signal(self, row: ReceiverRun) -> str:
        """What it was told."""
        return short(row.message.signal)

    @admin.display(description=gettext_lazy("state"))
    def state_words(self, row: ReceiverRun) -> Value:
        """What became of it."""
        return badge(_state_of(row))

    @admin.display(description=gettext_lazy("attempts"))
    def tried(self, row: ReceiverRun) -> str:
        """How often it ran."""
        return str(row.attempts)

    @admin.display(description=gettext_lazy("last error"))
    def last_error(self, row: ReceiverRun) -> str:
        """The class of the exception."""
        return short(row.error)

    @admin.display(description=gettext_lazy("order"))
    def of_order(self, row: ReceiverRun) -> str:
        """The order that it is about."""
        return short(row.order) if row.order else NOTHING

    @admin.display(description=gettext_lazy("due or finished"))
    def due(self, row: ReceiverRun) -> Value:
        """When it ran, or will."""
        return moment(row.finished_at or row.due_at)
