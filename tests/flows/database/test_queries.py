"""Rows that are read by SQL of our own are the rows that a queryset reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, models
from hypothesis import given, settings

from checkout_integration.flows.database.queries import MANY, Command, Query
from checkout_integration.models import Notification, Order
from checkout_integration.testing.factories import CheckoutFactory, NotificationFactory, OrderFactory
from tests.flows.database.test_round_trip import undone
from tests.support.flows.drawn_rows import MODELS, Model, Values, columns, many_values, related_rows

pytestmark = pytest.mark.django_db


def _values(row: models.Model) -> dict[str, Any]:
    names = [field.attname for field in row._meta.concrete_fields]
    values = {name: getattr(row, name) for name in names}
    return {name: bytes(each) if isinstance(each, memoryview) else each for name, each in values.items()}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_column_of_every_model(model: Model) -> None:
    """Whatever stands in it, with time zones and decimals."""
    key = model._meta.pk.column
    query: Query[Any] = Query(model, f"own.{key} IN {{keys}} ORDER BY own.{key}")
    related = related_rows(2)

    @settings(max_examples=20, deadline=None)
    @given(many_values(model, related, 2))
    def check(drawn: list[Values]) -> None:
        with undone():
            model._default_manager.all().delete() if not related[model] else None
            before = set(model._default_manager.values_list("pk", flat=True))
            model._default_manager.bulk_create([model(**values) for values in drawn])
            rows = list(model._default_manager.exclude(pk__in=before).order_by("pk"))
            read = query.rows(keys=[row.pk for row in rows])
            assert [_values(row) for row in read] == [_values(row) for row in rows]
            assert all(row._state.db == "default" and not row._state.adding for row in read)

    assert columns(model)
    check()


def test_relations_that_are_joined_are_not_read_again(django_assert_num_queries: Any) -> None:
    """From either side, and an empty one."""
    checkout = CheckoutFactory()
    bound, free = OrderFactory(checkout=checkout), OrderFactory()
    query = Query(
        Order,
        "own.project = {project} AND own.order_id IN {ids} ORDER BY own.id",
        joined=("personal_data", "checkout"),
        lock=("own", "personal_data"),
    )
    with undone(), django_assert_num_queries(1):
        rows = query.rows(project="default", ids=[bound.order_id, free.order_id])
        assert [row.personal_data.order_id for row in rows] == [bound.pk, free.pk]
        assert [row.checkout for row in rows] == [checkout, None]


def test_what_was_not_read_is_read_when_it_is_used(django_assert_num_queries: Any) -> None:
    """As with `only`."""
    order = OrderFactory()
    (row,) = Query(Order, "own.id = {key}", only=("status",)).rows(key=order.pk)
    with django_assert_num_queries(0):
        assert (row.pk, row.status) == (order.pk, order.status)
    with django_assert_num_queries(1):
        assert row.order_id == order.order_id


def test_an_empty_list_contains_nothing() -> None:
    """SQL has no empty list."""
    OrderFactory()
    assert Query(Order, "own.id IN {keys}").rows(keys=[]) == []


def test_times_are_compared_as_they_are_stored() -> None:
    """In every zone, whatever the database knows of zones."""
    now = datetime.now(UTC)
    late, early = NotificationFactory(), NotificationFactory()
    Notification.objects.filter(pk=late.pk).update(due_at=now + timedelta(seconds=1))
    Notification.objects.filter(pk=early.pk).update(due_at=now - timedelta(seconds=1))
    query = Query(Notification, "own.due_at <= {now}", only=("due_at",))
    assert [row.pk for row in query.rows(now=now)] == [early.pk]
    command = Command("UPDATE {rows} SET due_at = {now} WHERE id IN {keys}", rows=Notification)
    assert command.execute(now=now, keys=[late.pk, early.pk]) == 2
    assert set(Notification.objects.values_list("due_at", flat=True)) == {now}


def test_values_are_never_text_of_the_statement() -> None:
    """Braces, quotes and percent signs stand for themselves."""
    name = "{keys}' OR 1=1 -- %s {own}"
    OrderFactory()
    assert Query(Order, "own.order_id = {name}").rows(name=name) == []
    order = OrderFactory(id=name)
    assert Query(Order, "own.order_id IN {names}").rows(names=[name]) == [order]


@pytest.mark.parametrize("count", [1, MANY - 1, MANY])
def test_a_list_finds_its_values_whatever_stands_in_them(count: int) -> None:
    """Also as an array of PostgreSQL, in which some signs have a meaning."""
    names = ['"', "\\", '\\"', "{}", ",", " ", "NULL", "%s", "'", "a\\\\", *map(str, range(MANY))][:count]
    found = [OrderFactory(id=name) for name in names]
    OrderFactory(id="no name of them")
    query = Query(Order, "own.order_id IN {names} ORDER BY own.id")
    assert query.rows(names=names) == found
    by_key = Query(Order, "own.id IN {keys} AND own.id NOT IN {keys} ORDER BY own.id")
    assert Query(Order, "own.id IN {keys} ORDER BY own.id").rows(keys=[row.pk for row in found]) == found
    assert by_key.rows(keys=[row.pk for row in found]) == []


def test_what_is_locked_is_named_where_the_database_takes_names() -> None:
    """PostgreSQL lets others refer to the locked rows meanwhile."""
    query = Query(Order, "own.id = {key}", joined=("personal_data",), lock=("own",), waits=False)
    locking = {
        "postgresql": ' FOR NO KEY UPDATE OF "own" SKIP LOCKED',
        "mysql": " FOR UPDATE SKIP LOCKED",
        "sqlite": "",
    }
    assert query.compose(connection).endswith("own.id = {key}" + locking[connection.vendor])
