"""The buttons of an order about its receivers: run them now, or mark their goods as granted by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.order.money import payment_table
from checkout_integration.admin.site import (
    RUN_STATES,
    Button,
    ConfirmForm,
    ReasonForm,
    Refused,
    label_of,
    one_of,
    some_of,
    visible,
)
from checkout_integration.models import Order, ReceiverRun

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def run_text(run: ReceiverRun) -> str:
    """Return a run as a choice: its receiver, signal and state, with its attempts and last error."""
    state = label_of(RUN_STATES, run.state).text
    parts = [f"{visible(run.receiver)} ({run.message.signal}): {state}"]
    if run.attempts:
        parts.append(_("attempts: %(n)d") % {"n": run.attempts})
    if run.error:
        parts.append(_("last error: %(error)s") % {"error": visible(run.error)})
    return ", ".join(parts)


def retry_runs(runs: Iterable[ReceiverRun], staff: AbstractBaseUser) -> str:
    """Make runs due now; return in words what changed, or that nothing did."""
    due = [visible(run.receiver) for run in runs if flows.operations.retry_run(run, staff=staff)]
    if not due:
        return ""
    return _("These receivers run again now: %(receivers)s.") % {"receivers": ", ".join(due)}


class RunForm(ConfirmForm):
    """A form with the receivers that have not completed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the runs of the order."""
        super().__init__(*args, **kwargs)
        runs = flows.operations.retryable_runs([self.row]).select_related("message")
        self.fields["runs"] = some_of(list(runs), run_text, _("Receivers"))


class MarkForm(ReasonForm):
    """A form with the receivers whose goods staff can grant by hand, and a reason."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the runs of the order."""
        super().__init__(*args, **kwargs)
        runs = flows.operations.markable_runs(self.row).select_related("message")
        self.fields = {"run": one_of(list(runs), run_text, _("Receiver")), **self.fields}


def _run(order: Order, staff: AbstractBaseUser, values: Mapping[str, Any]) -> StrOrPromise:
    changed = retry_runs(values["runs"], staff)
    if not changed:
        raise Refused(_("Nothing changed: these receivers are already due, running or done."))
    return changed


def _mark(order: Order, staff: AbstractBaseUser, values: Mapping[str, Any]) -> StrOrPromise:
    run: ReceiverRun = values["run"]
    if not flows.operations.mark_granted(run, staff=staff, reason=values["reason"]):
        raise Refused(_("Nothing changed: the receiver is running or done, or the payment was reversed."))
    return _("Marked as granted by hand: %(receiver)s. It counts as done.") % {
        "receiver": visible(run.receiver)
    }


RUN: Final = Button(
    name="run",
    label=gettext_lazy("Run receivers now"),
    # The screen of runs is read-only, so Django's own permission to change a run means this and nothing else.
    permission="change_receiverrun",
    question=gettext_lazy(
        "These receivers have not completed. They run now: one that waits for its next attempt keeps its count, one that was "
        "given up gets ten new attempts. Writes of failed attempts to this database were rolled back; other effects, such as "
        "an e-mail, may happen twice. If the payment was refunded or charged back, nothing is granted."
    ),
    form=RunForm,
    offered=lambda order: flows.operations.retryable_runs([order]).exists(),
    act=_run,
    logged=lambda values: ", ".join(visible(run.receiver) for run in values["runs"]),
)
MARK_GRANTED: Final = Button(
    name="mark-granted",
    label=gettext_lazy("Mark as granted by hand"),
    permission="mark_granted",
    question=gettext_lazy(
        "You have granted the goods of this receiver by hand. It counts as done and does not run any more. If the payment is "
        "refunded or charged back, the goods are revoked as usual."
    ),
    form=MarkForm,
    writes_own_log=True,
    offered=lambda order: flows.operations.markable_runs(order).exists(),
    act=_mark,
    preview=lambda order: [payment_table(order)],
    logged=lambda values: f"{visible(values['run'].receiver)} {values['reason']}",
)
