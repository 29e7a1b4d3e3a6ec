"""The page of one order: answers on top, then the details, then the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.chapters import chapters_of
from checkout_integration.admin.display import (
    NOTHING,
    badge,
    hidden,
    moment,
    money,
    pretty,
    short,
    visible,
)
from checkout_integration.admin.failures import failures_of_order
from checkout_integration.admin.goods import goods_answer
from checkout_integration.admin.page import Answer, Chapter, Page, Raw, Table, Value, chapter
from checkout_integration.admin.payment import paid_answer, received_answer, verdict_answer
from checkout_integration.admin.timeline import NEWEST, timeline_of
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import ORDER, VERDICT, is_sandboxed, mode_of, order_word, word
from checkout_integration.flows.ledger.rows import state_of
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Order,
    OrderItem,
    OutboxMessage,
    ReceiverRun,
    Refund,
)
from checkout_integration.policy.state import OrderState


def order_page(order: Order, viewer: Viewer) -> Page:
    """Everything about an order. The number of SQL statements does not depend on the length of its history."""
    outbox_messages = list(OutboxMessage.objects.filter(order=order).order_by("-pk")[:NEWEST])
    runs = list(
        ReceiverRun.objects.filter(message__order=order).select_related("message").order_by("-pk")[:NEWEST]
    )
    state = state_of(order)
    items = list(order.items.order_by("position")[:NEWEST])
    return Page(
        badges=[badge(order_word(state)), badge(mode_of(order)), badge(word(VERDICT, order.verdict))],
        note=_personal_note(order, viewer),
        answers=[
            _status(order, state),
            paid_answer(order, state),
            received_answer(order, state),
            goods_answer(order, outbox_messages, runs),
            verdict_answer(order, state, viewer),
            _receipt(order, viewer),
        ],
        chapters=[_ours(order, viewer), *chapters_of(order, sees_personal_data=viewer.sees_personal_data)],
        tables=[failures_of_order(runs, viewer), _items(items, viewer), _refunds(order, viewer)],
        timeline=timeline_of(order, viewer, outbox_messages, runs),
        raws=[_document(order, viewer)],
    )


def _personal_note(order: Order, viewer: Viewer) -> str:
    held = getattr(order, "personal_data", None)
    if held and held.erased_at:
        return _("The personal data of this order was erased.")
    if not viewer.sees_personal_data:
        return _("Personal data is hidden: you need the permission “Can see personal data of customers”.")
    return ""


def _status(order: Order, state: OrderState) -> Answer:
    status = order_word(state)
    changed = format_html(_("last change here: {}"), moment(order.changed_at))
    return Answer(_("What is its state?"), badge(status), [status.meaning, changed])


def _receipt(order: Order, viewer: Viewer) -> Answer:
    number = visible(order.receipt_number) or NOTHING
    if not order.receipt_url:
        return Answer(_("Where is the receipt?"), number, [_("The service gave no address of a receipt.")])
    address = viewer.personal_link(order.receipt_url, loopback=is_sandboxed(order))
    return Answer(_("Where is the receipt?"), number, [address])


def _ours(order: Order, viewer: Viewer) -> Chapter:
    account = order.checkout.user if order.checkout else None
    return chapter(
        _("In this shop"),
        [
            (_("project"), visible(order.project)),
            (_("checkout"), viewer.link(Checkout, order.checkout_id, order.checkout)),
            (_("customer"), viewer.link(CheckoutUser, order.user_id, order.user)),
            (_("account"), short(account) if account else ""),
            (_("told in two ways"), visible(", ".join(map(str, order.conflicts)))),
            (_("first heard of"), moment(order.recorded_at)),
            (_("last change"), moment(order.changed_at)),
        ],
    )


def _items(items: Sequence[OrderItem], viewer: Viewer) -> Table:
    rows = [
        [visible(each.name), visible(each.sku or each.item_id), visible(each.platform), _code(each, viewer)]
        for each in items
    ]
    return Table(_("Items"), [_("name"), _("SKU"), _("platform"), _("activation code")], rows)


def _code(item: OrderItem, viewer: Viewer) -> Value:
    """Whoever holds an activation code can redeem it."""
    if not item.code:
        return NOTHING
    return visible(item.code) if viewer.sees_personal_data else hidden()


def _refunds(order: Order, viewer: Viewer) -> Table:
    rows = [
        [
            viewer.link(Refund, each.pk, money(each.amount, each.currency)),
            badge(word(ORDER, each.status)),
            moment(each.refunded_at),
            visible(each.reason) or NOTHING,
        ]
        for each in order.refunds.order_by("-pk")[:NEWEST]
    ]
    return Table(_("Refunds and chargebacks"), [_("amount"), _("kind"), _("when"), _("reason")], rows)


def _document(order: Order, viewer: Viewer) -> Raw:
    if viewer.sees_personal_data:
        return Raw(_("The order as the service told it (JSON)"), pretty(order.whole_document))
    return Raw(
        _("The order as the service told it, without personal data (JSON)"),
        pretty(without_codes(order.document)),
    )


def without_codes(document: dict[str, Any]) -> dict[str, Any]:
    """The document without activation codes: they are no personal data, but worth what was paid for them."""
    items = document.get("items")
    if not isinstance(items, list):
        return document
    masked = [
        {**each, "code": "…"} if isinstance(each, dict) and each.get("code") else each for each in items
    ]
    return {**document, "items": masked}
