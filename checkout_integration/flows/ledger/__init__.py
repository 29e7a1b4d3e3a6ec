"""The only writer of orders: lock, load, merge, write."""
