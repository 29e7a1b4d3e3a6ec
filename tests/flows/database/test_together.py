"""Statements that are sent at once where the driver can do so."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from checkout_integration.flows.database import statements
from checkout_integration.models import Order

pytestmark = pytest.mark.django_db


def orders(*order_ids: str) -> list[Order]:
    """Return rows that are not stored."""
    return [Order(project="default", order_id=order_id) for order_id in order_ids]


def test_statements_go_together_where_the_driver_can_send_several() -> None:
    """PostgreSQL gets four at once, and primary keys are set at the end; elsewhere each is executed when it is called."""
    rows = orders("a", "b")
    at_once = connection.vendor == "postgresql" and not connection.settings_dict["OPTIONS"].get(
        "server_side_binding"
    )
    with CaptureQueriesContext(connection) as captured, statements.Together() as writes:
        statements.insert(orders("e"), key=("order_id",), together=writes)
        statements.insert(rows, key=("order_id",), together=writes)
        statements.upsert(orders("c"), "project", "order_id", update=("status",), together=writes)
        statements.insert_missing(orders("a", "d"), "project", "order_id", together=writes)
        assert (rows[0].pk is None) == at_once
    assert not at_once or len(captured) == 1
    assert dict(Order.objects.filter(order_id__in="ab").values_list("pk", "order_id")) == {
        row.pk: row.order_id for row in rows
    }
    assert set(Order.objects.values_list("order_id", flat=True)) == set("abcde")


def insert_together(*batches: list[Order]) -> None:
    """Insert all of them in one transaction."""
    with transaction.atomic(), statements.Together() as writes:
        for rows in batches:
            statements.insert(rows, key=("order_id",), together=writes)


@pytest.mark.django_db(transaction=True)
def test_what_is_refused_together_is_rolled_back() -> None:
    """Also what went before it; and nothing is written after an exception in the block."""
    statements.insert(orders("b"))
    for error, last in ((IntegrityError, orders("b")), (ValueError, orders("c", "c"))):
        with pytest.raises(error):
            insert_together(orders("a"), last)
    assert list(Order.objects.values_list("order_id", flat=True)) == ["b"]


def test_nothing_is_sent_after_an_exception() -> None:
    """A refusal of the database would hide the exception."""
    sent = list[int]()

    def fail() -> None:
        with statements.Together() as writes:
            statements.insert(orders("a"), key=("order_id",), together=writes)
            sent.append(len(captured))
            raise ZeroDivisionError

    with CaptureQueriesContext(connection) as captured:
        with pytest.raises(ZeroDivisionError):
            fail()
        assert [len(captured)] == sent
