"""What was bought, and by whom: in the rows of the list, and first on the page of an order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.order.layout import SummaryBox
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.products import product_name
from checkout_integration.admin.site.values import Value, breakable, hidden, short, visible
from checkout_integration.models import CheckoutUser, Order, OrderItem
from checkout_integration.policy.facts import from_json
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.values import parse_moment
from checkout_integration.protocol.vocabulary import OrderStatus

MOST_NAMED: Final = 3
"""Items that are named on top of the page; its table has all."""


MOST_ITEMS: Final = 200
"""Items that the page shows."""


def items_of(order: Order) -> list[OrderItem]:
    """Return the items of an order, in the order of its document."""
    return list(order.items.order_by("position")[:MOST_ITEMS])


def paid_at(facts: Mapping[str, Any]) -> datetime | None:
    """Return when the order was paid, as a notification says; the list says only when the order was made."""
    times = from_json(facts).times(OrderStatus.PROCESSED, Source.NOTIFICATION)
    return parse_moment(min(filter(None, times), default=""))


def product_title(order: Order, items: Sequence[OrderItem]) -> str:
    """Return what was bought by the rule of `product_name`, with more items."""
    names = [each.name for each in items if each.name]
    product = product_name(
        ", ".join(names[:MOST_NAMED]) or order.product, len(names) > MOST_NAMED, order.virtual_currency_amount
    )
    return product or ", ".join(filter(None, (each.sku or each.item_id for each in items[:MOST_NAMED])))


def product_summary(order: Order, items: Sequence[OrderItem]) -> SummaryBox:
    """Return what was bought, and the description."""
    product = product_title(order, items)
    details = [order.description] if order.description != product else []
    return SummaryBox(_("What was bought?"), short(product), [short(each) for each in details if each])


def buyer_summary(order: Order, viewer: Viewer) -> SummaryBox:
    """Return who bought it: the e-mail address, or else the customer's id; and the account in the shop."""
    personal_data = getattr(order, "personal_data", None)
    email = personal_data.email if personal_data else ""
    shown = viewer.sees_personal_data and email
    account = _account(order)
    value = visible(email) if shown else short(account or order.user or "")
    return SummaryBox(_("Who bought it?"), breakable(value), list(_about_buyer(order, viewer, email)))


def recipient_of(order: Order, viewer: Viewer) -> Value:
    """Return the account that owns the goods in place of the buyer; "" where the order is no gift."""
    if not (order.checkout and order.checkout.gift):
        return ""
    account = order.checkout.recipient
    return viewer.link(type(account), account.pk, account) if account else _("an account that was deleted")


def _account(order: Order) -> Any:
    """Return the shop's account of the buyer, if one is known."""
    return (order.checkout and order.checkout.user) or (order.user and order.user.account)


def _about_buyer(order: Order, viewer: Viewer, email: str) -> Iterator[Value]:
    if not viewer.sees_personal_data and email:
        yield format_html(_("e-mail: {}"), hidden())
    customer = order.snapshot.user
    if viewer.sees_personal_data and customer and customer.name:
        yield short(customer.name)
    if order.user:
        yield format_html(_("customer: {}"), viewer.link(CheckoutUser, order.user_id, order.user))
    account = _account(order)
    if account and viewer.sees_personal_data and email:
        yield _("account: %(account)s") % {"account": short(account)}
    if recipient := recipient_of(order, viewer):
        yield format_html(_("a gift for: {}"), recipient)
    if order.country:
        yield _("country: %(country)s") % {"country": visible(order.country)}
