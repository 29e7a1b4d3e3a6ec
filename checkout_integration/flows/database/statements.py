"""Statements that write many rows of one model at once: plain values of instances, to the database of the state.

Fields convert their values as in Django (``pre_save``, ``get_db_prep_save``), and errors are Django's. No signals are sent,
and expressions are not accepted. Django's own ``bulk_create`` and ``bulk_update`` take several times as long.

Each statement is composed once per database, in its fastest form. Several rows are sent to PostgreSQL as one JSON array,
because its drivers are slow for many parameters; to MariaDB and MySQL as a list of VALUES; to SQLite one by one, which is no
round trip there. None of these has a limit of parameters. A single row has a parameter for each value everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeAlias, cast

from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from checkout_integration.flows.database.transactions import own_transaction, state_database

AnyField: TypeAlias = "models.Field[Any, Any]"
Returned: TypeAlias = "Sequence[tuple[Any, ...]]"
Executed: TypeAlias = "tuple[int, Returned]"
Convert: TypeAlias = Callable[[Any, BaseDatabaseWrapper], Any]


@dataclass(frozen=True, kw_only=True)
class Insert:
    """Rows to insert, and the handling of stored rows with the same unique ``key``.

    Attributes:
        fields: the columns to insert.
        key: the columns by which the rows differ.
        update: columns that the stored row gets from the new one.
        add: columns with a new value that is added to the stored one.
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


Types: TypeAlias = "Mapping[type, tuple[type[AnyField], ...]]"
OWN_TYPES: Types = {
    str: (models.CharField, models.TextField),
    int: (models.IntegerField,),
    bool: (models.BooleanField,),
}
"""The types of values that drivers take as they are, and the fields whose own type they are."""


