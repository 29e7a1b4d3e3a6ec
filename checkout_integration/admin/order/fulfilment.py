"""Granted goods and their receivers, from the outbox, and failures of receivers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.labels import POSTPONED, RUN_STATES, StateLabel, label_of
from checkout_integration.admin.site.values import (
    Answer,
    Table,
    Value,
    badge,
    breakable,
    folded_traceback,
    moment,
    visible,
)
from checkout_integration.conf import app_settings
from checkout_integration.flows.monitoring import LONGEST_LEFT
from checkout_integration.flows.outbox import UNFINISHED
from checkout_integration.models import FailedAttempt, Grant, Order, OutboxMessage, Receiver, ReceiverRun
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import Verdict, VerdictStatus

GRANT: Final = "checkout_paid"
REVOKE: Final = "checkout_reversed"
NEWEST_FAILURES: Final = 20
LEFT: Final = gettext_lazy("No code of the shop has taken the goods back: do it by hand.")


def of_newest_grant(runs: Sequence[ReceiverRun]) -> list[ReceiverRun]:
    """Return the runs of the newest grant: an earlier one, which was revoked, says nothing of what the customer has now."""
    newest = max((run.message.grant_id or 0 for run in runs), default=0)
    return [run for run in runs if (run.message.grant_id or 0) == newest]


def of_goods(
    order: Order, state: OrderState, messages: Sequence[OutboxMessage], runs: Sequence[ReceiverRun]
) -> Value:
    """Return in a sentence what became of the goods; "" where nothing of it is known, or something has failed."""
    newest = [run for run in of_newest_grant(runs) if run.state != ReceiverRun.State.SUPERSEDED]
    taking = [run for run in newest if run.message.signal == REVOKE]
    giving = [run for run in newest if run.message.signal == GRANT and run.message.checkout_id]
    gone = state.fully_reversed or order.verdict == VerdictStatus.REVOKED
    grant = max((each.grant for each in messages if each.grant), key=lambda each: each.pk, default=None)
    fetched_at = grant.acknowledged_at if grant else None
    concerned = taking if gone else giving
    ends = [run.finished_at for run in concerned if run.state == ReceiverRun.State.DONE and run.finished_at]
    if len(ends) == len(concerned) and (concerned or (fetched_at and not gone)):
        if grant and grant.pull and not gone:
            # Where a game server has the goods, its acknowledgement says so, whatever code of the shop ran.
            return format_html(_("Delivered {}."), moment(fetched_at)) if fetched_at else ""
        text = _("The goods were taken back {}.") if gone else _("Delivered {}.")
        return format_html(text, moment(max(ends)))
    if any(run.state == ReceiverRun.State.PAUSED for run in concerned):
        reasons = dict.fromkeys(visible(run.paused_for) for run in concerned if run.paused_for)
        text = _("The goods wait: staff have paused the shop's code, and it runs when they resume it.")
        why = _("Their reason: {}.")
        return format_html("{} {}", text, format_html(why, "; ".join(reasons))) if reasons else text
    if causes := dict.fromkeys(run.postponed_for for run in concerned if run.is_postponed):
        return format_html(_("The goods wait: {}."), visible("; ".join(causes)))
    if any(run.state in UNFINISHED for run in concerned):
        text = _("The goods are being taken back.") if gone else _("The goods are being delivered.")
        due = any(run.state == ReceiverRun.State.DUE for run in concerned) and not runs_by_itself()
        return _("The goods wait: the shop's code runs with the next notification.") if due else text
    has_goods = bool(fetched_at) or any(run.state == ReceiverRun.State.DONE for run in giving)
    is_left = gone and has_goods and not _is_unfetched(grant)
    return str(LEFT) if is_left else ""


def mark_paused(runs: Sequence[ReceiverRun]) -> None:
    """Mark the runs whose receiver staff have paused, with the reason: other processes learn of it within a minute."""
    waiting = [run for run in runs if run.state in (ReceiverRun.State.DUE, ReceiverRun.State.PAUSED)]
    paused = Receiver.objects.filter(paused_at__isnull=False) if waiting else Receiver.objects.none()
    reasons = {name: row.paused_for for row in paused for name in (row.name, *row.names)}
    for run in waiting:
        if run.receiver in reasons:
            run.state, run.paused_for = ReceiverRun.State.PAUSED, reasons[run.receiver]


def fulfilment_summary(
    order: Order, messages: Sequence[OutboxMessage], runs: Sequence[ReceiverRun]
) -> Answer:
    """Return in a word whether the customer has the goods by the newest grant, and a line for each receiver."""
    runs = of_newest_grant(runs)
    headline, grant = progress_of(runs), _grant_without_runs(order, messages)
    lines = [_line(run) for run in runs if run.message.signal in (GRANT, REVOKE)]
    if grant and grant.acknowledged_at and headline:
        lines.insert(0, _acknowledged(grant))
    taken = any(run.message.signal == REVOKE and run.state == ReceiverRun.State.DONE for run in runs)
    if grant and (headline is None or (_is_unfetched(grant) and not taken and headline.tone != "bad")):
        label, details = _state_of_grant(grant)
        return Answer(badge(label), [*details, *lines])
    label = headline or StateLabel(_("not granted"), "calm")
    return Answer(badge(label), lines or [_why_no_receiver(order, messages)])


def progress_of(runs: Sequence[ReceiverRun]) -> StateLabel | None:
    """Return in a word what these runs of one grant have done with the goods; None where none ran, or is to run."""
    granting = [run for run in runs if run.message.signal == GRANT]
    revoking = [run for run in runs if run.message.signal == REVOKE]
    revoked = (_("revoked"), _("being revoked"), _("partly revoked"), _("not revoked"))
    granted = (_("granted"), _("being granted"), _("partly granted"), _("not granted"))
    if not all(run.message.checkout_id for run in granting):
        # The receiver got no checkout: its return does not show that goods were granted.
        granted = (_("code ran"), _("code is running"), _("some code ran"), _("not granted"))
    return _progress(revoking, *revoked) or _progress(granting, *granted)


def unfinished_goods(orders: Sequence[Order]) -> dict[int, StateLabel]:
    """Return of which of these orders the goods are not granted, or not revoked, in a word. It is one statement."""
    found: dict[int, list[ReceiverRun]] = {}
    runs = ReceiverRun.objects.filter(message__order__in=orders, message__signal__in=(GRANT, REVOKE))
    for run in runs.select_related("message__grant"):
        # A grant may have been handed to another order, which pays for it now.
        payer = run.message.grant.order_id if run.message.grant else run.message.order_id
        found.setdefault(payer or 0, []).append(run)
    labels = {order: progress_of(of_newest_grant(some)) for order, some in found.items()}
    return {order: label for order, label in labels.items() if label and label.tone != "good"}


def _grant_without_runs(order: Order, messages: Sequence[OutboxMessage]) -> Grant | None:
    """Return the order's grant if its runs may not show what became of it: a game server has it, or they were pruned."""
    shown = any(
        message.signal == GRANT and not (message.grant and message.grant.pull) for message in messages
    )
    if not Verdict(VerdictStatus(order.verdict)).pays or shown:
        return None
    grant = order.grants.order_by("pk").last()
    return grant if grant and (grant.completed or grant.pull) else None


