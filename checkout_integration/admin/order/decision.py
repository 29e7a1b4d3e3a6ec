"""What a decision is about, on the page that asks for it: the payment beside what was sold, and what will happen.

One mechanism for all decisions: to accept, link, revoke, mark as delivered, restore and erase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.order.payment import DIFFERS, lost_lines, pays_another_amount, reversals_of
from checkout_integration.admin.screens.customers import about_customer
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.labels import VERDICTS, Text, label_of, order_label
from checkout_integration.admin.site.products import items_of, paid_at, product_title
from checkout_integration.admin.site.read_only import NEWEST
from checkout_integration.admin.site.reasons import incident_sentence, reason_sentence
from checkout_integration.admin.site.values import (
    FieldGroup,
    Value,
    badge,
    field_group,
    lines,
    moment,
    money,
    visible,
)
from checkout_integration.conf import UnknownAlias, app_settings
from checkout_integration.flows.ledger import ChangePreview, state_of
from checkout_integration.flows.outbox import receivers_of
from checkout_integration.models import Grant, Incident, Order, ReceiverRun, Transition
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

MOST_GRANTS: Final = 20


def about_payment(order: Order, viewer: Viewer) -> list[FieldGroup]:
    """Return the payment beside what was expected, the customer, and why a decision is needed."""
    state = state_of(order)
    kinds = Incident.objects.filter(order=order, resolved_at=None).values_list("kind", flat=True)[:10]
    why = [reason_sentence(order.verdict_reason), *map(incident_sentence, kinds)]
    states = format_html("{} {}", badge(order_label(state)), badge(label_of(VERDICTS, order.verdict)))
    losses = [str(line) for line in lost_lines(order, state, reversals_of(order))]
    return [
        field_group(
            _("The payment"),
            [
                (_("product"), product_title(order, items_of(order)) or _("unknown")),
                (_("paid"), _paid_beside_expected(order)),
                (_("when paid"), _when_paid(order)),
                (_("refunds and disputes of this payment"), lines(losses) if losses else _("none known")),
                (_("status"), states),
                (_("why"), lines([str(each) for each in dict.fromkeys(why) if each])),
            ],
        ),
        *about_customer(order, viewer),
        *_other_disputes(order, viewer),
    ]


def _other_disputes(order: Order, viewer: Viewer) -> Iterator[FieldGroup]:
    """Yield the customer's other orders that were charged back, the newest ones, where there are any."""
    if order.user_id is None:
        return
    disputed = Order.objects.filter(user=order.user_id, status=OrderStatus.CHARGEBACK).exclude(pk=order.pk)
    newest = disputed.only("order_id", "created_at").order_by("-pk")[:NEWEST]
    rows = [(moment(each.created_at), viewer.row(each)) for each in newest]
    if rows:
        yield field_group(_("Other orders of the customer that were charged back"), rows)


def _when_paid(order: Order) -> Value:
    """Return when it was paid; the list does not say so, but when it was ordered."""
    if at := paid_at(order.facts):
        return moment(at)
    return (
        format_html(_("unknown; ordered {}"), moment(order.created_at)) if order.created_at else _("unknown")
    )


def _paid_beside_expected(order: Order) -> Value:
    """Return what was paid with what was to be paid, marked where they differ: VAT alone is no difference."""
    price, charged = money(order.amount, order.currency), money(order.charge_amount, order.charge_currency)
    paid = price
    if order.charge_amount is not None and charged != price:
        paid = _("%(price)s, charged as %(charged)s") % {"price": price, "charged": charged}
    checkout = order.checkout
    if checkout is None:
        return format_html(_("{}; what was to be paid is unknown: the payment has no checkout"), paid)
    if checkout.expected_amount is None:
        return format_html(_("{}; the service sets the price"), paid)
    expected = money(checkout.expected_amount, checkout.currency)
    differs = badge(DIFFERS) if pays_another_amount(order) else ""
    return format_html(_("{}; expected: {} {}"), paid, expected, differs)


def effects_of(order: Order, act: Transition.Act) -> list[Text]:
    """Return what a decision would do now, in sentences; none where it is not possible."""
    try:
        changes = flows.operations.preview_decision(order, act)
    except (ValueError, UnknownAlias):
        return []
    return what_runs(order, changes)


NOT_AGAIN: Final = gettext_lazy(
    "No code of the shop runs again: it ran when the payment was accepted. If it had no checkout then, it may have delivered "
    "nothing: look in the shop, and deliver by hand."
)


def what_runs(order: Order, changes: Sequence[ChangePreview]) -> list[Text]:
    """Return which of the shop's code runs by these changes, or that none does and what to do then."""
    signals = {name for change in changes for name in change.signals}
    if "checkout_paid" in signals:
        return list(delivering(bound=any(change.checkout for change in changes)))
    if "checkout_reversed" in signals:
        return [_taking_back(order)]
    if any(label.startswith(VerdictStatus.REVIEW) for label in (change.verdict_after for change in changes)):
        return [_("Nothing is delivered while the payment is in review.")]
    return [
        NOT_AGAIN
        if order.verdict == VerdictStatus.ACCEPTED
        else _("No code of the shop runs: the goods of this payment are delivered already.")
    ]


def delivering(*, bound: bool) -> Iterator[Text]:
    """Yield which of the shop's code runs to deliver goods, or that none does; ``bound``: the payment has a checkout."""
    names = receivers_of("checkout_paid")
    if names:
        yield _("This code of the shop runs, to deliver the goods: %(receivers)s.") % {
            "receivers": ", ".join(map(visible, names))
        }
    elif app_settings().goods == "pull":
        yield _("The shop itself reads what is paid: no code of it runs for this.")
    else:
        yield _("No code of the shop runs to deliver goods: deliver them by hand.")
    if names and not bound:
        yield _(
            "The payment has no checkout, so this code does not learn what was sold, and may deliver nothing. Link the "
            "payment to a checkout instead, or deliver the goods by hand."
        )


def _taking_back(order: Order) -> Text:
    names = receivers_of("checkout_reversed")
    grants = Grant.objects.filter(
        **{"checkout": order.checkout_id} if order.checkout_id else {"order": order.pk}
    )
    runs = ReceiverRun.objects.filter(message__grant__in=grants, message__signal="checkout_paid")
    delivered = runs.filter(state=ReceiverRun.State.DONE).exists() or any(
        grants.order_by("-pk").values_list("completed", flat=True)[:MOST_GRANTS]  # by hand, or pruned since
    )
    if not names:
        return _("No code of the shop runs to take goods back: do it by hand.")
    if not delivered:
        return _("No code of the shop has delivered these goods, so none takes them back.")
    return _("This code of the shop runs, to take the goods back: %(receivers)s.") % {
        "receivers": ", ".join(map(visible, names))
    }
