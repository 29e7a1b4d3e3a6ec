"""What was bought, and by whom: in the rows of the list, and first on the page of an order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import Case, Exists, F, OuterRef, QuerySet, Subquery, When
from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.order.layout import SummaryBox
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.values import Value, hidden, money, short, visible
from checkout_integration.models import CheckoutUser, Order, OrderItem
from checkout_integration.policy.facts import from_json
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.values import parse_moment
from checkout_integration.protocol.vocabulary import OrderStatus

MOST_NAMED: Final = 3
"""Items that are named on top of the page; its table has all."""


def with_products(orders: QuerySet[Order]) -> QuerySet[Order]:
    """Return the orders with what `product_of` needs: the document only of those for which the shop has no words."""
    items = OrderItem.objects.filter(order=OuterRef("pk"))
    return orders.annotate(
        first_item=Subquery(items.filter(position=0).values("name")[:1]),
        has_more_items=Exists(items.filter(position=1)),
        unsold=Case(When(checkout=None, then=F("document"))),
    )


PRODUCT: Final = (
    *("first_item", "has_more_items", "unsold", "checkout__description", "checkout__products"),
    "virtual_currency_amount",
)
"""The columns of `with_products` from which `product_name` makes the name."""


def product_of(row: Order) -> str:
    """Return what was bought, for a row of `with_products`."""
    first_item, has_more, document = (getattr(row, name) for name in PRODUCT[:3])
    description, products = (row.checkout.description, row.checkout.products) if row.checkout else ("", ())
    return product_name(first_item, has_more, document, description, products, row.virtual_currency_amount)


def product_name(
    first_item: str | None,
    has_more: bool,
    document: Mapping[str, Any] | None,
    description: str | None,
    products: Sequence[str] | None,
    units: Decimal | None,
) -> str:
    """Return what was bought: the items' names, else the shop's words, else the service's; "" where nobody says it.

    On the list, in its file and on the order's page.
    """
    if first_item:
        return f"{first_item}, …" if has_more else first_item
    words = (
        description or ", ".join(map(str, products or ())) or str((document or {}).get("description") or "")
    )
    if not words and units:
        words = _("%(amount)s of virtual currency") % {"amount": money(units, "")}
    return words


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
    names, sold = [each.name for each in items if each.name], order.checkout
    product = product_name(
        ", ".join(names[:MOST_NAMED]),
        len(names) > MOST_NAMED,
        order.document,
        sold.description if sold else "",
        sold.products if sold else (),
        order.virtual_currency_amount,
    )
    return product or ", ".join(map(str, items[:MOST_NAMED]))


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
