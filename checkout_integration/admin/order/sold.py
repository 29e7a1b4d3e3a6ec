"""What was bought, and by whom: in the rows of the list, and first on the page of an order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.order.layout import SummaryBox
from checkout_integration.admin.site import NOTHING, Value, Viewer, hidden, money, short, visible
from checkout_integration.models import CheckoutUser, Order, OrderItem

if TYPE_CHECKING:
    Orders: TypeAlias = QuerySet[Order]

MOST_NAMED: Final = 3
"""Items that are named on top of the page; its table has all."""


def with_products(orders: Orders) -> Orders:
    """Return the orders with the name of their first item, and whether there are more: without reading documents."""
    items = OrderItem.objects.filter(order=OuterRef("pk"))
    return orders.annotate(
        first_item=Subquery(items.filter(position=0).values("name")[:1]),
        has_more_items=Exists(items.filter(position=1)),
    )


def product_of(row: Order) -> str:
    """Return what was bought, for a row of `with_products`."""
    first: str = getattr(row, "first_item", None) or ""
    if first:
        return f"{first}, …" if getattr(row, "has_more_items", False) else first
    return _as_sold(row)


def product_summary(order: Order, items: Sequence[OrderItem]) -> SummaryBox:
    """Return what was bought: its items, or else the words of the order or of the checkout."""
    names = [each.name or str(each) for each in items]
    named = ", ".join([*names[:MOST_NAMED], *(["…"] if names[MOST_NAMED:] else [])])
    product = named or order.description or _as_sold(order)
    details = [order.description] if named and order.description != named else []
    return SummaryBox(_("What was bought?"), short(product), [short(each) for each in details if each])


def buyer_summary(order: Order, viewer: Viewer) -> SummaryBox:
    """Return who bought it: the e-mail address, or else the customer's id; and the account in the shop."""
    personal_data = getattr(order, "personal_data", None)
    email = personal_data.email if personal_data else ""
    shown = viewer.sees_personal_data and email
    value = visible(email) if shown else short(order.user or "")
    return SummaryBox(_("Who bought it?"), value, list(_about_buyer(order, viewer, email)))


def _about_buyer(order: Order, viewer: Viewer, email: str) -> Iterator[Value]:
    if not viewer.sees_personal_data and email:
        yield format_html(_("e-mail: {}"), hidden())
    customer = order.snapshot.user
    if viewer.sees_personal_data and customer and customer.name:
        yield short(customer.name)
    if order.user:
        yield format_html(_("customer: {}"), viewer.link(CheckoutUser, order.user_id, order.user))
    account = (order.checkout.user if order.checkout else None) or (
        order.user.account if order.user else None
    )
    if account:
        yield _("account: %(account)s") % {"account": short(account)}
    if order.country:
        yield _("country: %(country)s") % {"country": visible(order.country)}


def _as_sold(order: Order) -> str:
    """Return the words of the checkout, or the amount of virtual currency; "–" where neither is known."""
    checkout = order.checkout
    words = (checkout.description or ", ".join(map(str, checkout.products))) if checkout else ""
    if not words and order.virtual_currency_amount is not None:
        words = _("%(amount)s of virtual currency") % {"amount": money(order.virtual_currency_amount, "")}
    return words or NOTHING
