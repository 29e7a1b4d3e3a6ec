"""The paid amount, the shop's revenue, refunds, and whether the payment is for a checkout of this shop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.site import labels
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.labels import StateLabel, Text, label_of
from checkout_integration.admin.site.reasons import incident_sentence, reason_sentence
from checkout_integration.admin.site.values import (
    NOTHING,
    Answer,
    Table,
    Value,
    badge,
    moment,
    money,
    short,
    visible,
)
from checkout_integration.display import shown_amount
from checkout_integration.models import Order, Refund, Transition
from checkout_integration.policy.contradictions import LISTED_REJECTED_WITH_TRANSACTION, PAID_AND_CANCELED
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.refunds import paid_in
from checkout_integration.policy.state import SETTLED_KINDS, OrderState
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

MOST_REVERSALS: Final = 200
"""Refunds and chargebacks that the page shows."""
DOUBTS: Final = (PAID_AND_CANCELED, LISTED_REJECTED_WITH_TRANSACTION)
"""Contradictions of an order that is not paid, although the customer may have paid."""
BEFORE: Final = {
    OrderStatus.REFUNDED: gettext_lazy("%(net)s before the refund of %(sum)s"),
    OrderStatus.CHARGEBACK: gettext_lazy("%(net)s before the chargeback of %(sum)s"),
}
LOST: Final = {
    OrderStatus.REFUNDED: gettext_lazy("refunded: %(sum)s"),
    OrderStatus.CHARGEBACK: gettext_lazy("charged back: %(sum)s"),
}
DIFFERS: Final = StateLabel(gettext_lazy("differs"), "bad", sign="!")
DECISIONS: Final = (
    Transition.Act.ACCEPT,
    Transition.Act.BIND,
    Transition.Act.REVOKE,
    Transition.Act.RESTORE,
)
JUDGED: Final = (VerdictStatus.VERIFIED, VerdictStatus.ACCEPTED, VerdictStatus.REVIEW)
"""Verdicts whose meaning is about goods."""


def reversals_of(order: Order) -> list[Refund]:
    """Return the newest refunds and chargebacks of an order, the newest first."""
    return list(order.refunds.order_by("-pk")[:MOST_REVERSALS])


def reversed_at(order: Order, reversals: Sequence[Refund], status: str) -> datetime | None:
    """Return when the money went back: as the order says, else as the newest reversal of this status does."""
    times = [each.refunded_at for each in reversals if each.status == status and each.refunded_at]
    return order.refunded_at or max(times, default=None)


def paid_summary(order: Order, state: OrderState, viewer: Viewer, reversals: Sequence[Refund]) -> Answer:
    """Return the paid amount; the price alone where no payment is known."""
    price = money(order.amount, order.currency)
    if state.status not in SETTLED_KINDS:
        shown_price = _("the price is %(price)s") % {"price": price} if price != NOTHING else ""
        return Answer(_not_settled(state), [shown_price, *_doubts(state)])
    charged = money(order.charge_amount, order.charge_currency)
    details: list[Value] = [_method(order, viewer)]
    if charged not in (NOTHING, price):
        details.append(_("for a price of %(price)s") % {"price": price})
    expected = money(order.checkout.expected_amount, order.checkout.currency) if order.checkout else NOTHING
    if expected not in (NOTHING, price):
        differs = badge(DIFFERS) if pays_another_amount(order) else ""
        details.append(format_html("{} {}", _("expected: %(price)s") % {"price": expected}, differs))
    if order.tax_amount is not None:
        details.append(_("tax: %(tax)s") % {"tax": money(order.tax_amount, order.tax_currency)})
    details += lost_lines(order, state, reversals)
    return Answer(price if charged == NOTHING else charged, details)


def pays_another_amount(order: Order) -> bool:
    """Return whether the payment is of another amount than its checkout's: also after staff have accepted it.

    What was verified may differ by its VAT alone.
    """
    checkout = order.checkout
    if checkout is None or checkout.expected_amount is None or order.verdict == VerdictStatus.VERIFIED:
        return False
    return (order.amount, order.currency) != (checkout.expected_amount, checkout.currency)


def lost_lines(order: Order, state: OrderState, reversals: Sequence[Refund]) -> list[Text]:
    """Return what was refunded and what was charged back, a line for each; none where nothing was."""
    return [LOST[kind] % {"sum": sums} for kind, sums in losses_of(order, state, reversals).items()]


def losses_of(order: Order, state: OrderState, reversals: Sequence[Refund]) -> dict[OrderStatus, str]:
    """Return what refunds and what chargebacks have taken; nothing of a kind that was not."""
    lost = {kind: _lost(order, state, reversals, kind) for kind in LOST}
    return {kind: sums for kind, sums in lost.items() if sums}


def received_summary(order: Order, state: OrderState, reversals: Sequence[Refund]) -> Answer:
    """Return the shop's revenue as the service states it; what is left after a refund or chargeback is unknown."""
    if state.status not in SETTLED_KINDS:
        return Answer(_not_settled(state))
    net = money(order.net_revenue_amount, order.net_revenue_currency)
    if net == NOTHING:
        return Answer(NOTHING, [_("The service did not send this amount.")])
    fee = money(order.fee_amount, order.fee_currency)
    after_fee = _("after a fee of %(fee)s") % {"fee": fee}
    if state.status not in BEFORE:
        return Answer(net, [after_fee])
    # The reversal is not subtracted: it may be in another currency, and the fee may be given back or not.
    lost = _lost(order, state, reversals, state.status)
    before = BEFORE[state.status] % {"net": net, "sum": lost}
    return Answer(_("unknown"), [before, after_fee, _("The service does not state what is left of it.")])


