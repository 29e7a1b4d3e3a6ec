"""The orders in the database: the only statements that read or write them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.orders.order import Order, read_row_json, write_row_json
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.store.order_search import Search, conditions_of
from checkout_integration.sandbox.wire.moments import to_microseconds

_BEFORE_ALL: Final = -(2**62)
_BEGINS: Final = "substr(id, 1, length(?)) = ?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A part of a list: how many match in all, and whether there are others before and after `orders`."""

    count: int
    orders: list[Order]
    has_before: bool
    has_more: bool


@dataclass(frozen=True)
class Ledger:
    """The table of orders."""

    store: Store

    def add(self, order: Order) -> None:
        """Insert a new order with its metadata values."""
        with self.store.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO orders (id, project_id, status, paid, reversal, account, customer, created_at, row_json)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    order.id,
                    order.project_id,
                    order.status,
                    order.paid,
                    order.reversal,
                    order.account,
                    order.customer,
                    to_microseconds(order.created_at),
                    write_row_json(order),
                ),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO order_metadata VALUES (?, ?)",
                [(value, cursor.lastrowid) for value in order.metadata.values()],
            )

    def save(self, order: Order) -> None:
        """Write back an order read in the same transaction; metadata and time of creation never change."""
        self.store.run(
            "UPDATE orders SET status = ?, paid = ?, account = ?, customer = ?, row_json = ? WHERE id = ?",
            (order.status, order.paid, order.account, order.customer, write_row_json(order), order.id),
        )

    def find(self, order_id: str) -> Order | None:
        """Return the order or reversal item of that identifier, or None."""
        rows = self.store.run("SELECT * FROM orders WHERE id = ?", (order_id,))
        return _order_of(rows[0]) if rows else None

    def search(self, search: Search) -> tuple[int, list[Order]]:
        """Return how many orders match, and the requested page, oldest first."""
        condition, values = conditions_of(search)
        # The condition consists of fixed clauses and placeholders, here and below; every value is bound.
        statement = f"SELECT * FROM orders WHERE {condition} ORDER BY created_at, seq LIMIT ? OFFSET ?"  # noqa: S608
        with self.store.transaction():
            count = self._count(condition, values)
            rows = self.store.run(statement, [*values, search.limit, search.offset])
        return count, [_order_of(row) for row in rows]

    def window(self, search: Search, *, after: str | None = None, before: str | None = None) -> Window:
        """Return the orders of `search` next to a cursor, or the first ones; at most `search.limit`, oldest first."""
        condition, values = conditions_of(search)
        with self.store.transaction():
            count = self._count(condition, values)
            position = self._cursor_position(before or after)
            sign, order = ("<", "DESC") if before else (">", "ASC")
            statement = (
                f"SELECT * FROM orders WHERE {condition} AND (created_at, seq) {sign} (?, ?)"  # noqa: S608
                f" ORDER BY created_at {order}, seq {order} LIMIT ?"
            )
            rows = self.store.run(statement, [*values, *position, search.limit + 1])
        # One more than requested: if it exists, there is another page.
        further = len(rows) > search.limit
        orders = [_order_of(row) for row in rows[: search.limit]]
        if before:
            return Window(count=count, orders=orders[::-1], has_before=further, has_more=True)
        return Window(count=count, orders=orders, has_before=after is not None, has_more=further)

    def _count(self, condition: str, values: list[object]) -> int:
        (row,) = self.store.run(f"SELECT count(*) FROM orders WHERE {condition}", values)  # noqa: S608
        return int(row[0])

    def _cursor_position(self, order_id: str | None) -> tuple[int, int]:
        """Return the position of an order in the list; without one, the position before all."""
        rows = self.store.run("SELECT created_at, seq FROM orders WHERE id = ?", (order_id,))
        return (rows[0]["created_at"], rows[0]["seq"]) if rows else (_BEFORE_ALL, 0)

    def newest(self, limit: int, beginning: str = "") -> tuple[int, list[Order]]:
        """Return how many orders have an id with that beginning, and the newest of them, newest first, for the operator.

        By insertion, not by time: the clock may have been turned back in between.
        """
        statement = f"SELECT * FROM orders WHERE {_BEGINS} ORDER BY seq DESC LIMIT ?"  # noqa: S608
        with self.store.transaction():
            count = self._count(_BEGINS, [beginning, beginning])
            rows = self.store.run(statement, (beginning, beginning, limit))
        return count, [_order_of(row) for row in rows]


def _order_of(row: sqlite3.Row) -> Order:
    return read_row_json(
        row["row_json"],
        id=row["id"],
        project_id=row["project_id"],
        status=OrderStatus(row["status"]),
        paid=bool(row["paid"]),
        reversal=bool(row["reversal"]),
    )
