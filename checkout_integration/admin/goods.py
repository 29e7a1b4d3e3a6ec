"""Were the goods granted, and by which receiver? The answer from the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.display import badge, moment, visible
from checkout_integration.admin.page import Answer, Value
from checkout_integration.admin.words import DELIVERY, Word, word
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.policy.verdict import Verdict, VerdictStatus

GRANT: Final = "checkout_paid"
TAKE_BACK: Final = "checkout_reversed"


def goods_answer(
    order: Order, outbox_messages: Sequence[OutboxMessage], runs: Sequence[ReceiverRun]
) -> Answer:
    """In a word whether the buyer has the goods, and a line for each receiver."""
    told = [each for each in runs if each.message.signal in (GRANT, TAKE_BACK)]
    granting = [each for each in told if each.message.signal == GRANT]
    taking = [each for each in told if each.message.signal == TAKE_BACK]
    taken = Words(_("taken back"), _("being taken back"), _("taken back in part"), _("not taken back"))
    granted = Words(_("granted"), _("being granted"), _("granted in part"), _("not granted"))
    if not all(each.message.checkout_id for each in granting):
        # The receiver was not told what was sold: that it returned says nothing of goods.
        granted = Words(
            _("receivers ran"), _("receivers are running"), _("some receivers ran"), _("not granted")
        )
    headline = _progress(taking, taken) or _progress(granting, granted)
    return Answer(
        _("Were the goods granted?"),
        badge(headline or Word(_("not granted"), "calm")),
        [_line(each) for each in told] or [_why_nobody(order, outbox_messages)],
    )


@dataclass(frozen=True)
class Words:
    """How far the receivers of one signal came, in words."""

    done: str
    going: str
    partly: str
    failed: str


def _progress(runs: Sequence[ReceiverRun], words: Words) -> Word | None:
    """One word for the receivers of one signal; None when none ran, or is to run."""
    states = {each.state for each in runs} - {ReceiverRun.State.SUPERSEDED}
    if not states:
        return None
    if ReceiverRun.State.FAILED in states:
        return Word(words.partly if ReceiverRun.State.DONE in states else words.failed, "bad", sign="!")
    return Word(words.done, "good") if states == {ReceiverRun.State.DONE} else Word(words.going, "wait")


def _line(run: ReceiverRun) -> Value:
    state = word(DELIVERY, run.state)
    told = format_html("{} – {}", visible(run.receiver), state.text)
    if run.state == ReceiverRun.State.DONE:
        return format_html("{}, {}", told, moment(run.finished_at))
    if run.error:
        told = format_html(_("{}, attempts: {}, last error: {}"), told, run.attempts, visible(run.error))
    if run.state == ReceiverRun.State.DUE:
        return format_html(_("{}, next attempt: {}"), told, moment(run.due_at))
    return told


def _why_nobody(order: Order, outbox_messages: Sequence[OutboxMessage]) -> str:
    granting = [each for each in outbox_messages if each.signal == GRANT]
    if any(each.state == OutboxMessage.State.NO_RECEIVERS for each in granting):
        return _("Nobody is connected to the signal checkout_paid; see the README, step 5.")
    if granting:
        return _("The receivers of checkout_paid have not been run yet.")
    if Verdict(VerdictStatus(order.verdict)).pays:
        return _(
            "No receiver has been told: another order has paid the checkout, or the payment was taken back first."
        )
    return _("Receivers are told when the payment is verified or accepted.")
