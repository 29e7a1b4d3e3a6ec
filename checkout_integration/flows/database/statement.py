"""Statements that Django composes once, and that are then asked with other values.

To compose a statement with joins and sub-queries takes Django several times as long as to send it and to read its rows, and
every notification and every delivery asks the same few: half of what a notification cost was composing. They are functions
that make a `QuerySet`; `ask` calls one with a `Slot` in the place of each value, keeps the SQL, and fills the values in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

from checkout_integration.flows.database.connection import state_database
from checkout_integration.models.columns import InstantField

Told = TypeVar("Told")
Compose = Callable[..., QuerySet[Any, Told]]
MOMENT = InstantField()
_Shape = tuple[tuple[str, int | None], ...]
MOST_STATEMENTS = 64
"""How many a process keeps: one for each function and each length of its lists."""


class Slot(Expression):
    """The place of a value: of the argument ``name``, or of its element ``number`` where that is a list."""

    def __init__(self, name: str, number: int | None = None) -> None:
        super().__init__()
        self.name, self.number = name, number

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes it equal to another one; Django's own way to it is slow, and lists of slots are compared a lot."""
        return (Slot, self.name, self.number)

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        """A placeholder, and in place of its parameter the slot itself."""
        return "%s", [self]

    def value(self, values: Mapping[str, Any], connection: BaseDatabaseWrapper) -> Any:
        """What belongs here, as the database's driver takes it."""
        told = values[self.name]
        if self.number is not None:
            told = told[self.number]
        return MOMENT.get_db_prep_value(told, connection) if isinstance(told, datetime) else told


def ask(compose: Compose[Told], **values: object) -> list[Told]:
    """What ``compose(**values)`` gives, in whose place it is called with slots: it may pass them on, not look at them.

    Values are texts, numbers, moments, or lists of them for ``__in``. Whether a list is empty may decide what is composed;
    others are made longer by their last value, to lengths that are few.
    """
    alias = state_database()
    values = {name: _filled(told) if isinstance(told, list) else told for name, told in values.items()}
    shape = tuple((name, len(told) if isinstance(told, list) else None) for name, told in values.items())
    statement: _Statement[Told] = _composed(compose, alias, connections[alias].vendor, shape)
    return statement.rows(values)


def _filled(values: list[Any]) -> list[Any]:
    """As many as the next power of two."""
    return values + values[-1:] * ((1 << (len(values) - 1).bit_length()) - len(values)) if values else values


@lru_cache(MOST_STATEMENTS)
def _composed(compose: Compose[Told], alias: str, vendor: str, shape: _Shape) -> _Statement[Told]:
    """``vendor``: tests may put another database behind an alias."""
    return _Statement(compose(**{name: _slots(name, length) for name, length in shape}))


def _slots(name: str, length: int | None) -> Slot | list[Slot]:
    return Slot(name) if length is None else [Slot(name, number) for number in range(length)]


class _Statement(Generic[Told]):
    """A queryset as SQL. Shared by all threads, hence never changed."""

    def __init__(self, queryset: QuerySet[Any, Told]) -> None:
        self._queryset = queryset
        self._compiler: Any = queryset.query.get_compiler(using=queryset.db)
        try:
            self._sql, self._params = self._compiler.as_sql()
        except EmptyResultSet:
            self._sql, self._params = "", ()
        self._locks = (
            queryset.query.select_for_update and self._compiler.connection.features.has_select_for_update
        )
        self._compiler.connection = None  # this thread's, which must be able to end with it

    def rows(self, values: Mapping[str, Any]) -> list[Told]:
        """The rows for these values, by a compiler of this thread that has nothing left to compose."""
        alias = self._queryset.db
        compiler = copy(self._compiler)
        compiler.connection = own = connections[alias]
        if self._locks and own.get_autocommit():
            raise TransactionManagementError("Rows are locked inside of a transaction only.")
        params = tuple(each.value(values, own) if isinstance(each, Slot) else each for each in self._params)
        compiler.as_sql = lambda *_, **__: (self._sql, params)
        asked: QuerySet[Any, Told] = QuerySet(self._queryset.model, cast("Query", _Ready(compiler)), alias)
        asked._iterable_class = self._queryset._iterable_class  # noqa: SLF001  # models, tuples or single values
        return list(asked)


class _Ready:
    """All that a `QuerySet` asks of its query when it is read: the compiler."""

    def __init__(self, compiler: SQLCompiler) -> None:
        self._compiler = compiler

    def get_compiler(self, using: str) -> SQLCompiler:
        """The one that is ready."""
        return self._compiler
