"""The SQLite database: orders and all other data that survives a restart.

- `database`: the connection, the tables, transactions
- `ledger`: the orders: the only statements that read or write them
- `order_search`: the filters of a list, as SQL conditions
- `page_cache`: the beginnings of the pages of a long list
- `project_changes`: settings that were changed in earlier runs
"""

from __future__ import annotations

from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.store.ledger import Ledger, Searchable
from checkout_integration.sandbox.store.order_search import Search, State
from checkout_integration.sandbox.store.project_changes import ProjectChanges

__all__ = [
    "Ledger",
    "ProjectChanges",
    "Search",
    "Searchable",
    "State",
    "Store",
]
