"""The generic cursor list of orders at /api/v1/orders (chapter 4).

The specification defines cursors (EP4-02, EP4-03) and envelope, but no list that uses them (EP4-05). This list is the
sandbox's own, so that clients can be run against them. It is authenticated like the transactions list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from werkzeug.datastructures import MultiDict

from checkout_integration.protocol.vocabulary import CURSOR_LIMIT_MAX, CURSOR_LIMIT_MIN, OBJECT_LIST
from checkout_integration.sandbox.api.list_filters import whole_number
from checkout_integration.sandbox.api.transactions_list import TransactionsList
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.orders.documents import Context, Documents
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.store.ledger import Ledger
from checkout_integration.sandbox.store.order_search import Search
from checkout_integration.sandbox.wire.errors import Case, RefusedError

ORDERS_PATH: Final = "/api/v1/orders"
_LIMIT_DEFAULT: Final = 10


@dataclass(frozen=True)
class CursorList:
    """The list of a merchant's orders, oldest first; `transactions_list` checks who may read."""

    ledger: Ledger
    projects: Projects
    documents: Documents
    transactions_list: TransactionsList
    profile: Profile

    def page(self, authorization: str | None, query: MultiDict[str, str]) -> dict[str, Any]:
        """Return the requested page in the list envelope (LST-01 to LST-05).

        Raises:
            RefusedError: bad credentials, 400 a limit out of range (LIM-01), 403 or 404 a cursor that is another
                merchant's order or none, 422 both cursors at once.
        """
        project = self.transactions_list.authenticate(authorization)
        limit = whole_number(query, "limit", _LIMIT_DEFAULT, CURSOR_LIMIT_MIN, CURSOR_LIMIT_MAX)
        search = Search(project_ids=self.projects.of_merchant(project.merchant), limit=limit)
        after, before = query.get("starting_after"), query.get("ending_before")
        if after and before:
            raise RefusedError(
                422, Case.BOTH_CURSORS, "one of starting_after and ending_before", "both were given"
            )
        for cursor in filter(None, [after, before]):
            self._check_cursor(cursor, search)
        window = self.ledger.window(search, after=after, before=before)
        return {
            "object": OBJECT_LIST,
            "data": [self.documents.order(order, Context.LIST) for order in window.orders],
            "has_more": window.has_more,
            "has_before": window.has_before,
            "total_count": bool(window.count) if self.profile.total_count_is_boolean else window.count,
        }

    def _check_cursor(self, cursor: str, search: Search) -> None:
        order = self.ledger.find(cursor)
        if order is None:
            raise RefusedError(404, Case.ORDER_NOT_FOUND, "order not found", "the cursor names no order")
        if order.project_id not in search.project_ids:
            raise RefusedError(403, Case.FOREIGN_ORDER, "not authorized to access the order")