class Statement:
    """A statement, composed for one kind of database: here of one row, with a parameter for each value.

    All threads share it, so it is never changed.
    """

    plain: Types = OWN_TYPES

    def __init__(self, connection: BaseDatabaseWrapper, task: Insert | Update) -> None:
        self.quote = connection.ops.quote_name
        self.task = task
        self.table = self.quote(task.model._meta.db_table)
        self.sql = (
            self.insert(connection, task) if isinstance(task, Insert) else self.update(connection, task)
        )
        self.relations = [field for field in task.fields if isinstance(field, models.ForeignKey)]
        self._names = [field.attname for field in task.fields]
        self._columns = [(self._plain_types(field), self.converter(field)) for field in task.fields]
        """How the values of each column are written: those of the first types as they are."""
        self._read = attrgetter(*self._names)
        self._set_when_saved = [field for field in task.fields if _sets_itself(field)]

    def insert(self, connection: BaseDatabaseWrapper, task: Insert) -> str:
        """Compose ``INSERT … VALUES``."""
        places = ", ".join(["%s"] * len(task.fields))
        return (
            f"INSERT INTO {self.table} ({self.names(task.fields)}) VALUES ({places}){self.on_conflict(task)}"
        )

    def update(self, connection: BaseDatabaseWrapper, task: Update) -> str:
        """Compose the UPDATE."""
        *changes, key = self.each(task.fields, "{0} = %s")
        return f"UPDATE {self.table} SET {', '.join(changes)} WHERE {key}"

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows; return how many were made or found, and the returned columns of each."""
        (values,) = self.values(connection, rows)
        returning = self.returning(self.task) if isinstance(self.task, Insert) else ""
        return _sent(connection, self.sql + returning, values)

    def converter(self, field: AnyField) -> Convert:
        """Return a function that converts a value of the field, other than None, for the driver."""
        return field.get_db_prep_save

    def values(self, connection: BaseDatabaseWrapper, rows: Iterable[models.Model]) -> list[tuple[Any, ...]]:
        """Return the rows' values for the driver. Fields like ``auto_now`` set their attribute of the row.

        Raises `TypeError` for an expression: a driver could store its text.
        """
        return [
            tuple(
                value if type(value) in plain else convert(_plain(value), connection)
                for value, (plain, convert) in zip(self._read_saved(row), self._columns, strict=True)
            )
            for row in rows
        ]

    def _read_saved(self, row: models.Model) -> Sequence[Any]:
        for field in self._set_when_saved:
            field.pre_save(row, isinstance(self.task, Insert))
        values: Sequence[Any] = self._read(row)
        return values

    def _plain_types(self, field: AnyField) -> frozenset[type]:
        """Return the types of a field's values that need none of its conversion: most values are of its own type.

        But a shop may have accounts with a field of its own as their key, which converts such values, too.
        """
        own = _stored_as(field)
        ours = own.model._meta.app_label == self.task.model._meta.app_label
        return frozenset(
            [type(None), *(kind for kind, fields in self.plain.items() if ours and isinstance(own, fields))]
        )

    def name(self, field: AnyField) -> str:
        """Return the field's column as SQL names it."""
        return self.quote(field.column or "")

    def names(self, fields: Iterable[AnyField]) -> str:
        """Return the fields' columns as SQL lists them."""
        return ", ".join(map(self.name, fields))

    def each(self, fields: Iterable[AnyField], pattern: str) -> list[str]:
        """Return the pattern once for each field, with the column instead of ``{0}``."""
        return [pattern.format(self.name(field)) for field in fields]

    def on_conflict(self, task: Insert) -> str:
        """Compose the ON CONFLICT of PostgreSQL and SQLite for a row with an existing key."""
        changes = self.each(task.key[:1] if task.lock else task.update, "{0} = excluded.{0}")
        changes += self.each(task.add, f"{{0}} = {self.table}.{{0}} + excluded.{{0}}")
        if not (changes or task.ignore):
            return ""
        action = f"UPDATE SET {', '.join(changes)}" if changes else "NOTHING"
        return f" ON CONFLICT ({self.names(task.key)}) DO {action}"

    def returning(self, task: Insert) -> str:
        """Compose the RETURNING of PostgreSQL and MariaDB."""
        return f" RETURNING {self.names(task.returning)}" if task.returning else ""

    def read_back(self, cursor: CursorWrapper, values: Sequence[Sequence[Any]]) -> Returned:
        """Read the columns to return, after an INSERT of these values without RETURNING."""
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
        """Compose the placeholders of so many rows."""
        return ", ".join([f"({', '.join(['%s'] * columns)})"] * rows)

    def latest(self, cursor: CursorWrapper, key: str, count: int) -> tuple[str, list[Any]]:
        """Compose the condition that finds the rows just inserted, with its parameters."""
        raise NotImplementedError


def _sent(connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any]) -> Executed:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.rowcount, cursor.fetchall() if cursor.description else ()


def _sets_itself(field: AnyField) -> bool:
    return bool(getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False))


def _stored_as(field: AnyField) -> AnyField:
    """Return the field whose values a column has: of a foreign key, the related row's key."""
    return field.target_field if isinstance(field, models.ForeignKey) else field


def _plain(value: Any) -> Any:
    if hasattr(value, "as_sql"):
        raise TypeError("Rows are written with plain values, not with expressions.")
    return value


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
        self._of_one = Statement(connection, task)

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

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows in one statement: in the form for one row, or for several."""
        if len(rows) == 1:
            return self._of_one.execute(connection, rows)
        return _sent(connection, self.sql, [ENCODE(self.values(connection, rows))])

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
            return rowcount, returned or self.read_back(cursor, values)

    def _sql_for(self, connection: BaseDatabaseWrapper, count: int) -> str:
        if count == 1 and isinstance(self.task, Update):
            return super().update(connection, self.task)  # a table of one row would take twice as long
        table = self.table_of(count, len(self.task.fields))
        if isinstance(self.task, Update) and connection.display_name != "MariaDB":
            table = table.replace("(%s", "ROW(%s")  # MySQL's syntax for VALUES as a table
        return self.sql.replace(self.rows, table)

    def latest(self, cursor: CursorWrapper, key: str, count: int) -> tuple[str, list[Any]]:
        """Compose the condition: InnoDB numbers the rows of one INSERT without a gap, from the id that it reports."""
        return f"WHERE {key} >= %s ORDER BY {key} LIMIT %s", [cursor.lastrowid, count]


class SQLiteStatement(Statement):
    """One row, written repeatedly: all rows together may have more values than a statement can take."""

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows by one call. It returns nothing of several: a second one reads the inserted rows."""
        if len(rows) == 1 and connection.features.can_return_rows_from_bulk_insert:
            return super().execute(connection, rows)
        values = self.values(connection, rows)
        with connection.cursor() as cursor:
            cursor.executemany(self.sql, values)
            return cursor.rowcount, self.read_back(cursor, values)

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


