"""The service's API: tokens, orders, transactions list, cursor list.

- `creation_requests`: creation of tokens and orders: who may, and with which data
- `transactions_list`: the transactions list
- `cursor_list`: the list of orders by cursors
"""
