"""Statements as they are composed: which values are converted, and by what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.db import connection, models
from django.test.utils import isolate_apps

from checkout_integration.flows.database import statements
from checkout_integration.flows.database.statements import STATEMENTS, Insert
from checkout_integration.models import Order
from checkout_integration.models.columns import TextColumn

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("count", [1, 2])
def test_a_shops_own_kind_of_key_is_converted_by_it(count: int) -> None:
    """An account's key may be a text that its field stores in another form."""

    class PrefixedField(TextColumn):
        def get_prep_value(self, value: Any) -> Any:
            return value and value.removeprefix("account_")

    with isolate_apps():

        class Account(models.Model):  # noqa: DJ008
            key = PrefixedField(max_length=20, primary_key=True)

            class Meta:
                app_label = "shop"

        class Customer(models.Model):  # noqa: DJ008
            account: Any = models.ForeignKey(Account, on_delete=models.CASCADE)

            class Meta:
                app_label = "tests"

    fields: Any = Customer._meta.concrete_fields
    statement = STATEMENTS[connection.vendor](connection, Insert(model=Customer, fields=fields, key=[]))
    rows = [Customer(account_id="account_7") for _ in range(count)]
    assert "account_" not in str(statement.values(connection, rows))


@pytest.mark.postgres
def test_a_time_without_a_zone_is_refused() -> None:
    """PostgreSQL would take it for a time of the connection's zone."""
    naive = datetime(2026, 5, 1)  # noqa: DTZ001
    rows = [Order(project="default", order_id=order_id, created_at=naive) for order_id in ("a", "b")]
    with pytest.raises(TypeError, match="needs a zone"):
        statements.insert(rows)
