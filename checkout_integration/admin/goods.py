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
from checkout_integration.models import Announcement, Delivery, Order
from checkout_integration.policy.verdict import Verdict, VerdictStatus

GRANT: Final = "checkout_paid"
TAKE_BACK: Final = "checkout_reversed"


def goods_answer(
    order: Order, announcements: Sequence[Announcement], deliveries: Sequence[Delivery]
) -> Answer:
    """In a word whether the buyer has the goods, and a line for each receiver."""
    told = [each for each in deliveries if each.announcement.signal in (GRANT, TAKE_BACK)]
    granting = [each for each in told if each.announcement.signal == GRANT]
    taking = [each for each in told if each.announcement.signal == TAKE_BACK]
    taken = Words(_("taken back"), _("being taken back"), _("taken back in part"), _("not taken back"))
    granted = Words(_("granted"), _("being granted"), _("granted in part"), _("not granted"))
    if not all(each.announcement.checkout_id for each in granting):
        # The receiver was not told what was sold: that it returned says nothing of goods.
        granted = Words(
            _("receivers ran"), _("receivers are running"), _("some receivers ran"), _("not granted")
        )
    headline = _progress(taking, taken) or _progress(granting, granted)
    return Answer(
        _("Were the goods granted?"),
        badge(headline or Word(_("not granted"), "calm")),
        [_line(each) for each in told] or [_why_nobody(order, announcements)],
    )


@dataclass(frozen=True)
class Words:
    """How far the receivers of one signal came, in words."""

    done: str
    going: str
    partly: str
    failed: str


def _progress(deliveries: Sequence[Delivery], words: Words) -> Word | None:
    """One word for the receivers of one signal; None when none ran, or is to run."""
    states = {each.state for each in deliveries} - {Delivery.State.SUPERSEDED}
    if not states:
        return None
    if Delivery.State.PARKED in states:
        return Word(words.partly if Delivery.State.DONE in states else words.failed, "bad", sign="!")
    return Word(words.done, "good") if states == {Delivery.State.DONE} else Word(words.going, "wait")


def _line(delivery: Delivery) -> Value:
    state = word(DELIVERY, delivery.state)
    told = format_html("{} – {}", visible(delivery.receiver), state.text)
    if delivery.state == Delivery.State.DONE:
        return format_html("{}, {}", told, moment(delivery.finished_at))
    if delivery.error:
        told = format_html(
            _("{}, attempts: {}, last error: {}"), told, delivery.attempts, visible(delivery.error)
        )
    if delivery.state == Delivery.State.DUE:
        return format_html(_("{}, next attempt: {}"), told, moment(delivery.due_at))
    return told


def _why_nobody(order: Order, announcements: Sequence[Announcement]) -> str:
    granting = [each for each in announcements if each.signal == GRANT]
    if any(each.state == Announcement.State.NO_RECEIVERS for each in granting):
        return _("Nobody is connected to the signal checkout_paid; see the README, step 5.")
    if granting:
        return _("The receivers of checkout_paid have not been run yet.")
    if Verdict(VerdictStatus(order.verdict)).pays:
        return _(
            "No receiver has been told: another order has paid the checkout, or the payment was taken back first."
        )
    return _("Receivers are told when the payment is verified or accepted.")
