"""Hand-written SQL for every notification and every receiver, composed once for each database.

Django composes a queryset anew each time, which takes several times as long as executing it; for rows that come one by
one that is most of the cost. Work that is not done for each payment uses querysets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from django.core.exceptions import EmptyResultSet
from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Value

from checkout_integration.flows.database.transactions import state_database
from checkout_integration.models.columns import InstantField

Row = TypeVar("Row", bound=models.Model)
PLACE: Final = re.compile(r"\{(\w+)\}")
NAME: Final = re.compile(r"\[(\w+)\]")
LIMIT: Final = re.compile(r"LIMIT (\{most\w*\})")
IN: Final = re.compile(r"(?<!NOT )IN $")
MANY: Final = 10
"""Values of a list from which on it is an array in PostgreSQL."""
MOST_COMPOSED: Final = 256
TIME: Final = InstantField()
TIME_READ: Final = Value(None, output_field=TIME)


class Command:
    """A statement with placeholders in braces: for the table of a model that is named here, and for the values of a call.

    A collection becomes a list in parentheses, as in ``IN {keys}``, or an array in PostgreSQL if it is long; an empty one
    contains nothing, and ``NOT IN`` it is never true. A name in square brackets is quoted, since some columns are words of
    SQL. Times are aware ones.

    Args:
        sql: the statement.
        in_order: whether to make PostgreSQL read an index in its order where the statement says ``LIMIT {most}``, or another
            name that begins so, by hiding the number. Otherwise it may sort all rows of a new backlog. Or it may read them
            by a bitmap: then each read passes the entries of all rows that have left the queue, until the next vacuum; a read
            in order removes them.
        tables: the models whose tables are named.

    """

    def __init__(self, sql: str, *, in_order: bool = False, **tables: type[models.Model]) -> None:
        self._sql, self._in_order, self._tables = sql, in_order, tables

    def execute(self, **values: object) -> int:
        """Execute it, and return how many rows it changed."""
        connection = connections[state_database()]
        with connection.cursor() as cursor:
            cursor.execute(*self._with_values(connection, values))
            return int(cursor.rowcount)

    def fetch(self, **values: object) -> list[tuple[Any, ...]]:
        """Execute it, and return the selected values as the driver gives them: for numbers and texts."""
        connection = connections[state_database()]
        with connection.cursor() as cursor:
            cursor.execute(*self._with_values(connection, values))
            return list(cursor.fetchall())

    def compose(self, connection: BaseDatabaseWrapper) -> str:
        """Return the SQL for this database, in which only the placeholders for values are left."""
        return self._with_tables(connection, self._sql)

    def _with_tables(self, connection: BaseDatabaseWrapper, sql: str) -> str:
        tables = {name: _table(connection, model) for name, model in self._tables.items()}
        if self._in_order and connection.vendor == "postgresql":
            sql = LIMIT.sub(r"LIMIT (SELECT \1)", sql)
        named = PLACE.sub(lambda place: tables.get(place[1], place[0]), sql)
        return NAME.sub(lambda name: connection.ops.quote_name(name[1]), named)

    def _with_values(
        self, connection: BaseDatabaseWrapper, values: Mapping[str, object]
    ) -> tuple[str, list[Any]]:
        sql, parameters = list[str](), list[Any]()
        for text, name in _composed(self, connection.alias, connection.vendor):
            value = values[name] if name else ()
            if not isinstance(value, Collection) or isinstance(value, str | bytes):
                sql += text, "%s"
                parameters.append(_prepared(connection, value))
            elif len(value) >= MANY and connection.vendor == "postgresql" and IN.search(text):
                # One parameter, since PostgreSQL's drivers are slow for many.
                sql += IN.sub("= ANY (", text), "%s)"
                parameters.append(_array(value))
            else:
                sql += text, f"({', '.join(['%s'] * len(value))})" if value else "(NULL)" if name else ""
                parameters += value
        return "".join(sql), parameters


def keys_by_index(rows: models.QuerySet[Any], *index: str, most: int) -> list[Any]:
    """Return the keys of the first rows in the sequence of an index.

    Without a sequence, PostgreSQL would read the whole table where it expects many such rows; where it sees the limit, it
    may sort them.
    """
    alias = state_database()
    connection = connections[alias]
    try:
        sql, parameters = rows.order_by(*index).values("pk").query.get_compiler(alias).as_sql()
    except EmptyResultSet:
        return []
    limit = "(SELECT %s)" if connection.vendor == "postgresql" else "%s"
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} LIMIT {limit}", [*parameters, most])
        return [key for (key,) in cursor.fetchall()]


def instant_of(value: Any) -> Any:
    """Return the aware time that `Command.fetch` has read from a column of times."""
    connection = connections[state_database()]
    for convert in [*connection.ops.get_db_converters(TIME_READ), *TIME.get_db_converters(connection)]:
        value = convert(value, TIME_READ, connection)
    return value


class Query(Command, Generic[Row]):
    """A SELECT of a model's rows, with the alias ``own``: conditions, order and limit, with placeholders as in `Command`.

    Args:
        model: the model of the rows.
        where: the conditions after WHERE.
        only: the fields to read; all without. Others are read on access.
        joined: relations to one row, which is read too; its alias is the relation's name.
        lock: the rows to lock until the transaction ends, ``own`` or a relation that is never empty. Databases without
            ``FOR UPDATE OF`` lock every table that is joined; SQLite is locked as a whole.
        waits: whether to wait for rows that others have locked, or to skip them where the database can do so.
        tables: other models in ``where``.

    """

    def __init__(
        self,
        model: type[Row],
        where: str,
        *,
        only: Sequence[str] = (),
        joined: Sequence[str] = (),
        lock: Sequence[str] = (),
        waits: bool = True,
        **tables: type[models.Model],
    ) -> None:
        super().__init__(where, in_order=False, **tables)
        self.model, self.only, self.joined = model, only, joined
        self._lock, self._waits = lock, waits

    def rows(self, **values: object) -> list[Row]:
        """Return the rows, each with the rows that are joined to it."""
        connection = connections[state_database()]
        own, *joined = _parts(self, connection.alias, connection.vendor)
        with connection.cursor() as cursor:
            cursor.execute(*self._with_values(connection, values))
            found = cursor.fetchall()
        rows: list[Row] = []
        for read in found:
            row = own.row(connection, read)
            for part in joined:
                if (related := part.row(connection, read)) is not None:
                    relation: Any = self.model._meta.get_field(part.name)
                    relation.set_cached_value(row, related)
            rows.append(row)
        return rows

    def compose(self, connection: BaseDatabaseWrapper) -> str:
        """Return the whole SELECT."""
        quote = connection.ops.quote_name
        parts = _parts(self, connection.alias, connection.vendor)
        columns = ", ".join(
            f"{quote(part.name)}.{quote(column)}" for part in parts for column in part.columns
        )
        joins = "".join(self._join(connection, name) for name in self.joined)
        where = self._with_tables(connection, self._sql)
        table = _table(connection, self.model)
        return f"SELECT {columns} FROM {table} own{joins} WHERE {where}{self._locking(connection)}"  # noqa: S608

    def _join(self, connection: BaseDatabaseWrapper, name: str) -> str:
        """Return the join of a relation: an inner one only where the database accepts FOR UPDATE OF.

        MariaDB may begin an inner join with either table, and locks as it reads.
        """
        quote, relation = connection.ops.quote_name, self.model._meta.get_field(name)
        related = _related(self.model, name)
        theirs, ours = related._meta.pk, self.model._meta.pk
        if isinstance(relation, models.ForeignKey):
            ours = relation
        else:
            theirs = cast("models.OneToOneRel", relation).field
        inner = name in self._lock and connection.features.has_select_for_update_of
        return (
            f" {'INNER' if inner else 'LEFT'} JOIN {_table(connection, related)} {quote(name)}"
            f" ON {quote(name)}.{quote(str(theirs.column))} = own.{quote(str(ours.column))}"
        )

    def _locking(self, connection: BaseDatabaseWrapper) -> str:
        features = connection.features
        if not self._lock or not features.has_select_for_update:
            return ""
        clause = " FOR NO KEY UPDATE" if features.has_select_for_no_key_update else " FOR UPDATE"
        if features.has_select_for_update_of:
            clause += f" OF {', '.join(map(connection.ops.quote_name, self._lock))}"
        leaves_out = not self._waits and features.has_select_for_update_skip_locked
        return f"{clause} SKIP LOCKED" if leaves_out else clause


class _Part(NamedTuple):
    """The columns that a query reads from one table, and the conversion of their values to a row."""

    name: str
    model: type[models.Model]
    columns: Sequence[str]
    attributes: Sequence[str]
    begin: int
    primary: int
    converters: Sequence[tuple[int, Expression, Sequence[Callable[..., Any]]]]

    def row(self, connection: BaseDatabaseWrapper, read: Sequence[Any]) -> Any:
        """Return the row; None if the relation is empty."""
        values = list(read[self.begin : self.begin + len(self.columns)])
        if values[self.primary] is None:
            return None
        for place, expression, converters in self.converters:
            for convert in converters:
                values[place] = convert(values[place], expression, connection)
        return self.model.from_db(connection.alias, self.attributes, values)


# With the vendor, since tests may put another database behind an alias.
@lru_cache(MOST_COMPOSED)
def _composed(command: Command, alias: str, vendor: str) -> Sequence[tuple[str, str]]:
    """Return the SQL in pieces: each text with the name of the value that follows it; "" after the last text."""
    pieces = [*PLACE.split(command.compose(connections[alias])), ""]
    return list(zip(pieces[::2], pieces[1::2], strict=True))


@lru_cache(MOST_COMPOSED)
def _parts(query: Query[Any], alias: str, vendor: str) -> Sequence[_Part]:
    parts: list[_Part] = []
    for name in ("own", *query.joined):
        model = query.model if name == "own" else _related(query.model, name)
        fields = [
            field
            for field in model._meta.concrete_fields
            if name != "own" or not query.only or field.primary_key or field.name in query.only
        ]
        begin = parts[-1].begin + len(parts[-1].columns) if parts else 0
        parts.append(_part(connections[alias], name, model, fields, begin))
    return parts


def _part(
    connection: BaseDatabaseWrapper, name: str, model: type[models.Model], fields: Sequence[Any], begin: int
) -> _Part:
    expressions = [field.get_col(name) for field in fields]
    converters = [
        [*connection.ops.get_db_converters(expression), *field.get_db_converters(connection)]
        for field, expression in zip(fields, expressions, strict=True)
    ]
    return _Part(
        name=name,
        model=model,
        columns=[field.column for field in fields],
        attributes=[field.attname for field in fields],
        begin=begin,
        primary=[field.primary_key for field in fields].index(True),
        converters=[
            (place, expression, converting)
            for place, (expression, converting) in enumerate(zip(expressions, converters, strict=True))
            if converting
        ],
    )


def _related(model: type[models.Model], name: str) -> type[models.Model]:
    related = model._meta.get_field(name).related_model
    assert isinstance(related, type)  # a relation's model is known once the apps are loaded
    return related


def _table(connection: BaseDatabaseWrapper, model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _array(values: Collection[object]) -> str:
    """Return an array of texts or numbers as PostgreSQL reads it."""
    texts = (str(value).replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return '{"' + '","'.join(texts) + '"}'


def _prepared(connection: BaseDatabaseWrapper, value: object) -> Any:
    if isinstance(value, datetime):
        return TIME.get_db_prep_value(value, connection)
    return value
