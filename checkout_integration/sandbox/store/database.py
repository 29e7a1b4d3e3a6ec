"""The sandbox's database: SQLite, in memory or in a file, behind one lock."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_VERSION: Final = 3
"""Version of the tables; goes up when they change."""
_SCHEMA: Final = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE IF NOT EXISTS orders (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL,
    status TEXT NOT NULL,
    paid INTEGER NOT NULL,
    reversal INTEGER NOT NULL,
    account TEXT NOT NULL,
    customer TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    row_json TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS orders_by_time ON orders (created_at, seq);
CREATE TABLE IF NOT EXISTS order_metadata (
    value TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (value, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (token TEXT PRIMARY KEY, created_at INTEGER NOT NULL, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS notifications (
    seq INTEGER PRIMARY KEY,
    order_id TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    event TEXT NOT NULL,
    object TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    delivery_try INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'due',
    answer INTEGER
);
CREATE INDEX IF NOT EXISTS notifications_due ON notifications (state, due_at);
CREATE INDEX IF NOT EXISTS notifications_of_order ON notifications (order_id);
CREATE TABLE IF NOT EXISTS remembered (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class Store:
    """The SQLite database; every statement runs inside `transaction`."""

    def __init__(self, path: str | Path | None = None) -> None:
        """Open `path`, or a database in memory when it is None."""
        # LOCK: one connection and one lock for all threads; never used during network traffic.
        self._lock = threading.RLock()
        self._depth = 0
        self._connection = sqlite3.connect(
            str(path) if path is not None else ":memory:", check_same_thread=False, isolation_level=None
        )
        # A sandbox needs no end: Python 3.13 warns of a connection that is collected open.
        weakref.finalize(self, self._connection.close)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._check_version()
        self._connection.executescript(_SCHEMA)

    def _check_version(self) -> None:
        """Refuse the file of another version; its data is play money, so it is not converted."""
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and version != _VERSION:
            raise sqlite3.DatabaseError("another version of the sandbox made it")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block in a transaction: committed at its end, rolled back when it raises; inner ones join the outer."""
        with self._lock:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield self._connection
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._connection.execute("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self._connection.execute("COMMIT")

    def run(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Execute one statement in a transaction, and return its rows."""
        with self.transaction() as connection:
            return connection.execute(statement, values).fetchall()

    def remember(self, name: str, value: str) -> None:
        """Store one text, which survives a restart."""
        self.run("INSERT OR REPLACE INTO remembered VALUES (?, ?)", (name, value))

    def remembered(self, name: str) -> str | None:
        """Return a text stored by `remember`, or None."""
        rows = self.run("SELECT value FROM remembered WHERE name = ?", (name,))
        return str(rows[0]["value"]) if rows else None

    def copy(self) -> Store:
        """Return a copy of this store in memory."""
        copied = Store()
        with self._lock:
            self._connection.backup(copied._connection)
        return copied

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._connection.close()
