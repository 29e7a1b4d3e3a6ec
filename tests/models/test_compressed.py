"""Compressed bytes are read unchanged, and damaged ones raise an error."""

from __future__ import annotations

import os
from decimal import Decimal

import pytest
from django.core import serializers
from django.core.exceptions import FieldError
from django.db import IntegrityError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.models import Notification, Order, PersonalData
from checkout_integration.models.compressed import DamagedBytes, packed, unpacked
from checkout_integration.testing.factories import NotificationFactory, OrderFactory

BODY = b'{"event":"payment.success","object":{"id":"order-1","status":"processed","amount":9.99}}'
STORED = "01787de63511b4abc653c7a25593e09a50d7105a7e60d485b020b0d4b3b4acad05003c7b1d95"


@given(st.binary(max_size=2000))
def test_any_bytes_come_back(content: bytes) -> None:
    """Also those that begin as stored ones do, and those of which nothing can be saved."""
    assert unpacked(packed(content)) == content
    assert unpacked(packed(packed(content))) == packed(content)
    assert len(packed(content)) <= len(content) + 1


def test_what_was_stored_yesterday_is_read_today() -> None:
    """A change of the compression dictionary would lose the stored bodies."""
    assert unpacked(bytes.fromhex(STORED)) == BODY


def test_a_body_takes_a_third_of_its_room() -> None:
    """The names of the service's fields are known and take none."""
    assert len(packed(BODY)) < len(BODY) / 2
    assert len(packed(noise := os.urandom(1000))) == len(noise) + 1


@pytest.mark.parametrize(
    "stored",
    [b"", b"\x01", b"\x02" + packed(BODY)[1:], packed(BODY)[:-1], packed(BODY) + b"x", b"\x01" + BODY, BODY],
)
def test_what_is_damaged_is_refused_without_a_word_of_it(stored: bytes) -> None:
    """The column's content may be personal."""
    with pytest.raises(DamagedBytes, match=r"^Compressed bytes are damaged\.$"):
        unpacked(stored)


@pytest.mark.django_db
def test_the_table_holds_less_than_the_row_shows() -> None:
    """Reading the row gives the original bytes."""
    row = NotificationFactory()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT body FROM {Notification._meta.db_table}")
        (stored,) = cursor.fetchone()
    body = Notification.objects.values_list("body", flat=True).get()
    assert body == row.body == unpacked(bytes(stored)) and len(stored) < len(body) / 2
    assert Notification.objects.get(body=body) == row
    row.body = None
    row.save(update_fields=["body"])
    assert Notification.objects.get(body__isnull=True).body is None


@pytest.mark.django_db
def test_a_document_is_compressed_in_the_table_only() -> None:
    """Reading the row gives the same members, and the digits of its numbers."""
    document = {
        "amount": Decimal("9.90"),
        "title": "Zwölf Äpfel",
        "refund": None,
        "items": [{"sku": "apple"}],
    }
    order = OrderFactory()
    Order.objects.filter(pk=order.pk).update(document=document)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT document FROM {Order._meta.db_table}")
        (stored,) = cursor.fetchone()
    read = Order.objects.get().document
    assert read == document and str(read["amount"]) == "9.90"
    assert unpacked(bytes(stored)).decode() == (
        '{"amount":9.90,"title":"Zwölf Äpfel","refund":null,"items":[{"sku":"apple"}]}'
    )


@pytest.mark.django_db
def test_a_document_survives_a_fixture() -> None:
    """As text of JSON, and not as the bytes of the table."""
    OrderFactory()
    before = Order.objects.get()
    fixture = serializers.serialize("json", [before])
    (loaded,) = serializers.deserialize("json", fixture)
    order = loaded.object
    assert isinstance(order, Order) and order.document == before.document != {}


@pytest.mark.django_db
def test_no_document_is_null() -> None:
    """Neither the document of a row that is not there, nor one that somebody writes: the column refuses that."""
    order = OrderFactory()
    PersonalData.objects.all().delete()
    assert Order.objects.values_list("personal_data__document", flat=True).get() is None
    with pytest.raises(IntegrityError), transaction.atomic():
        Order.objects.filter(pk=order.pk).update(document=None)


@pytest.mark.parametrize("lookup", ["document", "document__icontains", "document__in", "document__amount"])
def test_no_query_looks_into_a_compressed_document(lookup: str) -> None:
    """An error, where packed bytes would never match."""
    with pytest.raises(FieldError):
        Order.objects.filter(**{lookup: "9.99"})
