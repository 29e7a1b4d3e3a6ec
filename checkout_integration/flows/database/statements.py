"""Statements that write many rows of one model at once: plain values of instances, to the database of the state.

Fields convert their values as in Django (``pre_save``, ``get_db_prep_save``), and errors are Django's. No signals are sent,
and expressions are not accepted. Django's own ``bulk_create`` and ``bulk_update`` take several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, Self, TypeAlias, cast

from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from checkout_integration.flows.database.composed import (
    AnyField,
    Composed,
    Insert,
    Returned,
    Statement,
    Update,
)
from checkout_integration.flows.database.dialects import STATEMENTS
from checkout_integration.flows.database.transactions import state_database

Rows: TypeAlias = Sequence[models.Model]
Names: TypeAlias = tuple[str, ...]
Then: TypeAlias = Callable[[Returned], None]
"""What is done with the returned columns of a statement."""
MOST_STATEMENTS = 256
"""How many composed statements a process caches: one for each model, set of fields, and operation."""


class Together:
    """Statements that are sent at once where the driver can do so, since a round trip takes as long as a row.

    Functions that get one write at the end of its block, in their sequence; then primary keys are set. Elsewhere they write
    when they are called. The block is inside a transaction.
    """

    def __init__(self) -> None:
        self._connection = connections[state_database()]
        self._waiting: list[tuple[Composed, Then]] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Write what waits; nothing after an exception."""
        if error is None and self._waiting:
            with _rolled_back(self._connection):
                self._write()

    def takes(self, statement: Statement, rows: Rows, then: Then) -> bool:
        """Let a statement wait for the end of the block; return False if it has to be executed now."""
        if not statement.goes_with_others(self._connection):
            return False
        self._waiting.append((statement.compose(self._connection, rows), then))
        return True

    def _write(self) -> None:
        sql = ";\n".join(composed.sql for composed, _ in self._waiting)
        with self._connection.cursor() as cursor:
            cursor.execute(sql, [each for composed, _ in self._waiting for each in composed.parameters])
            for _, then in self._waiting:
                then(cursor.fetchall() if cursor.description else ())
                cursor.nextset()


def insert(rows: Rows, *, key: Names = (), in_order: bool = False, together: Together | None = None) -> None:
    """Insert new rows; where the database refuses one of them, none is inserted. Automatic primary keys are new ones.

    ``key`` names fields by which these rows differ: with it their primary keys are set, since no database promises to return
    rows in any order. Rows are sorted by it first, so that two transactions with unique keys in common wait for each other in
    one direction only. ``in_order`` keeps the given sequence, for rows with meaningful primary keys; then a lock must ensure
    that no other transaction inserts the same ones. Raises `ValueError` where two rows have the same ``key``.
    """
    if not rows:
        return
    alias = state_database()
    statement = _insert_statement(alias, connections[alias].vendor, type(rows[0]), key, returns=bool(key))
    then = partial(_mark_stored, alias, rows, statement.task.key)
    _execute(alias, statement, rows, distinct=True, in_order=in_order, then=then, together=together)


def insert_missing(rows: Rows, *key: str, in_order: bool = False, together: Together | None = None) -> None:
    """Insert the rows whose unique ``key`` does not exist yet; of several that have one key, the first.

    Stored rows stay as they are. Use `insert_or_lock` where primary keys are needed, or read the rows. MariaDB and MySQL skip
    a row for any other unique key of the table as well. See `insert` about ``in_order``.
    """
    if rows:
        alias = state_database()
        statement = _insert_statement(alias, connections[alias].vendor, type(rows[0]), key, ignore=True)
        _execute(alias, statement, rows, in_order=in_order, together=together)


