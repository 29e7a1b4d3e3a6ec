"""The page of one order: a summary on top, then the details, then the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.order.field_groups import field_groups_of
from checkout_integration.admin.order.fulfilment import failures_table, fulfilment_summary
from checkout_integration.admin.order.items import items_of, items_table, without_codes
from checkout_integration.admin.order.layout import FieldGroup, Page, Raw, SummaryBox, field_group
from checkout_integration.admin.order.money import (
    paid_summary,
    received_summary,
    reversals_table,
    verdict_summary,
)
from checkout_integration.admin.order.sold import buyer_summary, product_summary
from checkout_integration.admin.order.timeline import NEWEST, history_of, timeline_of
from checkout_integration.admin.site import (
    NOTHING,
    VERDICTS,
    Value,
    Viewer,
    badge,
    copyable,
    hidden,
    is_test,
    label_of,
    mode_label,
    moment,
    order_label,
    pretty,
    short,
    visible,
)
from checkout_integration.display import form_link
from checkout_integration.flows.ledger import state_of
from checkout_integration.models import Checkout, CheckoutUser, Order, OutboxMessage, ReceiverRun, Transition
from checkout_integration.policy.state import OrderState


def order_page(order: Order, viewer: Viewer) -> Page:
    """Return everything about an order. The number of SQL statements does not depend on the length of its history."""
    about = OutboxMessage.objects.about([order])
    messages = list(about.order_by("-pk")[:NEWEST])
    runs = list(
        ReceiverRun.objects.filter(message__in=about).select_related("message").order_by("-pk")[:NEWEST]
    )
    state, items, history = state_of(order), items_of(order), history_of(order)
    return Page(
        badges=[
            badge(order_label(state)),
            badge(mode_label(order)),
            badge(label_of(VERDICTS, order.verdict)),
        ],
        notes=[*_note_of_staff(history), *_personal_note(order, viewer)],
        summary=[
            product_summary(order, items),
            buyer_summary(order, viewer),
            _status(order, state),
            paid_summary(order, state, viewer),
            received_summary(order, state),
            fulfilment_summary(order, messages, runs),
            verdict_summary(order, state, viewer, history),
            _receipt(order, viewer),
        ],
        in_this_shop=_in_this_shop(order, viewer),
        field_groups=field_groups_of(order, sees_personal_data=viewer.sees_personal_data),
        tables=[failures_table(runs, viewer), items_table(items, viewer), reversals_table(order, viewer)],
        timeline=timeline_of(order, viewer, history, messages, runs),
        raws=[_document(order, viewer)],
    )


def _note_of_staff(history: Sequence[Transition]) -> Iterator[Value]:
    """Yield the newest note of a colleague, who wrote it to be read."""
    for note in [each for each in history if each.act == Transition.Act.NOTE and each.reason][:1]:
        at, author = moment(note.recorded_at), short(note.staff or NOTHING)
        yield format_html(_("Note by {}, {}: {}"), author, at, visible(note.reason))


def _personal_note(order: Order, viewer: Viewer) -> Iterator[Value]:
    personal_data = getattr(order, "personal_data", None)
    if personal_data and personal_data.erased_at:
        yield _("The personal data of this order was erased.")
    elif not viewer.sees_personal_data:
        yield _("Personal data is hidden: you need the permission “Can see personal data of customers”.")


def _status(order: Order, state: OrderState) -> SummaryBox:
    status = order_label(state)
    changed = format_html(_("last change here: {}"), moment(order.changed_at))
    return SummaryBox(_("What is its status?"), badge(status), [status.meaning, changed])


def _receipt(order: Order, viewer: Viewer) -> SummaryBox:
    number = visible(order.receipt_number) or NOTHING
    if not order.receipt_url:
        return SummaryBox(_("Where is the receipt?"), number, [_("The service sent no link to a receipt.")])
    address = viewer.personal_link(order.receipt_url, loopback=is_test(order))
    return SummaryBox(_("Where is the receipt?"), number, [address])


def _in_this_shop(order: Order, viewer: Viewer) -> FieldGroup:
    checkout = order.checkout
    account = checkout.user if checkout else None
    linked = order.user.account if order.user else None
    return field_group(
        _("In this shop"),
        [
            (_("order id"), copyable(order.order_id, _("order id"))),
            (_("transaction"), copyable(order.transaction, _("transaction")) if order.transaction else ""),
            (_("project"), visible(order.project)),
            (_("checkout"), viewer.link(Checkout, order.checkout_id, checkout)),
            (_("reference"), copyable(checkout.reference, _("Checkout reference")) if checkout else ""),
            (_("customer"), viewer.link(CheckoutUser, order.user_id, order.user)),
            (_("account"), short(account) if account else ""),
            (_("account of the customer"), short(linked) if linked else ""),
            (_("origin"), short(order.origin)),
            (_("payment form"), _form_link(checkout, viewer)),
            (_("conflicting values"), visible(", ".join(map(str, order.conflicts)))),
            (_("first seen"), moment(order.recorded_at)),
            (_("last change"), moment(order.changed_at)),
        ],
    )


def _form_link(checkout: Checkout | None, viewer: Viewer) -> Value:
    """Return the address of the form, to copy, while the customer can pay; its token is personal."""
    address = form_link(checkout) if checkout else ""
    if not address:
        return ""
    return copyable(address, _("Address of the payment form")) if viewer.sees_personal_data else hidden()


def _document(order: Order, viewer: Viewer) -> Raw:
    if viewer.sees_personal_data:
        return Raw(_("The order as sent by the service (JSON)"), pretty(order.whole_document))
    return Raw(
        _("The order as sent by the service, without personal data (JSON)"),
        pretty(without_codes(order.document)),
    )
