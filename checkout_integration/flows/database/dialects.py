"""SQL that writes many rows at once, in the form that each database takes fastest. `statements` says what it means.

Rows travel to PostgreSQL as one JSON array, because its drivers take long over each single parameter; to MariaDB and MySQL as
a list of VALUES; to SQLite one by one, which is no round trip there. None of these has a limit of parameters.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from json.encoder import encode_basestring
from typing import Any, NamedTuple, TypeAlias

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

AnyField: TypeAlias = "models.Field[Any, Any]"
Returned: TypeAlias = "Sequence[tuple[Any, ...]]"
Convert: TypeAlias = Callable[[Any, BaseDatabaseWrapper], Any]


@dataclass(frozen=True, kw_only=True)
class Insert:
    """Rows to insert, and what happens where a row of the same unique ``key`` exists.

    Attributes:
        fields: the columns to insert.
        key: the columns by which the rows differ.
        update: columns that the stored row takes over.
        add: columns whose new value is added to the stored one.
        ignore: the stored row stays as it is.
        lock: the stored row stays as it is, and is locked. Without any of these four the database refuses the new row.
        returning: columns to return of each row that was inserted or locked, first the automatic primary key.

    """

    model: type[models.Model]
    fields: Sequence[AnyField]
    key: Sequence[AnyField]
    update: Sequence[AnyField] = ()
    add: Sequence[AnyField] = ()
    ignore: bool = False
    lock: bool = False
    returning: Sequence[AnyField] = ()


@dataclass(frozen=True, kw_only=True)
class Update:
    """Rows to update: the columns to write, and last the one that is the ``key``."""

    model: type[models.Model]
    fields: Sequence[AnyField]
    key: Sequence[AnyField]


class Executed(NamedTuple):
    """What a statement did: how many rows it made or found, and what it returned of each."""

    rowcount: int
    returned: Returned


class Statement(ABC):
    """A statement, composed for one kind of database. Shared by all threads, hence never changed."""

    null: Any = None

    def __init__(self, connection: BaseDatabaseWrapper, task: Insert | Update) -> None:
        self.quote = connection.ops.quote_name
        self.task = task
        self.table = self.quote(task.model._meta.db_table)
        self.sql = (
            self.insert(connection, task) if isinstance(task, Insert) else self.update(connection, task)
        )
        self._adds = isinstance(task, Insert)
        self._columns = [(field.pre_save, self.converter(field)) for field in task.fields]

    @abstractmethod
    def insert(self, connection: BaseDatabaseWrapper, task: Insert) -> str:
        """Compose the SQL of an INSERT."""

    @abstractmethod
    def update(self, connection: BaseDatabaseWrapper, task: Update) -> str:
        """Compose the SQL of an UPDATE."""

    @abstractmethod
    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows."""

    def converter(self, field: AnyField) -> Convert:
        """Return what converts a value of the field, other than None, for the driver."""
        return field.get_db_prep_save

    def values(self, connection: BaseDatabaseWrapper, rows: Iterable[models.Model]) -> list[list[Any]]:
        """Return the rows' values for the driver. Fields like ``auto_now`` set their attribute of the row.

        Raises `TypeError` for an expression: a driver could store its text.
        """
        adds, null = self._adds, self.null
        return [
            [
                null if (value := pre_save(row, adds)) is None else convert(_plain(value), connection)
                for pre_save, convert in self._columns
            ]
            for row in rows
        ]

    def name(self, field: AnyField) -> str:
        """Return the field's column as SQL names it."""
        return self.quote(field.column or "")

    def names(self, fields: Iterable[AnyField]) -> str:
        """Return the fields' columns as SQL lists them."""
        return ", ".join(map(self.name, fields))

    def each(self, fields: Iterable[AnyField], pattern: str) -> list[str]:
        """Return the pattern once for each field, the column in the place of ``{0}``."""
        return [pattern.format(self.name(field)) for field in fields]

    def on_conflict(self, task: Insert) -> str:
        """Compose what PostgreSQL and SQLite do with a row whose key exists."""
        changes = self.each(task.key[:1] if task.lock else task.update, "{0} = excluded.{0}")
        changes += self.each(task.add, f"{{0}} = {self.table}.{{0}} + excluded.{{0}}")
        if not (changes or task.ignore):
            return ""
        action = f"UPDATE SET {', '.join(changes)}" if changes else "NOTHING"
        return f" ON CONFLICT ({self.names(task.key)}) DO {action}"

    def returning(self, task: Insert) -> str:
        """Compose what PostgreSQL and MariaDB return of each row."""
        return f" RETURNING {self.names(task.returning)}" if task.returning else ""

    def update_one(self, task: Update) -> str:
        """Compose the UPDATE of one row, in which each value is a parameter."""
        *changes, key = self.each(task.fields, "{0} = %s")
        return f"UPDATE {self.table} SET {', '.join(changes)} WHERE {key}"

    def read_back(self, cursor: CursorWrapper, values: Sequence[Sequence[Any]]) -> Returned:
        """Read what should be returned, after an INSERT of these values that has not returned it."""
        task = self.task
        if not isinstance(task, Insert) or not task.returning:
            return []
        if task.lock:
            places = [task.fields.index(field) for field in task.key]
            condition = f"WHERE ({self.names(task.key)}) IN ({self.table_of(len(values), len(places))})"
            parameters = [row[place] for row in values for place in places]
        else:
            condition, parameters = self.latest(cursor, self.name(task.returning[0]), len(values))
        cursor.execute(f"SELECT {self.names(task.returning)} FROM {self.table} {condition}", parameters)
        returned: Returned = cursor.fetchall()
        return returned

    def table_of(self, rows: int, columns: int) -> str:
        """Compose the places of so many rows of parameters."""
        return ", ".join([f"({', '.join(['%s'] * columns)})"] * rows)

    def latest(self, cursor: CursorWrapper, key: str, count: int) -> tuple[str, list[Any]]:
        """Compose the condition by which the rows are found that were just inserted, and its parameters."""
        raise NotImplementedError


