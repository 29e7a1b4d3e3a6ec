"""Documents are JSON that SQL can query, and read as they were stored; bodies are the bytes that came."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.core import serializers
from django.db import IntegrityError, connection, transaction

from checkout_integration.models import Notification, Order, PersonalData
from checkout_integration.testing.factories import NotificationFactory, OrderFactory

pytestmark = pytest.mark.django_db

AMOUNTS = ["9.90", "0.10", "1000000.00", "-0.05", "12345678901234567890.123456789", "0.000000000000000001"]
"""Binary floats have none of these."""


def stored(table: str, column: str) -> Any:
    """The only value of a column, as the driver returns it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table}")
        (row,) = cursor.fetchall()
    return row[0]


def test_a_body_is_stored_as_it_came() -> None:
    """The table has the bytes themselves, so a query finds them."""
    row = NotificationFactory()
    assert bytes(stored(Notification._meta.db_table, "body")) == row.body
    assert Notification.objects.get(body=row.body) == row
    row.body = None
    row.save(update_fields=["body"])
    assert Notification.objects.get(body__isnull=True).body is None


@pytest.mark.parametrize("amount", AMOUNTS)
def test_an_amount_comes_back_with_its_digits(amount: str) -> None:
    """As the Decimal that was stored, whichever digits it has."""
    order = OrderFactory()
    Order.objects.filter(pk=order.pk).update(document={"amount": Decimal(amount), "items": [Decimal(amount)]})
    read = Order.objects.get().document
    assert [format(each, "f") for each in (read["amount"], *read["items"])] == [amount, amount]


def test_the_table_has_json() -> None:
    """Text of the document on SQLite and MariaDB, a value of its own type on PostgreSQL, which sorts its keys."""
    order = OrderFactory()
    document = {"amount": Decimal("9.90"), "title": "Zwölf Äpfel", "refund": None}
    Order.objects.filter(pk=order.pk).update(document=document)
    text = {
        "postgresql": '{"title": "Zwölf Äpfel", "amount": 9.90, "refund": null}',
    }.get(connection.vendor, '{"amount":9.90,"title":"Zwölf Äpfel","refund":null}')
    assert str(stored(Order._meta.db_table, "document")) == text


def test_a_query_looks_into_a_document() -> None:
    """By the names of its members, and never by what only looks like them."""
    order = OrderFactory()
    document = {"method": {"card": {"brand": "VISA"}}, "metadata": {"coupon": "SPRING"}}
    Order.objects.filter(pk=order.pk).update(document=document)
    assert Order.objects.filter(document__metadata__coupon="SPRING").get() == order
    assert Order.objects.filter(document__method__card__brand__in=["VISA", "MIR"]).get() == order
    assert not Order.objects.filter(document__metadata__coupon="spring").exists()


def test_a_document_survives_a_fixture() -> None:
    """As text of JSON, with the digits of its amounts."""
    order = OrderFactory()
    Order.objects.filter(pk=order.pk).update(document={"amount": Decimal("9.90")})
    fixture = serializers.serialize("json", [Order.objects.get()])
    (loaded,) = serializers.deserialize("json", fixture)
    read = loaded.object
    assert isinstance(read, Order) and str(read.document["amount"]) == "9.90"


def test_no_document_is_null() -> None:
    """Neither the document of a row that is not there, nor one that somebody writes: the column refuses that."""
    order = OrderFactory()
    PersonalData.objects.all().delete()
    assert Order.objects.values_list("personal_data__document", flat=True).get() is None
    with pytest.raises(IntegrityError), transaction.atomic():
        Order.objects.filter(pk=order.pk).update(document=None)