def _acknowledged(grant: Grant) -> Value:
    return format_html(_("a game server – acknowledged {}"), moment(grant.acknowledged_at))


def _state_of_grant(grant: Grant) -> tuple[StateLabel, Sequence[Value]]:
    is_open = grant.state == Grant.State.OPEN
    if grant.pull and not grant.acknowledged_at:
        waits, gone = StateLabel(_("waits for a game server"), "wait"), StateLabel(_("not granted"), "calm")
        return waits if is_open else gone, [_("No game server has acknowledged it.")]
    label = StateLabel(_("granted") if is_open else _("revoked"), "good")
    if grant.acknowledged_at:
        return label, [_acknowledged(grant)]
    text = _("{receiver} – done, its run was pruned")
    return label, [format_html(text, receiver=visible(each)) for each in grant.completed]


def _is_unfetched(grant: Grant | None) -> bool:
    """Return whether the goods are a game server's to fetch, and none has: whatever code of the shop ran, nobody has them."""
    return grant is not None and grant.pull and grant.acknowledged_at is None


def has_failed(run: ReceiverRun) -> bool:
    """Return whether a run was given up, or waits for its next attempt after one that failed."""
    waiting = (ReceiverRun.State.DUE, ReceiverRun.State.UNKNOWN)
    retried = run.state in waiting and run.attempts > 0 and not run.is_postponed
    return run.state == ReceiverRun.State.FAILED or (retried and not is_tried_again(run))


