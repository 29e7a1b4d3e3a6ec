"""Statements that write rows, composed once per database: the part that all databases share, and the one-row form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

AnyField: TypeAlias = "models.Field[Any, Any]"
Returned: TypeAlias = "Sequence[tuple[Any, ...]]"
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


class Executed(NamedTuple):
    """The result of a statement: how many rows it made or found, and the returned columns of each."""

    rowcount: int
    returned: Returned


Types: TypeAlias = "Mapping[type, tuple[type[AnyField], ...]]"
OWN_TYPES: Types = {
    str: (models.CharField, models.TextField),
    int: (models.IntegerField,),
    bool: (models.BooleanField,),
}
"""The types of values that drivers take as they are, and the fields whose own type they are."""


class Written(NamedTuple):
    """How the values of a column are written: those of the types ``plain`` as they are."""

    plain: frozenset[type]
    convert: Convert


class Composed(NamedTuple):
    """SQL with placeholders, and the parameters for these."""

    sql: str
    parameters: Sequence[Any]


class Statement(ABC):
    """A statement, composed for one kind of database. All threads share it, so it is never changed."""

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
        self._columns = [Written(self._plain_types(field), self._converter(field)) for field in task.fields]
        self._read = attrgetter(*self._names)
        self._set_when_saved = [field for field in task.fields if _sets_itself(field)]
        zones = connection.features.supports_timezones
        converted = models.BinaryField if zones else (models.BinaryField, models.DateTimeField)
        self._converted = [
            (place, field) for place, field in enumerate(task.fields) if isinstance(field, converted)
        ]

    @abstractmethod
    def insert(self, connection: BaseDatabaseWrapper, task: Insert) -> str:
        """Compose the SQL of an INSERT."""

    @abstractmethod
    def update(self, connection: BaseDatabaseWrapper, task: Update) -> str:
        """Compose the SQL of an UPDATE."""

    @abstractmethod
    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the rows."""

    @abstractmethod
    def of_one(self, connection: BaseDatabaseWrapper) -> str:
        """Return the SQL that writes one row, with a placeholder for each value."""

    def goes_with_others(self, connection: BaseDatabaseWrapper) -> bool:
        """Return whether the driver sends several statements with their parameters at once, and returns all their results."""
        return False

    def compose(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Composed:
        """Return the SQL that writes these rows, with its parameters, if it can go with others."""
        raise NotImplementedError

    def execute_plain(self, connection: BaseDatabaseWrapper, row: object) -> None:
        """Write one row that is no instance of the model: attributes for every driver, aware times, and bytes."""
        values = [getattr(row, name) for name in self._names]
        for place, field in self._converted:
            values[place] = field.get_db_prep_value(values[place], connection)
        with connection.cursor() as cursor:
            cursor.execute(self.of_one(connection), values)

    def converter(self, field: AnyField) -> Convert:
        """Return a function that converts a value of the field, other than None, for the driver."""
        return field.get_db_prep_save

    def values(self, connection: BaseDatabaseWrapper, rows: Iterable[models.Model]) -> list[tuple[Any, ...]]:
        """Return the rows' values for the driver. Fields like ``auto_now`` set their attribute of the row.

        Raises `TypeError` for an expression: a driver could store its text.
        """
        # By column: most have nothing to convert, and looking at each of their values would take longer than writing them.
        columns = zip(*map(self._read_saved, rows), strict=True)
        return list(
            zip(
                *(
                    values
                    if written.plain.issuperset(map(type, values))
                    else self._converted_values(connection, written, values)
                    for written, values in zip(self._columns, columns, strict=True)
                ),
                strict=True,
            )
        )

    @staticmethod
    def _converted_values(
        connection: BaseDatabaseWrapper, written: Written, values: Iterable[Any]
    ) -> list[Any]:
        plain, convert = written
        return [value if type(value) in plain else convert(value, connection) for value in values]

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

    def _converter(self, field: AnyField) -> Convert:
        convert = self.converter(field)
        return lambda value, connection: convert(_plain(value), connection)

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

    def update_one(self, task: Update) -> str:
        """Compose the UPDATE of one row, in which each value is a parameter."""
        *changes, key = self.each(task.fields, "{0} = %s")
        return f"UPDATE {self.table} SET {', '.join(changes)} WHERE {key}"

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


class OneRowStatement(Statement):
    """One row: a parameter for each value."""

    def insert(self, connection: BaseDatabaseWrapper, task: Insert) -> str:
        """Compose ``INSERT … VALUES``."""
        places = ", ".join(["%s"] * len(task.fields))
        return (
            f"INSERT INTO {self.table} ({self.names(task.fields)}) VALUES ({places}){self.on_conflict(task)}"
        )

    def update(self, connection: BaseDatabaseWrapper, task: Update) -> str:
        """Compose the UPDATE."""
        return self.update_one(task)

    def of_one(self, connection: BaseDatabaseWrapper) -> str:
        """Return the statement itself."""
        return self.sql

    def compose(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Composed:
        """Return the statement with the row's values."""
        (values,) = self.values(connection, rows)
        return Composed(
            self.sql + (self.returning(self.task) if isinstance(self.task, Insert) else ""), values
        )

    def execute(self, connection: BaseDatabaseWrapper, rows: Sequence[models.Model]) -> Executed:
        """Write the row, and return the requested columns."""
        with connection.cursor() as cursor:
            cursor.execute(*self.compose(connection, rows))
            return Executed(cursor.rowcount, cursor.fetchall() if cursor.description else ())


def _sets_itself(field: AnyField) -> bool:
    return bool(getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False))


def _stored_as(field: AnyField) -> AnyField:
    """Return the field whose values a column has: of a foreign key, the related row's key."""
    return field.target_field if isinstance(field, models.ForeignKey) else field


def _plain(value: Any) -> Any:
    if hasattr(value, "as_sql"):
        raise TypeError("Rows are written with plain values, not with expressions.")
    return value
