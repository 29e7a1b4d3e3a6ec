"""What was paid, what is left of it, and whether it pays for a sale: answers that follow what became of the payment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.display import NOTHING, badge, money
from checkout_integration.admin.page import Answer, Value
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import ORDER, VERDICT, incident_meaning, reason_of, word
from checkout_integration.models import Checkout, Order
from checkout_integration.policy.facts import DOUBLE_LOSS, PAID_AND_CANCELED
from checkout_integration.policy.state import LISTED_REJECTED_WITH_TRANSACTION, SETTLED_KINDS, OrderState
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

DOUBTS: Final = (PAID_AND_CANCELED, LISTED_REJECTED_WITH_TRANSACTION)
"""Contradictions of an order that is not paid, though money may have moved."""
BEFORE: Final = {
    OrderStatus.REFUNDED: gettext_lazy("%(net)s before the refund of %(sum)s"),
    OrderStatus.CHARGEBACK: gettext_lazy("%(net)s before the chargeback of %(sum)s"),
}
JUDGED: Final = (VerdictStatus.VERIFIED, VerdictStatus.ACCEPTED, VerdictStatus.REVIEW)
"""Verdicts whose meaning speaks of goods."""


def paid_answer(order: Order, state: OrderState) -> Answer:
    """What the buyer paid; the price alone where no money is known to have come."""
    question, price = _("What did the buyer pay?"), money(order.amount, order.currency)
    if state.status not in SETTLED_KINDS:
        asked = _("the price is %(price)s") % {"price": price} if price != NOTHING else ""
        return Answer(question, _not_settled(state), [asked, *_doubts(state)])
    charged = money(order.charge_amount, order.charge_currency)
    details = [_("for a price of %(price)s") % {"price": price}] if charged not in (NOTHING, price) else []
    if order.tax_amount is not None:
        details.append(_("tax: %(tax)s") % {"tax": money(order.tax_amount, order.tax_currency)})
    if order.refund_amount is not None:
        details.append(_("given back: %(sum)s") % {"sum": money(order.refund_amount, order.refund_currency)})
    return Answer(question, price if charged == NOTHING else charged, details)


def received_answer(order: Order, state: OrderState) -> Answer:
    """What the service said that the shop receives. What is left after a refund it does not say, so nobody is told a sum."""
    question = _("What does the shop receive?")
    if state.status not in SETTLED_KINDS:
        return Answer(question, _not_settled(state))
    net = money(order.net_revenue_amount, order.net_revenue_currency)
    if net == NOTHING:
        return Answer(question, NOTHING, [_("The service has not said.")])
    fee = money(order.fee_amount, order.fee_currency)
    return Answer(question, _before_loss(order, state, net), [_("after a fee of %(fee)s") % {"fee": fee}])


def verdict_answer(order: Order, state: OrderState, viewer: Viewer) -> Answer:
    """The verdict, with its reason, and what it means for the goods."""
    details: list[Value] = [reason_of(order.verdict_reason), _meaning(order, state)]
    if order.checkout:
        details.append(
            format_html(_("Checkout: {}"), viewer.link(Checkout, order.checkout_id, order.checkout))
        )
    verdict = badge(word(VERDICT, order.verdict))
    return Answer(_("Does it pay for a sale?"), verdict, [each for each in details if each])


def _not_settled(state: OrderState) -> str:
    if _doubts(state):
        return _("not certain")
    waits = state.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return _("nothing yet") if waits else _("nothing")


def _doubts(state: OrderState) -> list[StrOrPromise]:
    return [incident_meaning(each) for each in DOUBTS if each in state.contradictions]


def _before_loss(order: Order, state: OrderState, net: str) -> str:
    """The sum before what went back, which is not taken off it: it may be in another currency."""
    if state.status not in BEFORE:
        return net
    lost = money(order.refund_amount, order.refund_currency)
    unknown = lost == NOTHING or DOUBLE_LOSS in state.contradictions  # then it may be the refund's
    return BEFORE[state.status] % {"net": net, "sum": _("an unknown amount") if unknown else lost}


def _meaning(order: Order, state: OrderState) -> StrOrPromise:
    """What the verdict means; it is about a success, whatever became of that later."""
    if state.stands or order.verdict not in JUDGED:
        return word(VERDICT, order.verdict).meaning
    status = word(ORDER, order.status)
    return _("The order is %(state)s: no goods are to be granted.") % {"state": status.text}
