"""The newest orders of a checkout or a customer, as a table on their page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from checkout_integration.admin.display import badge, moment, money
from checkout_integration.admin.page import Table
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import ORDER, VERDICT, word
from checkout_integration.models import Order

if TYPE_CHECKING:
    Orders = QuerySet[Order]

NEWEST: Final = 50


def order_table(viewer: Viewer, orders: Orders) -> Table:
    """The newest of these orders, with links to their pages."""
    rows = [
        [
            viewer.link(Order, each.pk, each.order_id),
            badge(word(ORDER, each.status)),
            money(each.amount, each.currency),
            badge(word(VERDICT, each.verdict)),
            moment(each.created_at or each.recorded_at),
        ]
        for each in orders.defer("document", "facts", "stamps", "conflicts").order_by("-pk")[:NEWEST]
    ]
    columns = [_("order"), _("status"), _("amount"), _("verdict"), _("created")]
    return Table(_("Orders"), columns, rows, _("No order yet."))