def runs_by_itself() -> bool:
    """Return whether a process runs what is due: with RUNNER "request" it waits for the next notification."""
    return app_settings().runner != "request"


def is_tried_again(run: ReceiverRun) -> bool:
    """Return whether a run that has failed runs now, or is due at this moment: what comes of it is not known yet.

    With RUNNER "request" what is due does not run by itself.
    """
    if run.state == ReceiverRun.State.RUNNING:
        return run.attempts > 1
    lately = datetime.now(UTC) - timedelta(seconds=LONGEST_LEFT)
    is_due = run.state == ReceiverRun.State.DUE and lately < run.due_at <= datetime.now(UTC)
    return runs_by_itself() and is_due and run.attempts > 0 and not run.is_postponed


def _progress(
    runs: Sequence[ReceiverRun], done: str, running: str, partly: str, failed: str
) -> StateLabel | None:
    """Return one label for the receivers of one signal, in these words; None when none ran, or is to run."""
    states = {run.state for run in runs} - {ReceiverRun.State.SUPERSEDED}
    if not states:
        return None
    if ReceiverRun.State.FAILED in states:
        return StateLabel(partly if ReceiverRun.State.DONE in states else failed, "bad", sign="!")
    if any(map(has_failed, runs)) or any(map(is_tried_again, runs)):
        return StateLabel(_("failing, retried later"), "bad", sign="!")
    if states == {ReceiverRun.State.DONE}:
        return StateLabel(done, "good")
    if ReceiverRun.State.PAUSED in states:
        return RUN_STATES[ReceiverRun.State.PAUSED]
    return POSTPONED if any(run.is_postponed for run in runs) else StateLabel(running, "wait")


def _line(run: ReceiverRun) -> Value:
    state = POSTPONED if run.is_postponed else label_of(RUN_STATES, run.state)
    line = format_html("{} – {}", breakable(visible(run.receiver)), state.text)
    if run.state == ReceiverRun.State.DONE:
        return format_html("{}, {}", line, moment(run.finished_at))
    if run.error:
        text = _("{run}, attempts: {attempts}, last error: {error}")
        line = format_html(text, run=line, attempts=run.attempts, error=visible(run.error))
    if run.is_postponed:
        line = format_html(_("{run}, waits for: {cause}"), run=line, cause=visible(run.postponed_for))
    if run.state == ReceiverRun.State.DUE:
        return format_html(_("{run}, next attempt: {at}"), run=line, at=moment(run.due_at))
    return line


def _why_no_receiver(order: Order, messages: Sequence[OutboxMessage]) -> str:
    granting = [message for message in messages if message.signal == GRANT]
    if any(message.state == OutboxMessage.State.NO_RECEIVERS for message in granting):
        return _("No code of the shop is connected to checkout_paid; see docs/quickstart.md, step 3.")
    if granting:
        return _("The shop's code for checkout_paid has not run yet.")
    if Verdict(VerdictStatus(order.verdict)).pays:
        return _(
            "No code of the shop runs: another order has paid the checkout, or the payment was reversed before it ran."
        )
    return _("The shop's code runs when the payment is verified or accepted.")


def failures_table(runs: Sequence[ReceiverRun], viewer: Viewer) -> Table:
    """Return the newest failures of an order's receivers, for staff who may see the shop's code."""
    title = _("Failures of the shop's code")
    if not viewer.may("view_failedattempt"):
        return Table(title, [])
    # Of all runs: one that has completed since, or was made due again, keeps its history.
    newest = FailedAttempt.objects.filter(run__in=[run.pk for run in runs]).select_related("run")
    rows = [
        [
            (_("when"), moment(failure.failed_at)),
            (_("code of the shop"), viewer.link(ReceiverRun, failure.run_id, failure.run.receiver)),
            (_("attempt"), str(failure.attempt)),
            (_("where; the message is not stored"), folded_traceback(failure.traceback)),
        ]
        for failure in newest.order_by("-pk")[:NEWEST_FAILURES]
    ]
    return Table(title, rows)