class PostgreSQLStatement(Statement):
    """One parameter: an array of arrays, of texts, nulls, and JSON documents as they are."""

    null = "null"

    def converter(self, field: AnyField) -> Convert:
        """Return what writes a value as JSON; the database reads the text as a value of the column's type."""
        if isinstance(field, models.JSONField):
            return lambda value, _: json.dumps(value, cls=field.encoder)
        if isinstance(field, models.BinaryField):
            return lambda value, _: f'"\\\\x{bytes(value).hex()}"'
        return lambda value, connection: _json_text(field.get_db_prep_save(value, connection))

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

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows in one statement."""
        arrays = ",".join([f"[{','.join(values)}]" for values in self.values(connection, rows)])
        with connection.cursor() as cursor:
            cursor.execute(self.sql, [f"[{arrays}]"])
            return Executed(cursor.rowcount, cursor.fetchall() if cursor.description else ())

    def _given(self, connection: BaseDatabaseWrapper, field: AnyField, place: int) -> str:
        """Compose how a value is read from its place in the array.

        Without the length of the type: a cast to varchar(16) cuts off, where storing in such a column refuses.
        """
        if isinstance(field, models.JSONField):
            return f"NULLIF(given -> {place}, 'null')"
        return f"(given ->> {place})::{(field.db_type(connection) or '').partition('(')[0]}"


class MySQLStatement(Statement):
    """As many parameters as there are values; the driver writes them into the statement."""

    rows = "{rows}"

    def insert(self, connection: BaseDatabaseWrapper, task: Insert) -> str:
        """Compose an INSERT. Never ``INSERT IGNORE``: it cuts off what is too long, and says nothing."""
        changes = self.each(task.update, "{0} = VALUES({0})")
        changes += self.each(task.add, "{0} = {0} + VALUES({0})")
        changes += self.each(task.key[:1] if task.ignore or task.lock else (), "{0} = {0}")
        conflict = f" ON DUPLICATE KEY UPDATE {', '.join(changes)}" if changes else ""
        returning = self.returning(task) if connection.features.can_return_rows_from_bulk_insert else ""
        return f"INSERT INTO {self.table} ({self.names(task.fields)}) VALUES {self.rows}{conflict}{returning}"

    def update(self, connection: BaseDatabaseWrapper, task: Update) -> str:
        """Compose ``UPDATE … JOIN``.

        The table's own columns, of no row, give the values their names, types and collations. The values are joined first,
        whatever the optimizer thinks: reading the table first would lock all of it.
        """
        *changes, key = self.each(task.fields, f"{self.table}.{{0}} = given.{{0}}")
        own = f"SELECT {self.names(task.fields)} FROM {self.table} WHERE FALSE"
        return (
            f"UPDATE ({own} UNION ALL VALUES {self.rows}) AS given "
            f"STRAIGHT_JOIN {self.table} ON {key} SET {', '.join(changes)}"
        )

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows in one statement. MySQL returns nothing: there a second one reads what was inserted."""
        values = self.values(connection, rows)
        with connection.cursor() as cursor:
            cursor.execute(self._sql_for(connection, len(rows)), list(chain.from_iterable(values)))
            rowcount, returned = cursor.rowcount, cursor.fetchall() if cursor.description else ()
            return Executed(rowcount, returned or self.read_back(cursor, values))

    def _sql_for(self, connection: BaseDatabaseWrapper, count: int) -> str:
        if count == 1 and isinstance(self.task, Update):
            return self.update_one(self.task)  # a table of one row takes the database twice as long
        table = self.table_of(count, len(self.task.fields))
        if isinstance(self.task, Update) and connection.display_name != "MariaDB":
            table = table.replace("(%s", "ROW(%s")  # MySQL's word where VALUES stand for a table
        return self.sql.replace(self.rows, table)

    def latest(self, cursor: CursorWrapper, key: str, count: int) -> tuple[str, list[Any]]:
        """Compose it: InnoDB numbers the rows of one INSERT without a gap, from the id that it reports."""
        return f"WHERE {key} >= %s ORDER BY {key} LIMIT %s", [cursor.lastrowid, count]


