"""What an order is for, by one rule for lists, files and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from django.db.models import Case, Exists, F, OuterRef, QuerySet, Subquery, When
from django.utils.translation import gettext as _

from checkout_integration.admin.site.values import money
from checkout_integration.models import Order, OrderItem


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