Rows: TypeAlias = Sequence[models.Model]
Names: TypeAlias = tuple[str, ...]
MOST_STATEMENTS = 256
"""How many composed statements a process caches: one for each model, set of fields, and operation."""


def insert(rows: Rows, *, key: Names = (), in_order: bool = False) -> None:
    """Insert new rows; where the database refuses one of them, none is inserted. Automatic primary keys are new ones.

    ``key`` names fields by which these rows differ: with it their primary keys are set, since no database promises to return
    rows in any order. Rows are sorted by it first, so that two transactions with unique keys in common wait for each other in
    one direction only. ``in_order`` keeps the given sequence, for rows with meaningful primary keys; then a lock must ensure
    that no other transaction inserts the same ones. Raises `ValueError` where two rows have the same ``key``.
    """
    if rows:
        _mark_stored(rows, key, _insert(rows, key, distinct=True, in_order=in_order, returns=bool(key)))


def insert_missing(rows: Rows, *key: str, in_order: bool = False) -> None:
    """Insert the rows whose unique ``key`` does not exist yet; of several that have one key, the first.

    Stored rows stay as they are. Use `insert_or_lock` where primary keys are needed, or read the rows. MariaDB and MySQL skip
    a row for any other unique key of the table as well. See `insert` about ``in_order``.
    """
    if rows:
        _insert(rows, key, in_order=in_order, ignore=True)


def insert_or_lock(rows: Rows, *key: str) -> None:
    """Insert the rows whose unique ``key`` does not exist yet, and lock the stored ones: no other transaction changes them.

    The primary keys of all are set; other stored columns are not read. Raises `ValueError` where two rows have one key.
    """
    if rows:
        _mark_stored(rows, key, _insert(rows, key, distinct=True, lock=True, returns=True))


def upsert(rows: Rows, *key: str, update: Sequence[str] = (), add: Sequence[str] = ()) -> None:
    """Insert rows; where the unique ``key`` exists change the stored row. Primary keys are not set.

    The stored row gets the new values of the fields ``update``; those of ``add`` are added to its own. Raises `ValueError`
    where two of the rows have one key: the result would depend on the database.
    """
    if rows:
        _insert(rows, key, distinct=True, update=tuple(update), add=tuple(add))
        _mark_stored([row for row in rows if row.pk is not None], key, ())


def update(rows: Rows, fields: Sequence[str]) -> int:
    """Write these fields of stored rows, found by their primary keys. Return how many rows existed.

    The caller has locked them, since databases promise no order of locks. Raises `ValueError` if a row has no primary key, or
    two rows have the same.
    """
    if not rows:
        return 0
    alias = state_database()
    connection = connections[alias]
    statement = _update_statement(alias, connection.vendor, type(rows[0]), tuple(fields))
    if any(row.pk is None for row in rows):
        raise ValueError("A row without a primary key cannot be updated.")
    count, _ = _execute(connection, statement, rows, distinct=True)
    return count


def _insert(
    rows: Rows, key: Names, *, distinct: bool = False, in_order: bool = False, **conflict: Any
) -> Returned:
    alias = state_database()
    connection = connections[alias]
    statement = _insert_statement(alias, connection.vendor, type(rows[0]), key, **conflict)
    _, returned = _execute(connection, statement, rows, distinct=distinct, in_order=in_order)
    return returned


