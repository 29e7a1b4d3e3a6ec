"""The statements store any value of any column exactly as Django's ``bulk_create``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import DatabaseError, models, transaction
from hypothesis import given, settings

from checkout_integration.flows.database import statements
from checkout_integration.models import Grant, Incident, Order, Transition
from checkout_integration.testing.factories import OrderFactory
from tests.support.corpora import naughty_strings
from tests.support.flows.drawn_rows import MODELS, Model, Values, columns, many_values, related_rows

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
COUNT = 3
NOW = datetime(2026, 5, 1, 12, 30, 15, 123456, tzinfo=UTC)
Rows = Sequence[models.Model]


@contextmanager
def undone() -> Iterator[None]:
    """Roll back the writes of the block."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def stored(model: Model, write: Callable[[Rows], object], rows: Rows) -> list[Values]:
    """Return the table's content after writing the rows, and roll back."""
    names = [field.attname for field in columns(model)]
    with undone():
        before = set(model._default_manager.values_list("pk", flat=True))
        write(rows)
        added = model._default_manager.exclude(pk__in=before).order_by("pk")
        return [{name: _plain(value) for name, value in row.items()} for row in added.values(*names)]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def in_bulk(rows: Rows) -> None:
    """Write by Django's own means."""
    type(rows[0])._default_manager.bulk_create(rows)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_column_of_every_model(model: Model) -> None:
    """Inserted, inserted where missing, and updated from other values."""
    related = related_rows(COUNT)
    names = [field.name for field in columns(model)]

    def updated(rows: Rows) -> None:
        first = [model(**each) for each in earlier]
        in_bulk(first)
        for row, old in zip(rows, first, strict=True):
            row.pk = old.pk
            for field in columns(model):
                if getattr(field, "auto_now_add", False):  # set when a row is added, and only then
                    setattr(row, field.name, NOW)
        assert statements.update(rows, [name for name in names if name != model._meta.pk.name]) == COUNT

    earlier: list[Values] = []

    @settings(max_examples=20)
    @given(many_values(model, related, COUNT), many_values(model, related, COUNT))
    def compare(values: list[Values], before: list[Values]) -> None:
        earlier[:] = before
        if model._meta.pk.name in names:  # a primary key of its own is no column that an update changes
            for old, new in zip(before, values, strict=True):
                old[model._meta.pk.attname] = new[model._meta.pk.attname]
        expected = stored(model, in_bulk, [model(**each) for each in values])
        assert len(expected) == COUNT
        writes: list[Callable[[Rows], object]] = [
            lambda rows: statements.insert(rows, in_order=True),
            lambda rows: statements.insert_missing(rows, *unique_key(model), in_order=True),
        ]
        if model is not Transition:  # its rows are never changed
            writes.append(updated)
        for write in writes:
            assert stored(model, write, [model(**each) for each in values]) == expected

    with time_machine.travel(NOW, tick=False):
        compare()


def unique_key(model: Model) -> tuple[str, ...]:
    """Return a unique key other than an automatic primary key; the primary key where there is no other."""
    if model._meta.total_unique_constraints:
        return tuple(model._meta.total_unique_constraints[0].fields)
    return tuple(field.name for field in columns(model) if field.unique)[:1] or (model._meta.pk.name,)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_moments_of_a_shop_without_time_zones(settings: Any, zone: str) -> None:
    """With USE_TZ off the columns have the same moments, including those of the repeated hour."""
    settings.USE_TZ, settings.TIME_ZONE = False, zone
    moments = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in range(3)]
    values = [{"order_id": f"{moment}", "created_at": moment} for moment in moments]
    with time_machine.travel(NOW, tick=False):
        expected = stored(Order, in_bulk, [Order(**each) for each in values])
        assert stored(Order, statements.insert, [Order(**each) for each in values]) == expected
    assert [row["created_at"] for row in expected] == moments


def test_strings_that_break_software() -> None:
    """As identifiers, as text without limit, and inside of documents."""
    strings = [*naughty_strings(), "%s", "%%", "{rows}", "{0}", "\\", "'", '"', "\\x41"]
    rows: list[tuple[Model, list[Values]]] = [
        (Incident, [{"key": place, "detail": text} for place, text in enumerate(strings)]),
        (Order, [{"order_id": f"{text} "[:255], "document": {text: [text]}} for text in set(strings)]),
    ]
    with time_machine.travel(NOW, tick=False):
        for model, values in rows:
            expected = stored(model, in_bulk, [model(**each) for each in values])
            assert stored(model, statements.insert, [model(**each) for each in values]) == expected


@pytest.mark.parametrize("text", ["a\0b", "\0", "\\u0000", "\\\0", "\ud800"])
@pytest.mark.parametrize("column", ["detail", "kind"])
def test_text_that_databases_refuse(text: str, column: str) -> None:
    """The same errors, or the same text."""

    def outcome(write: Callable[[Rows], object]) -> object:
        try:
            with transaction.atomic():
                return stored(Incident, write, [Incident(key="k", **{column: text})])
        except (DatabaseError, UnicodeEncodeError) as error:
            return type(error)

    with time_machine.travel(NOW, tick=False):
        assert outcome(statements.insert) == outcome(in_bulk)


@pytest.mark.parametrize("document", [{"a": "\0"}, {"\0": 1}, {"a": "\ud800"}, {"a": float("nan")}, None])
def test_documents_that_databases_refuse(document: Any) -> None:
    """The same errors, or the same document."""

    def outcome(write: Callable[[Rows], object]) -> object:
        try:
            with transaction.atomic():
                return str(stored(Grant, write, [Grant(key="k", order=order, begun=document)]))
        except DatabaseError as error:
            return type(error)

    order = OrderFactory()
    with time_machine.travel(NOW, tick=False):
        assert outcome(statements.insert) == outcome(in_bulk)
