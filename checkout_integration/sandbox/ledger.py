"""The orders in the store: the only statements that read or write them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.moments import to_microseconds
from checkout_integration.sandbox.order import Order, one_line, read_sheet, write_sheet
from checkout_integration.sandbox.page_marks import Filter, PageMarks, Place
from checkout_integration.sandbox.store import Store

_BEFORE_ALL: Final = -(2**62)


State = tuple[str, bool | None]
"""A status, and whether only items of reversals have it (True), only orders (False), or both (None)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """What the transactions list looks for; every part narrows, None does not (EP3-03 to EP3-11).

    `account` is the customer's whole identifier in the merchant project, `customer` a part of what is known of them.
    """

    project_ids: Sequence[str]
    id: str | None = None
    states: Sequence[State] | None = None
    account: str | None = None
    customer: str | None = None
    invoice_id: str | None = None
    date_from: datetime | None = None
    date_to: datetime | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A stretch of a list: how many match in all, and whether there are others on either side of `orders`."""

    count: int
    orders: list[Order]
    has_before: bool
    has_more: bool


class Searchable(Protocol):
    """What the transactions list reads: the ledger, or the ledger behind faults."""

    def search(self, search: Search) -> tuple[int, list[Order]]:
        """Return how many orders match, and the asked page of them, oldest first."""


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _conditions(search: Search) -> tuple[str, list[object]]:
    clauses = [f"project_id IN ({_marks(search.project_ids)})"]
    values: list[object] = list(search.project_ids)
    if search.id is not None:
        clauses.append("id = ?")
        values.append(search.id)
    if search.states is not None:
        clauses.append(
            f"({' OR '.join(['(status = ? AND reversal = coalesce(?, reversal))'] * len(search.states))})"
        )
        values += [value for state in search.states for value in state]
    if search.account is not None:
        clauses.append("account = ?")
        values.append(search.account)
    if search.customer is not None:
        clauses.append("(instr(customer, ?) > 0 OR instr(id, ?) > 0)")
        values += [one_line(search.customer).casefold()] * 2
    if search.invoice_id is not None:
        clauses.append("seq IN (SELECT seq FROM order_metadata WHERE value = ?)")
        values.append(search.invoice_id)
    if search.date_from is not None:
        clauses.append("created_at >= ?")
        values.append(to_microseconds(search.date_from))
    if search.date_to is not None:
        clauses.append("created_at <= ?")
        values.append(to_microseconds(search.date_to))
    return " AND ".join(clauses), values


class Ledger:
    """Reads and writes orders."""

    def __init__(self, store: Store) -> None:
        """Work on the given store."""
        self._store = store
        self._marks = PageMarks()

    def add(self, order: Order) -> None:
        """Insert a new order with its metadata values."""
        with self._store.transaction() as connection:
            self._insert(connection, order)

    def add_all(self, orders: Iterable[Order]) -> None:
        """Insert many orders in one transaction."""
        with self._store.transaction() as connection:
            for order in orders:
                self._insert(connection, order)

    def _insert(self, connection: sqlite3.Connection, order: Order) -> None:
        self._marks.forget()
        cursor = connection.execute(
            "INSERT INTO orders (id, project_id, status, paid, reversal, account, customer, created_at, sheet)"
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
                write_sheet(order),
            ),
        )
        connection.executemany(
            "INSERT OR IGNORE INTO order_metadata VALUES (?, ?)",
            [(value, cursor.lastrowid) for value in order.metadata.values()],
        )

    def save(self, order: Order) -> None:
        """Write back an order read in the same transaction; metadata and time of creation never change."""
        with self._store.transaction() as connection:
            self._marks.forget()
            connection.execute(
                "UPDATE orders SET status = ?, paid = ?, account = ?, customer = ?, sheet = ? WHERE id = ?",
                (order.status, order.paid, order.account, order.customer, write_sheet(order), order.id),
            )

    def find(self, order_id: str) -> Order | None:
        """Return the order or reversal item of that identifier, or None."""
        with self._store.transaction() as connection:
            row = connection.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
        return None if row is None else _order_of(row)

    def search(self, search: Search) -> tuple[int, list[Order]]:
        """Return how many orders match, and the asked page of them, oldest first."""
        condition, values = _conditions(search)
        asked = (condition, tuple(values))
        with self._store.transaction() as connection:
            count = self._count(connection, asked)
            rows = self._rows(connection, asked, search)
            self._marks.keep_places(asked, search.offset, [(row["created_at"], row["seq"]) for row in rows])
        return count, [_order_of(row) for row in rows]

    # In both statements the condition is made of fixed clauses and marks; every value is bound.

    def _count(self, connection: sqlite3.Connection, asked: Filter) -> int:
        known = self._marks.count(asked)
        if known is None:
            condition, values = asked
            statement = f"SELECT count(*) FROM orders WHERE {condition}"  # noqa: S608
            (known,) = connection.execute(statement, values).fetchone()
            self._marks.keep_count(asked, known)
        return known

    def _rows(self, connection: sqlite3.Connection, asked: Filter, search: Search) -> list[sqlite3.Row]:
        condition, values = asked
        place = self._marks.place(asked, search.offset)
        start = "(created_at, seq) >= (?, ?)" if place else "1"
        offset = 0 if place else search.offset
        statement = (
            f"SELECT * FROM orders WHERE {condition} AND {start}"  # noqa: S608
            " ORDER BY created_at, seq LIMIT ? OFFSET ?"
        )
        return connection.execute(statement, [*values, *(place or ()), search.limit, offset]).fetchall()

    def window(self, search: Search, *, after: str | None = None, before: str | None = None) -> Window:
        """Return the orders of `search` next to a cursor, or the first ones; at most `search.limit`, oldest first."""
        condition, values = _conditions(search)
        with self._store.transaction() as connection:
            count = self._count(connection, (condition, tuple(values)))
            place = self._cursor_place(connection, before or after)
            sign, order = ("<", "DESC") if before else (">", "ASC")
            statement = (
                f"SELECT * FROM orders WHERE {condition} AND (created_at, seq) {sign} (?, ?)"  # noqa: S608
                f" ORDER BY created_at {order}, seq {order} LIMIT ?"
            )
            rows = connection.execute(statement, [*values, *place, search.limit + 1]).fetchall()
        # WHY one more than asked for: whether it is there tells whether the list goes on.
        further = len(rows) > search.limit
        orders = [_order_of(row) for row in rows[: search.limit]]
        if before:
            return Window(count=count, orders=orders[::-1], has_before=further, has_more=True)
        return Window(count=count, orders=orders, has_before=after is not None, has_more=further)

    def _cursor_place(self, connection: sqlite3.Connection, order_id: str | None) -> Place:
        """Return where an order stands in the list; without one, the place before all."""
        statement = "SELECT created_at, seq FROM orders WHERE id = ?"
        row = connection.execute(statement, (order_id,)).fetchone() if order_id else None
        return (row["created_at"], row["seq"]) if row else (_BEFORE_ALL, 0)

    def newest(self, limit: int) -> tuple[int, list[Order]]:
        """Return the number of all orders, and those made last first, for the operator.

        WHY not by their times: the clock may have been turned back in between.
        """
        with self._store.transaction() as connection:
            (count,) = connection.execute("SELECT count(*) FROM orders").fetchone()
            rows = connection.execute("SELECT * FROM orders ORDER BY seq DESC LIMIT ?", (limit,)).fetchall()
        return count, [_order_of(row) for row in rows]


def _order_of(row: sqlite3.Row) -> Order:
    return read_sheet(
        row["sheet"],
        id=row["id"],
        project_id=row["project_id"],
        status=OrderStatus(row["status"]),
        paid=bool(row["paid"]),
        reversal=bool(row["reversal"]),
    )
