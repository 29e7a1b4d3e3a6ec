"""What an order is for, and who bought it, as lists, files and pages show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.values import Answer, Value, breakable, hidden, money, short, visible
from checkout_integration.models import Order, OrderItem
from checkout_integration.policy.facts import from_json
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.values import parse_moment
from checkout_integration.protocol.vocabulary import OrderStatus


def with_products(orders: QuerySet[Order]) -> QuerySet[Order]:
    """Return the orders with what `shown_product` needs."""
    return orders.annotate(has_more_items=Exists(OrderItem.objects.filter(order=OuterRef("pk"), position=1)))


PRODUCT: Final = ("product", "has_more_items", "virtual_currency_amount")
"""The columns of `with_products` from which `product_name` makes the name."""


def shown_product(row: Order) -> str:
    """Return what was bought, for a row of `with_products`."""
    return product_name(*(getattr(row, name) for name in PRODUCT))


def product_name(product: str, has_more: bool, units: Decimal | None) -> str:
    """Return what was bought, "…" for further items, or an amount of virtual currency that nobody has named."""
    if product and has_more:
        return f"{product}, …"
    if product or not units:
        return product
    return _("%(amount)s of virtual currency") % {"amount": money(units, "")}


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


def product_summary(order: Order, items: Sequence[OrderItem]) -> Answer:
    """Return what was bought, and the description."""
    product = product_title(order, items)
    details = [order.description] if order.description != product else []
    return Answer(short(product), [short(each) for each in details if each])


def buyer_summary(order: Order, viewer: Viewer) -> Answer:
    """Return who bought it: the e-mail address, or else the customer's id; and the account in the shop."""
    personal_data = getattr(order, "personal_data", None)
    email = personal_data.email if personal_data else ""
    shown = viewer.sees_personal_data and email
    account = account_of(order)
    value = visible(email) if shown else short(account or order.user or "")
    return Answer(breakable(value), list(_about_buyer(order, viewer, email)))


def recipient_of(order: Order, viewer: Viewer) -> Value:
    """Return the account that owns the goods in place of the buyer; "" where the order is no gift."""
    if not (order.checkout and order.checkout.gift):
        return ""
    account = order.checkout.recipient
    return viewer.row(account) if account else _("an account that was deleted")


def account_of(order: Order) -> Any:
    """Return the shop's account of the buyer, if one is known."""
    return (order.checkout and order.checkout.user) or (order.user and order.user.account)


def _about_buyer(order: Order, viewer: Viewer, email: str) -> Iterator[Value]:
    if not viewer.sees_personal_data and email:
        yield format_html(_("e-mail: {}"), hidden())
    customer = order.snapshot.user
    if viewer.sees_personal_data and customer and customer.name:
        yield short(customer.name)
    if order.user:
        yield format_html(_("customer: {}"), viewer.row(order.user))
    account = account_of(order)
    if account and viewer.sees_personal_data and email:
        yield _("account: %(account)s") % {"account": short(account)}
    if recipient := recipient_of(order, viewer):
        yield format_html(_("a gift for: {}"), recipient)
    if order.country:
        yield _("country: %(country)s") % {"country": visible(order.country)}
