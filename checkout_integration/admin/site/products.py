"""What an order is for, as lists, files and pages show it."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from checkout_integration.admin.site.values import money
from checkout_integration.models import Order, OrderItem


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