class SQLiteStatement(Statement):
    """One row, written again and again: the values of all rows may be more than a statement takes."""

    def __init__(self, connection: BaseDatabaseWrapper, task: Insert | Update) -> None:
        super().__init__(connection, task)
        self._returning = self.returning(task) if isinstance(task, Insert) else ""

    def insert(self, connection: BaseDatabaseWrapper, task: Insert) -> str:
        """Compose the INSERT of one row, which cannot return anything where it is one of many."""
        places = ", ".join(["%s"] * len(task.fields))
        return (
            f"INSERT INTO {self.table} ({self.names(task.fields)}) VALUES ({places}){self.on_conflict(task)}"
        )

    def update(self, connection: BaseDatabaseWrapper, task: Update) -> str:
        """Compose the UPDATE of one row."""
        return self.update_one(task)

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows by one call. It returns nothing of several: a second one reads what was inserted."""
        values = self.values(connection, rows)
        with connection.cursor() as cursor:
            if len(values) == 1 and connection.features.can_return_rows_from_bulk_insert:
                cursor.execute(self.sql + self._returning, values[0])
            else:
                cursor.executemany(self.sql, values)
            rowcount, returned = cursor.rowcount, cursor.fetchall() if cursor.description else ()
            return Executed(rowcount, returned or self.read_back(cursor, values))

    def table_of(self, rows: int, columns: int) -> str:
        """Compose the places of so many rows of parameters."""
        return f"VALUES {super().table_of(rows, columns)}"

    def latest(self, cursor: CursorWrapper, key: str, count: int) -> tuple[str, list[Any]]:
        """Compose it: nobody else writes before this transaction ends, and ids only grow."""
        return f"ORDER BY {key} DESC LIMIT %s", [count]


STATEMENTS: dict[str, type[Statement]] = {
    "postgresql": PostgreSQLStatement,
    "mysql": MySQLStatement,
    "sqlite": SQLiteStatement,
}
"""By Django's name of the vendor; MariaDB's is MySQL."""


def _plain(value: Any) -> Any:
    if hasattr(value, "as_sql"):
        raise TypeError("Rows are written with plain values, not with expressions.")
    return value


def _json_text(value: Any) -> str:
    return encode_basestring(value if isinstance(value, str) else str(value))
