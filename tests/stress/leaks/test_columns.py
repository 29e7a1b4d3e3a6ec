"""No column is forgotten: each is in the list of what erasing does, and erasing does what the list says."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db import models

from checkout_integration import flows
from checkout_integration.models import CheckoutUser, Order, Refund, Transition
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.flows.conftest import _not_installed, hooks
from tests.stress.leaks.columns import BOOKS, ERASED, OURS, REDUCED
from tests.support.customer import CANARIES, EXTERNAL_ID, PRIVACY_REQUEST, live
from tests.support.flows.shop import ShopHooks
from tests.support.tables import columns_with

__all__ = ["_not_installed", "hooks"]

TEXT = (
    models.CharField,
    models.TextField,
    models.JSONField,
    models.BinaryField,
    models.GenericIPAddressField,
)
FOUND_BY = {
    *("CheckoutUser.external_id", "CheckoutUser.user_id", "ValidationDecision.external_id"),
    "Notification.body",
}
"""By these a customer is found, so they keep what `live` has written."""
UNIQUE = {"Checkout.idempotency_key"}
"""Rows cannot have the same word in them; tests/flows/privacy/test_erased_checkouts.py looks at them."""
WORD = "zq9x"
"""No name, no number, no hexadecimal digit; short enough for every column."""


def text_columns() -> set[str]:
    """The text columns of the app's models."""
    tables = apps.get_app_config("checkout_integration").get_models()
    return {
        f"{model.__name__}.{column.name}"
        for model in tables
        for column in model._meta.local_concrete_fields
        if isinstance(column, TEXT)
    }


def test_every_column_is_in_the_list() -> None:
    """A new one must be given a class: does erasing empty it, reduce it, or is it no business of the customer?"""
    classes = [ERASED, REDUCED, BOOKS, OURS]
    assert text_columns() == set().union(*classes)
    assert sum(map(len, classes)) == len(text_columns())


def word_for(column: models.Field[Any, Any]) -> object:
    """A value of the column's type with the word in it."""
    if isinstance(column, models.JSONField):
        return {WORD: WORD}
    return WORD.encode() if isinstance(column, models.BinaryField) else WORD


@pytest.mark.django_db
def test_erasing_empties_what_the_list_says(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """With a word in each such column of the customer's rows, no word is left."""
    live(checkout_deliver, hooks)
    OrderFactory(
        checkout=CheckoutFactory(), user=UserDocumentFactory(external_id=EXTERNAL_ID), status="refunded"
    )
    customer = CheckoutUser.objects.get(external_id=EXTERNAL_ID)
    list(flows.privacy.export_customer(flows.privacy.find_persons(customer=customer), PRIVACY_REQUEST))
    for name in sorted((ERASED | {"Order.document", "Refund.document"}) - FOUND_BY - UNIQUE):
        model, column = name.split(".")
        field = apps.get_model("checkout_integration", model)._meta.get_field(column)
        assert isinstance(field, models.Field)
        if field.model is Transition:  # it cannot be changed, so there is another one
            for order in Order.objects.filter(user=customer):
                order.transitions.create(**{column: word_for(field)})
            continue
        rows = field.model._default_manager.all()
        assert rows.update(**{column: word_for(field)}) > 0, f"no row has {name}"
    assert len(columns_with([WORD])) >= len(ERASED - FOUND_BY - UNIQUE)
    (person,) = flows.privacy.find_persons(customer=customer)
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    assert columns_with([WORD, *CANARIES]) == set()
    assert Refund.objects.exists()
