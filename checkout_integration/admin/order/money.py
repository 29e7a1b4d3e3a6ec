"""The paid amount, the shop's revenue, refunds, and whether the payment is for a checkout of this shop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.order.layout import SummaryBox
from checkout_integration.admin.site import (
    NOTHING,
    ORDER_STATUSES,
    VERDICTS,
    Table,
    Value,
    Viewer,
    badge,
    hidden,
    incident_sentence,
    label_of,
    moment,
    money,
    reason_sentence,
    short,
    visible,
)
from checkout_integration.display import shown_amount
from checkout_integration.models import Checkout, Order, Refund, Transition
from checkout_integration.policy.state import LISTED_REJECTED_WITH_TRANSACTION, SETTLED_KINDS, OrderState
from checkout_integration.policy.status import DOUBLE_LOSS, PAID_AND_CANCELED
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MOST_REVERSALS: Final = 200
"""Refunds and chargebacks that the page shows."""
DOUBTS: Final = (PAID_AND_CANCELED, LISTED_REJECTED_WITH_TRANSACTION)
"""Contradictions of an order that is not paid, although the customer may have paid."""
BEFORE: Final = {
    OrderStatus.REFUNDED: gettext_lazy("%(net)s before the refund of %(sum)s"),
    OrderStatus.CHARGEBACK: gettext_lazy("%(net)s before the chargeback of %(sum)s"),
}
DECISIONS: Final = (Transition.Act.ACCEPT, Transition.Act.BIND, Transition.Act.RESTORE)
JUDGED: Final = (VerdictStatus.VERIFIED, VerdictStatus.ACCEPTED, VerdictStatus.REVIEW)
"""Verdicts whose meaning is about goods."""


def paid_summary(order: Order, state: OrderState, viewer: Viewer) -> SummaryBox:
    """Return the paid amount; the price alone where no payment is known."""
    question, price = _("What did the customer pay?"), money(order.amount, order.currency)
    if state.status not in SETTLED_KINDS:
        shown_price = _("the price is %(price)s") % {"price": price} if price != NOTHING else ""
        return SummaryBox(question, _not_settled(state), [shown_price, *_doubts(state)])
    charged = money(order.charge_amount, order.charge_currency)
    details: list[Value] = [_method(order, viewer)]
    if charged not in (NOTHING, price):
        details.append(_("for a price of %(price)s") % {"price": price})
    if order.tax_amount is not None:
        details.append(_("tax: %(tax)s") % {"tax": money(order.tax_amount, order.tax_currency)})
    if order.refund_amount is not None:
        details.append(_("refunded: %(sum)s") % {"sum": _refunded(order)})
    return SummaryBox(question, price if charged == NOTHING else charged, details)


def received_summary(order: Order, state: OrderState) -> SummaryBox:
    """Return the shop's revenue as the service states it. The rest after a refund is not stated, so it is not shown."""
    question = _("What does the shop receive?")
    if state.status not in SETTLED_KINDS:
        return SummaryBox(question, _not_settled(state))
    net = money(order.net_revenue_amount, order.net_revenue_currency)
    if net == NOTHING:
        return SummaryBox(question, NOTHING, [_("The service did not send this amount.")])
    fee = money(order.fee_amount, order.fee_currency)
    return SummaryBox(question, _before_loss(order, state, net), [_("after a fee of %(fee)s") % {"fee": fee}])


def verdict_summary(
    order: Order, state: OrderState, viewer: Viewer, history: Sequence[Transition]
) -> SummaryBox:
    """Return the verdict, with its reason, who decided it, and its meaning for the goods."""
    details: list[Value] = [
        reason_sentence(order.verdict_reason),
        _decided(history),
        _meaning(order, state),
    ]
    if order.checkout:
        details.append(
            format_html(_("Checkout: {}"), viewer.link(Checkout, order.checkout_id, order.checkout))
        )
    verdict = badge(label_of(VERDICTS, order.verdict))
    return SummaryBox(
        _("Is it for a checkout of this shop?"), verdict, [detail for detail in details if detail]
    )


