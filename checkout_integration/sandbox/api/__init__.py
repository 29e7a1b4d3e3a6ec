"""The service's API: tokens, orders, transactions list, cursor list.

- `api_views`: the routes, each behind the fault switchboard
- `creation_requests`: creation of tokens and orders: who may, and with which data
- `transactions_list`: the transactions list
- `list_filters`: its filters
- `cursor_list`: the list of orders by cursors
"""

from __future__ import annotations

from checkout_integration.sandbox.api.api_views import ApiViews
from checkout_integration.sandbox.api.creation_requests import CreationRequests
from checkout_integration.sandbox.api.cursor_list import ORDERS_PATH, CursorList
from checkout_integration.sandbox.api.transactions_list import TransactionsList

__all__ = [
    "ORDERS_PATH",
    "ApiViews",
    "CreationRequests",
    "CursorList",
    "TransactionsList",
]
