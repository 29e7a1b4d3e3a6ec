"""What an order is for, in words: by one rule for its column, and so for lists, filters, files and sums."""

from __future__ import annotations

from collections.abc import Sequence

from checkout_integration.protocol.order import Order


def product_of(order: Order, description: str = "", products: Sequence[str] = ()) -> str:
    """Return the name of the first item, else the words of the shop's checkout, else the service's; "" if nobody says it."""
    first = order.items[0].name if order.items else ""
    return first or description or ", ".join(map(str, products)) or order.description or ""
