"""SQL that writes many rows at once, in the fastest form for each database. `statements` describes the meaning.

Several rows are sent to PostgreSQL as one JSON array, because its drivers are slow for many parameters; to MariaDB and
MySQL as a list of VALUES; to SQLite one by one, which is no round trip there. None of these has a limit of parameters. A
single row has a parameter for each value everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from types import ModuleType
from typing import Any, Final

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from checkout_integration.flows.database.composed import (
    OWN_TYPES,
    AnyField,
    Composed,
    Convert,
    Executed,
    Insert,
    OneRowStatement,
    Statement,
    Update,
)


def _text_of(value: Decimal | datetime) -> str:
    if isinstance(value, datetime) and value.tzinfo is None:
        raise TypeError("A time needs a zone.")
    return str(value)


ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_text_of).encode


class PostgreSQLStatement(Statement):
    """One parameter: a JSON array of arrays, of texts, numbers, booleans and nulls. JSON documents are texts in it."""

    plain = {**OWN_TYPES, Decimal: (models.DecimalField,), datetime: (models.DateTimeField,)}

    def __init__(self, connection: BaseDatabaseWrapper, task: Insert | Update) -> None:
        super().__init__(connection, task)
        self._of_one = OneRowStatement(connection, task)

    def converter(self, field: AnyField) -> Convert:
        """Return a function that writes a value as text, which the database reads as a value of the column's type."""
        if isinstance(field, models.JSONField):
            encode = (field.encoder or json.JSONEncoder)().encode
            return lambda value, _: encode(value)
        if isinstance(field, models.BinaryField):
            return lambda value, _: f"\\x{bytes(field.get_prep_value(value)).hex()}"
        return lambda value, connection: str(field.get_db_prep_save(value, connection))

    def insert(self, connection: BaseDatabaseWrapper, task: Insert) -> str:
        """Compose ``INSERT … SELECT``."""
        values = [self._given(connection, field, place) for place, field in enumerate(task.fields)]
        return (
            f"INSERT INTO {self.table} ({self.names(task.fields)}) "
            f"SELECT {', '.join(values)} FROM jsonb_array_elements(%s::jsonb) AS given"
            f"{self.on_conflict(task)}{self.returning(task)}"
        )

    def update(self, connection: BaseDatabaseWrapper, task: Update) -> str:
        """Compose ``UPDATE … FROM``."""
        *changes, key = [
            f"{self.name(field)} = {self._given(connection, field, place)}"
            for place, field in enumerate(task.fields)
        ]
        return (
            f"UPDATE {self.table} SET {', '.join(changes)} "
            f"FROM jsonb_array_elements(%s::jsonb) AS given WHERE {self.table}.{key}"
        )

    def of_one(self, connection: BaseDatabaseWrapper) -> str:
        """Return the form without JSON."""
        return self._of_one.sql

    def goes_with_others(self, connection: BaseDatabaseWrapper) -> bool:
        """Return whether psycopg 3 writes the parameters into the SQL, as it does unless the settings say otherwise."""
        driver: ModuleType = connection.Database  # type: ignore[attr-defined]  # each of Django's backends has it
        return driver.__name__ == "psycopg" and not connection.settings_dict["OPTIONS"].get(
            "server_side_binding"
        )

    def compose(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Composed:
        """Return the form for one row or for several."""
        if len(rows) == 1:
            return self._of_one.compose(connection, rows)
        return Composed(self.sql, [ENCODE(self.values(connection, rows))])

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows in one statement."""
        with connection.cursor() as cursor:
            cursor.execute(*self.compose(connection, rows))
            return Executed(cursor.rowcount, cursor.fetchall() if cursor.description else ())

    def _given(self, connection: BaseDatabaseWrapper, field: AnyField, place: int) -> str:
        """Compose the SQL that reads a value from its place in the array.

        The type has no length: a cast to varchar(16) truncates, while storing in such a column fails.
        """
        return f"(given ->> {place})::{(field.db_type(connection) or '').partition('(')[0]}"


class MySQLStatement(Statement):
    """As many parameters as there are values; the driver writes them into the statement."""

    rows = "{rows}"

    def insert(self, connection: BaseDatabaseWrapper, task: Insert) -> str:
        """Compose an INSERT. Never ``INSERT IGNORE``: it truncates long values silently."""
        changes = self.each(task.update, "{0} = VALUES({0})")
        changes += self.each(task.add, "{0} = {0} + VALUES({0})")
        changes += self.each(task.key[:1] if task.ignore or task.lock else (), "{0} = {0}")
        conflict = f" ON DUPLICATE KEY UPDATE {', '.join(changes)}" if changes else ""
        returning = self.returning(task) if connection.features.can_return_rows_from_bulk_insert else ""
        return f"INSERT INTO {self.table} ({self.names(task.fields)}) VALUES {self.rows}{conflict}{returning}"

    def update(self, connection: BaseDatabaseWrapper, task: Update) -> str:
        """Compose ``UPDATE … JOIN``.

        A SELECT of no row gives the values the names, types and collations of the table's columns. STRAIGHT_JOIN reads the
        values first, whatever the optimizer prefers: reading the table first would lock all of it.
        """
        *changes, key = self.each(task.fields, f"{self.table}.{{0}} = given.{{0}}")
        own = f"SELECT {self.names(task.fields)} FROM {self.table} WHERE FALSE"
        return (
            f"UPDATE ({own} UNION ALL VALUES {self.rows}) AS given "
            f"STRAIGHT_JOIN {self.table} ON {key} SET {', '.join(changes)}"
        )

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows in one statement. MySQL returns nothing: there a second one reads the inserted rows."""
        values = self.values(connection, rows)
        with connection.cursor() as cursor:
            cursor.execute(self._sql_for(connection, len(rows)), list(chain.from_iterable(values)))
            rowcount, returned = cursor.rowcount, cursor.fetchall() if cursor.description else ()
            return Executed(rowcount, returned or self.read_back(cursor, values))

    def of_one(self, connection: BaseDatabaseWrapper) -> str:
        """Return the statement with a list of one row."""
        return self._sql_for(connection, 1)

    def _sql_for(self, connection: BaseDatabaseWrapper, count: int) -> str:
        if count == 1 and isinstance(self.task, Update):
            return self.update_one(self.task)  # a table of one row would take twice as long
        table = self.table_of(count, len(self.task.fields))
        if isinstance(self.task, Update) and connection.display_name != "MariaDB":
            table = table.replace("(%s", "ROW(%s")  # MySQL's syntax for VALUES as a table
        return self.sql.replace(self.rows, table)

    def latest(self, cursor: CursorWrapper, key: str, count: int) -> tuple[str, list[Any]]:
        """Compose the condition: InnoDB numbers the rows of one INSERT without a gap, from the id that it reports."""
        return f"WHERE {key} >= %s ORDER BY {key} LIMIT %s", [cursor.lastrowid, count]


class SQLiteStatement(OneRowStatement):
    """One row, written repeatedly: all rows together may have more values than a statement can take."""

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows by one call. It returns nothing of several: a second one reads the inserted rows."""
        if len(rows) == 1 and connection.features.can_return_rows_from_bulk_insert:
            return super().execute(connection, rows)
        values = self.values(connection, rows)
        with connection.cursor() as cursor:
            cursor.executemany(self.sql, values)
            return Executed(cursor.rowcount, self.read_back(cursor, values))

    def table_of(self, rows: int, columns: int) -> str:
        """Compose the placeholders of so many rows."""
        return f"VALUES {super().table_of(rows, columns)}"

    def latest(self, cursor: CursorWrapper, key: str, count: int) -> tuple[str, list[Any]]:
        """Compose the condition: no other process writes before this transaction ends, and ids only grow."""
        return f"ORDER BY {key} DESC LIMIT %s", [count]


STATEMENTS: dict[str, type[Statement]] = {
    "postgresql": PostgreSQLStatement,
    "mysql": MySQLStatement,
    "sqlite": SQLiteStatement,
}
"""By Django's name of the vendor; MariaDB's is MySQL."""