# With the vendor, since tests may put another database behind an alias.
@lru_cache(MOST_STATEMENTS)
def _insert_statement(
    alias: str,
    vendor: str,
    model: type[models.Model],
    key: Names,
    update: Names = (),
    add: Names = (),
    *,
    ignore: bool = False,
    lock: bool = False,
    returns: bool = False,
) -> Statement:
    primary = model._meta.pk
    automatic = isinstance(primary, models.AutoField)
    keys = _named(model, key)
    task = Insert(
        model=model,
        fields=[
            field
            for field in model._meta.concrete_fields
            if not (field.generated or (automatic and field is primary))
        ],
        key=keys,
        update=_named(model, update),
        add=_named(model, add),
        ignore=ignore,
        lock=lock,
        returning=[primary, *keys] if automatic and returns else (),
    )
    return STATEMENTS[vendor](connections[alias], task)


@lru_cache(MOST_STATEMENTS)
def _update_statement(alias: str, vendor: str, model: type[models.Model], fields: Names) -> Statement:
    primary = model._meta.pk
    task = Update(model=model, fields=[*_named(model, fields), primary], key=[primary])
    return STATEMENTS[vendor](connections[alias], task)


def _named(model: type[models.Model], names: Names) -> list[AnyField]:
    return [cast("AnyField", model._meta.get_field(name)) for name in names]


def _execute(
    connection: BaseDatabaseWrapper,
    statement: Statement,
    rows: Rows,
    *,
    distinct: bool = False,
    in_order: bool = False,
) -> Executed:
    """Write all rows or none. After a failure the transaction around this cannot be committed any more."""
    key = statement.task.key
    _take_related_keys(rows, statement.relations)
    if len(rows) > 1:
        if distinct and key and len(set(_identities(rows, key))) != len(rows):
            raise ValueError(f"Two rows have the same {' and '.join(field.name for field in key)}.")
        if not in_order:
            rows = sorted(rows, key=lambda row: _sort_key(row, key))
    # A single row is atomic by itself: BEGIN and COMMIT would be two round trips, as much as the row.
    alone = len(rows) > 1 and not connection.in_atomic_block
    with own_transaction() if alone else _rolled_back(connection):
        return statement.execute(connection, rows)


@contextmanager
def _rolled_back(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Let a transaction around this, if there is one, only be rolled back after an exception."""
    try:
        yield
    except BaseException:
        if connection.in_atomic_block:
            transaction.set_rollback(True, using=connection.alias)
        raise


def _take_related_keys(rows: Rows, relations: Sequence[models.ForeignKey[Any, Any]]) -> None:
    """Set foreign keys to related rows that were inserted after their assignment."""
    for field in relations:
        for row in rows:
            if getattr(row, field.attname) is not None:
                continue
            related = field.get_cached_value(row, default=None)
            if related is not None:
                if related.pk is None:
                    raise ValueError(f"{field} must be inserted first.")
                setattr(row, field.name, related)


def _sort_key(row: models.Model, key: Sequence[AnyField]) -> tuple[Any, ...]:
    values = [getattr(row, field.attname) for field in key]
    return tuple((value is None, value) for value in values)


def _identity(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the values of a key in one form for the row and for the database's result."""
    return tuple(map(str, values))


def _identities(rows: Rows, key: Sequence[AnyField]) -> list[tuple[str, ...]]:
    return [_identity([getattr(row, field.attname) for field in key]) for row in rows]


def _mark_stored(rows: Rows, key: Names, returned: Returned) -> None:
    alias = state_database()
    for row in rows:
        row._state.adding, row._state.db = False, alias
    if returned:
        primary_keys = {_identity(values): primary for primary, *values in returned}
        for row, identity in zip(rows, _identities(rows, _named(type(rows[0]), key)), strict=True):
            row.pk = primary_keys[identity]