def verdict_summary(order: Order, state: OrderState, viewer: Viewer, history: Sequence[Transition]) -> Answer:
    """Return the verdict, with its reason, who decided it, and its meaning for the goods."""
    details: list[Value] = [reason_sentence(order.verdict_reason), _decided(history), _meaning(order, state)]
    if order.checkout:
        details.append(format_html(_("Checkout: {}"), viewer.row(order.checkout)))
    return Answer(badge(label_of(labels.VERDICTS, order.verdict)), details)


def _method(order: Order, viewer: Viewer) -> Value:
    """Return the method of payment; of a card the brand, and its last digits for those who may see them."""
    method = order.snapshot.method
    if method is None:
        return visible(order.method_type)
    title = visible(method.title or method.type or "")
    if method.card is None or not method.card.last4:
        return title
    digits = viewer.personal(f"•••• {visible(method.card.last4)}")
    return format_html("{}, {} {}", title, visible(method.card.brand or ""), digits)


def _decided(history: Sequence[Transition]) -> Value:
    """Return the newest decision of staff: what, who, when and why; "" where there is none."""
    decision = next((each for each in history if each.act in DECISIONS), None)
    if decision is None:
        return ""
    act, staff, at = (
        decision.get_act_display(),
        short(decision.actor or NOTHING),
        moment(decision.recorded_at),
    )
    return format_html(_("{} by {}, {}: {}"), act, staff, at, visible(decision.reason))


def _not_settled(state: OrderState) -> str:
    if _doubts(state):
        return _("not certain")
    waits = state.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return _("nothing yet") if waits else _("nothing")


def _doubts(state: OrderState) -> list[Text]:
    return [incident_sentence(doubt) for doubt in DOUBTS if doubt in state.contradictions]


def _lost(order: Order, state: OrderState, reversals: Sequence[Refund], kind: OrderStatus) -> str:
    """Return what refunds or chargebacks have taken, each currency by itself; "" for none that stands.

    A bank reads this: what it took by a chargeback is never called a refund.
    """
    if state.status not in REVERSALS:
        return ""
    sums: dict[str, Decimal | None] = {}
    if kind == OrderStatus.REFUNDED:
        sums |= state.returned.sums
    else:
        taken = [each for each in reversals if each.status == kind]
        for currency in dict.fromkeys(each.currency for each in taken):
            amounts = [each.amount for each in taken if each.currency == currency]
            sums[currency] = None if None in amounts else sum(filter(None, amounts), Decimal(0))
    if not sums and kind == state.status:
        sums[order.refund_currency] = order.refund_amount
    paid = paid_in(state.order)
    texts = [_of_whole(amount, currency, paid.get(currency)) for currency, amount in sums.items()]
    return ", ".join(_("an unknown amount") if text == NOTHING else text for text in texts)


def _of_whole(part: Decimal | None, currency: str, whole: Decimal | None) -> str:
    """Return a sum; less than the payment in its currency with the whole: "5.00 of 14.99 USD"."""
    if whole is None or part is None or not 0 < part < whole:
        return money(part, currency)
    return _("%(part)s of %(whole)s") % {
        "part": shown_amount(part, currency),
        "whole": money(whole, currency),
    }


def payment_tables(orders: Sequence[Order], heading: Text, details: Mapping[int, Value]) -> list[Table]:
    """Return what the customers paid, for a confirmation page: the customers and amounts that an act is about.

    ``details``: the cells of the last column, by the keys of the orders.
    """
    rows = [
        [
            (_("order"), visible(order.order_id)),
            (_("type"), visible(order.type)),
            (_("amount"), money(order.amount, order.currency)),
            (_("status"), badge(labels.status_label(order))),
            (_("check"), badge(label_of(labels.VERDICTS, order.verdict))),
            (_("customer"), visible(str(order.user or ""))),
            (heading, details[order.pk]),
        ]
        for order in orders
    ]
    return [Table(_("Orders"), rows)]


def _meaning(order: Order, state: OrderState) -> Text:
    """Return the meaning of the verdict; it is about the payment, which may have been reversed since."""
    if state.stands or order.verdict not in JUDGED:
        return label_of(labels.VERDICTS, order.verdict).meaning
    status = labels.status_label(order)
    return _("The order is %(state)s, so no goods are to be granted.") % {"state": status.text}


def reversals_table(reversals: Sequence[Refund], viewer: Viewer) -> Table:
    """Return the refunds and chargebacks of an order."""
    rows = [
        [
            (_("amount"), viewer.link(Refund, reversal.pk, money(reversal.amount, reversal.currency))),
            (_("kind"), badge(label_of(labels.ORDER_STATUSES, reversal.status))),
            (_("when"), moment(reversal.refunded_at)),
            (_("reason"), visible(reversal.reason) or NOTHING),
        ]
        for reversal in reversals
    ]
    return Table(_("Refunds and chargebacks"), rows)
