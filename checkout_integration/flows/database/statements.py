"""Writing many rows of one model by one statement: plain values of instances, to the database that state lives in.

Fields convert their values as ever (``pre_save``, ``get_db_prep_save``), and errors are Django's. No signals are sent, and
expressions are not taken. Django's own ``bulk_create`` and ``bulk_update`` take several times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from django.db import connections, models, transaction

from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.database.dialects import (
    STATEMENTS,
    AnyField,
    Executed,
    Insert,
    Statement,
    Update,
)

Rows: TypeAlias = Sequence[models.Model]
Names: TypeAlias = tuple[str, ...]
MOST_STATEMENTS = 256
"""How many a process keeps composed: one for each model, its fields, and what is done with them."""


def insert(rows: Rows, *, key: Names = (), in_order: bool = False) -> None:
    """Insert new rows; where the database refuses one of them, none is inserted. Automatic primary keys are new ones.

    ``key`` names fields by which these rows differ: with it their primary keys are set, since no database promises to return
    rows in any order. Rows are sorted by it first, so that two transactions with unique keys in common wait for each other in
    one direction only. ``in_order`` leaves them as they are, for rows whose primary keys tell their order; then a lock must
    ensure that no other transaction inserts the same ones. Raises `ValueError` where two rows have the same ``key``.
    """
    if not rows:
        return
    alias = state_database()
    statement = _insert_statement(alias, connections[alias].vendor, type(rows[0]), key, returns=bool(key))
    returned = _execute(alias, statement, rows, distinct=True, in_order=in_order).returned
    _mark_stored(alias, rows, statement.task.key, returned)


def insert_missing(rows: Rows, *key: str, in_order: bool = False) -> None:
    """Insert the rows whose unique ``key`` does not exist yet; of several that have one key, the first.

    Stored rows stay as they are. Whoever needs primary keys uses `insert_or_lock`, or reads the rows. MariaDB and MySQL pass
    over a row for any other unique key of the table as well. See `insert` about ``in_order``.
    """
    if rows:
        alias = state_database()
        statement = _insert_statement(alias, connections[alias].vendor, type(rows[0]), key, ignore=True)
        _execute(alias, statement, rows, in_order=in_order)


def insert_or_lock(rows: Rows, *key: str) -> None:
    """Insert the rows whose unique ``key`` does not exist yet, and lock those that are stored: nobody changes any of them.

    The primary keys of all are set; what else is stored is not read. Raises `ValueError` where two rows have one key.
    """
    if rows:
        alias = state_database()
        statement = _insert_statement(
            alias, connections[alias].vendor, type(rows[0]), key, lock=True, returns=True
        )
        returned = _execute(alias, statement, rows, distinct=True).returned
        _mark_stored(alias, rows, statement.task.key, returned)


def upsert(rows: Rows, *key: str, update: Sequence[str] = (), add: Sequence[str] = ()) -> None:
    """Insert rows; where the unique ``key`` exists change the stored row. Primary keys are not set.

    The stored row takes over the fields of ``update``; the new value of those of ``add`` is added to its own. Raises
    `ValueError` where two of the rows have one key: what became of them would depend on the database.
    """
    if rows:
        alias = state_database()
        statement = _insert_statement(
            alias, connections[alias].vendor, type(rows[0]), key, tuple(update), tuple(add)
        )
        _execute(alias, statement, rows, distinct=True)


def update(rows: Rows, fields: Sequence[str]) -> int:
    """Write these fields of stored rows, found by their primary keys. Return how many rows were there.

    The caller has locked them: databases do not promise to take them up in any order. Raises `ValueError` where a row has no
    primary key, or two rows have the same.
    """
    if not rows:
        return 0
    alias = state_database()
    statement = _update_statement(alias, connections[alias].vendor, type(rows[0]), tuple(fields))
    if any(row.pk is None for row in rows):
        raise ValueError("A row without a primary key cannot be updated.")
    return _execute(alias, statement, rows, distinct=True).rowcount


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


def _execute(
    alias: str, statement: Statement, rows: Rows, *, distinct: bool = False, in_order: bool = False
) -> Executed:
    """Write all rows or none: after a failure the transaction around this cannot be committed any more."""
    key = statement.task.key
    _take_related_keys(rows, statement.task.fields)
    if distinct and key and len(set(_identities(rows, key))) != len(rows):
        raise ValueError(f"Two rows have the same {' and '.join(field.name for field in key)}.")
    if not in_order:
        rows = sorted(rows, key=lambda row: _sort_key(row, key))
    with transaction.atomic(using=alias, savepoint=False):
        return statement.execute(connections[alias], rows)


def _take_related_keys(rows: Rows, fields: Sequence[AnyField]) -> None:
    """Let rows refer to related ones that were inserted after they had been assigned."""
    for field in fields:
        if not isinstance(field, models.ForeignKey):
            continue
        for row in rows:
            related = field.get_cached_value(row, default=None)
            if related is not None and getattr(row, field.attname) is None:
                if related.pk is None:
                    raise ValueError(f"{field} must be inserted first.")
                setattr(row, field.name, related)


def _sort_key(row: models.Model, key: Sequence[AnyField]) -> tuple[Any, ...]:
    values = [getattr(row, field.attname) for field in key]
    return tuple((value is None, value) for value in values)


def _identity(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the values of a key in a form that is the same for the row and for what the database returns."""
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
