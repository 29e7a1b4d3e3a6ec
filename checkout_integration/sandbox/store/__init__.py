"""The SQLite database: orders and all other data that survives a restart.

- `database`: the connection, the tables, transactions
- `ledger`: the orders: the only statements that read or write them
- `order_search`: the filters of a list, as SQL conditions
- `project_changes`: settings that were changed in earlier runs
"""