def _method(order: Order, viewer: Viewer) -> Value:
    """Return the method of payment; of a card the brand, and its last digits for those who may see them."""
    method = order.snapshot.method
    if method is None:
        return visible(order.method_type)
    title = visible(method.title or method.type or "")
    if method.card is None or not method.card.last4:
        return title
    digits: Value = f"•••• {visible(method.card.last4)}" if viewer.sees_personal_data else hidden()
    return format_html("{}, {} {}", title, visible(method.card.brand or ""), digits)


def _decided(history: Sequence[Transition]) -> Value:
    """Return the newest decision of staff: what, who, when and why; "" where there is none."""
    decision = next((each for each in history if each.act in DECISIONS), None)
    if decision is None:
        return ""
    act, staff, at = (
        decision.get_act_display(),
        short(decision.staff or NOTHING),
        moment(decision.recorded_at),
    )
    return format_html(_("{} by {}, {}: {}"), act, staff, at, visible(decision.reason))


def _not_settled(state: OrderState) -> str:
    if _doubts(state):
        return _("not certain")
    waits = state.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return _("nothing yet") if waits else _("nothing")


def _doubts(state: OrderState) -> list[StrOrPromise]:
    return [incident_sentence(doubt) for doubt in DOUBTS if doubt in state.contradictions]


def _before_loss(order: Order, state: OrderState, net: str) -> str:
    """Return the sum before the reversal, which is not subtracted: it may be in another currency."""
    if state.status not in BEFORE:
        return net
    lost = _refunded(order)
    unknown = lost == NOTHING or DOUBLE_LOSS in state.contradictions  # the sum may then be that of the refund
    return BEFORE[state.status] % {"net": net, "sum": _("an unknown amount") if unknown else lost}


def _refunded(order: Order) -> str:
    """Return the refunded sum. For a partial refund in the currency of the payment, with the whole: "5.00 of 14.99 USD"."""
    paid = {order.currency: order.amount, order.charge_currency: order.charge_amount}
    whole, part = paid.get(order.refund_currency), order.refund_amount
    if whole is None or part is None or not 0 < part < whole:
        return money(part, order.refund_currency)
    return _("%(part)s of %(whole)s") % {
        "part": shown_amount(part, order.refund_currency),
        "whole": money(whole, order.refund_currency),
    }


def payment_table(order: Order) -> Table:
    """Return what the customer paid, for a confirmation page: the customer and the amount that an act is about."""
    columns = [_("order"), _("type"), _("amount"), _("status"), _("verdict"), _("customer")]
    row = [
        visible(order.order_id),
        visible(order.type),
        money(order.amount, order.currency),
        badge(label_of(ORDER_STATUSES, order.status)),
        badge(label_of(VERDICTS, order.verdict)),
        visible(str(order.user or "")),
    ]
    return Table(_("What was paid"), columns, [row])


def _meaning(order: Order, state: OrderState) -> StrOrPromise:
    """Return the meaning of the verdict; it is about the payment, which may have been reversed since."""
    if state.stands or order.verdict not in JUDGED:
        return label_of(VERDICTS, order.verdict).meaning
    status = label_of(ORDER_STATUSES, order.status)
    return _("The order is %(state)s, so no goods are to be granted.") % {"state": status.text}


def reversals_table(order: Order, viewer: Viewer) -> Table:
    """Return the refunds and chargebacks of an order."""
    rows = [
        [
            viewer.link(Refund, reversal.pk, money(reversal.amount, reversal.currency)),
            badge(label_of(ORDER_STATUSES, reversal.status)),
            moment(reversal.refunded_at),
            visible(reversal.reason) or NOTHING,
        ]
        for reversal in order.refunds.order_by("-pk")[:MOST_REVERSALS]
    ]
    return Table(_("Refunds and chargebacks"), [_("amount"), _("kind"), _("when"), _("reason")], rows)
