"""The items of an order, as its page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

from checkout_integration.admin.site import NOTHING, Table, Value, Viewer, hidden, visible
from checkout_integration.models import Order, OrderItem

MOST: Final = 200
"""Items that the page shows."""


def items_of(order: Order) -> list[OrderItem]:
    """Return the items of an order, in the order of its document."""
    return list(order.items.order_by("position")[:MOST])


def items_table(items: Sequence[OrderItem], viewer: Viewer) -> Table:
    """Return the items as a table."""
    rows = [
        [visible(item.name), visible(item.sku or item.item_id), visible(item.platform), _code(item, viewer)]
        for item in items
    ]
    return Table(_("Items"), [_("name"), _("SKU"), _("platform"), _("activation code")], rows)


def _code(item: OrderItem, viewer: Viewer) -> Value:
    """Return the activation code for staff with the permission: anyone who has it can redeem it."""
    if not item.code:
        return NOTHING
    return visible(item.code) if viewer.sees_personal_data else hidden()


def without_codes(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without activation codes: they are no personal data, but can be redeemed."""
    items = document.get("items")
    if not isinstance(items, list):
        return document
    masked = [
        {**item, "code": "…"} if isinstance(item, dict) and item.get("code") else item for item in items
    ]
    return {**document, "items": masked}