def insert_or_lock(rows: Rows, *key: str) -> None:
    """Insert the rows whose unique ``key`` does not exist yet, and lock the stored ones: no other transaction changes them.

    The primary keys of all are set; other stored columns are not read. Raises `ValueError` where two rows have one key.
    """
    if rows:
        alias = state_database()
        statement = _insert_statement(
            alias, connections[alias].vendor, type(rows[0]), key, lock=True, returns=True
        )
        _execute(
            alias, statement, rows, distinct=True, then=partial(_mark_stored, alias, rows, statement.task.key)
        )


def upsert(
    rows: Rows,
    *key: str,
    update: Sequence[str] = (),
    add: Sequence[str] = (),
    together: Together | None = None,
) -> None:
    """Insert rows; where the unique ``key`` exists change the stored row. Primary keys are not set.

    The stored row gets the new values of the fields ``update``; those of ``add`` are added to its own. Raises `ValueError`
    where two of the rows have one key: the result would depend on the database.
    """
    if rows:
        alias = state_database()
        statement = _insert_statement(
            alias, connections[alias].vendor, type(rows[0]), key, tuple(update), tuple(add)
        )
        _execute(alias, statement, rows, distinct=True, together=together)
        _mark_stored(alias, [row for row in rows if row.pk is not None], statement.task.key, ())


def upsert_plain(
    model: type[models.Model], row: object, *key: str, update: Names = (), add: Names = ()
) -> None:
    """Upsert one row that is no instance of the model (see `upsert`): for rows that are written in every request.

    Its attributes have the names of the columns, and values that every driver accepts. Aware times and bytes are converted.
    """
    alias = state_database()
    connection = connections[alias]
    statement = _insert_statement(alias, connection.vendor, model, key, update, add)
    statement.execute_plain(connection, row)


def update(rows: Rows, fields: Sequence[str], *, together: Together | None = None) -> int:
    """Write these fields of stored rows, found by their primary keys. Return how many rows existed; 0 while it waits.

    The caller has locked them, since databases promise no order of locks. Raises `ValueError` if a row has no primary key, or
    two rows have the same.
    """
    if not rows:
        return 0
    alias = state_database()
    statement = _update_statement(alias, connections[alias].vendor, type(rows[0]), tuple(fields))
    if any(row.pk is None for row in rows):
        raise ValueError("A row without a primary key cannot be updated.")
    return _execute(alias, statement, rows, distinct=True, together=together)


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
        fields=[field for field in model._meta.concrete_fields if not (automatic and field is primary)],
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


def _nothing_then(returned: Returned) -> None:
    pass


def _execute(
    alias: str,
    statement: Statement,
    rows: Rows,
    *,
    distinct: bool = False,
    in_order: bool = False,
    then: Then = _nothing_then,
    together: Together | None = None,
) -> int:
    """Write all rows or none, now or ``together`` with others; ``then`` gets the returned columns.

    After a failure the transaction around this cannot be committed any more. Return how many rows were written now.
    """
    key = statement.task.key
    _take_related_keys(rows, statement.relations)
    if len(rows) > 1:
        if distinct and key and len(set(_identities(rows, key))) != len(rows):
            raise ValueError(f"Two rows have the same {' and '.join(field.name for field in key)}.")
        if not in_order:
            rows = sorted(rows, key=lambda row: _sort_key(row, key))
    if together is not None and together.takes(statement, rows, then):
        return 0
    connection = connections[alias]
    # A single row is atomic by itself: BEGIN and COMMIT would be two round trips, as much as the row.
    alone = len(rows) > 1 and not connection.in_atomic_block
    with transaction.atomic(using=alias) if alone else _rolled_back(connection):
        executed = statement.execute(connection, rows)
    then(executed.returned)
    return executed.rowcount


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


def _mark_stored(alias: str, rows: Rows, key: Sequence[AnyField], returned: Sequence[Sequence[Any]]) -> None:
    for row in rows:
        row._state.adding, row._state.db = False, alias
    if returned:
        primary_keys = {_identity(values): primary for primary, *values in returned}
        for row, identity in zip(rows, _identities(rows, key), strict=True):
            row.pk = primary_keys[identity]
