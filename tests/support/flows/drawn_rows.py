"""Values for any column of any model of the product, drawn by Hypothesis."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias

from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import models
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from checkout_integration.models import Checkout, Order, OutboxMessage, PersonalData, ReceiverRun, SyncRun
from checkout_integration.models.columns import DocumentField
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory

Field: TypeAlias = "models.Field[Any, Any]"
Values: TypeAlias = dict[str, Any]
Model: TypeAlias = type[models.Model]
MODELS = list(apps.get_app_config("checkout_integration").get_models())
TEXT = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
OTHERS: dict[str, SearchStrategy[Any]] = {
    "BigIntegerField": st.integers(-(2**63), 2**63 - 1),
    "BinaryField": st.binary(max_size=300),
    "BooleanField": st.booleans(),
    "DateTimeField": st.datetimes(datetime(1001, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    "FloatField": st.floats(-1e15, 1e15, allow_subnormal=False),
    "IntegerField": st.integers(-(2**31), 2**31 - 1),
    "PositiveBigIntegerField": st.integers(0, 2**63 - 1),
    "PositiveIntegerField": st.integers(0, 2**31 - 1),
    "PositiveSmallIntegerField": st.integers(0, 2**15 - 1),
    "SmallIntegerField": st.integers(-(2**15), 2**15 - 1),
}


def _documents(more: SearchStrategy[Any]) -> SearchStrategy[Any]:
    text = st.text(TEXT, max_size=20)
    leaves = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | text | more
    nested = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=6,
    )
    return st.dictionaries(text, nested, max_size=4) | st.lists(nested, max_size=3)


JSON = _documents(st.nothing())
DOCUMENTS = _documents(st.decimals(-1000, 1000, places=3))


def columns(model: Model) -> list[Field]:
    """Return the columns that are written."""
    fields = model._meta.concrete_fields
    return [field for field in fields if not (isinstance(field, models.AutoField) or field.generated)]


def related_rows(count: int) -> dict[Model, list[Any]]:
    """Return rows to refer to, of each model so many."""
    orders = [OrderFactory(checkout=CheckoutFactory()) for _ in range(count)]
    PersonalData.objects.all().delete()  # one for each order: there is no room for another
    ReceiverRun.objects.create(
        message=OutboxMessage.objects.all()[0], receiver="first", due_at=datetime.now(UTC)
    )
    SyncRun.objects.bulk_create([SyncRun(started_at=datetime.now(UTC)) for _ in range(count)])
    related: dict[Model, list[Any]] = {
        User: [User.objects.create(username=f"user {number}") for number in range(count)],
        ContentType: list(ContentType.objects.all()[:count]),
        **{model: list(model._default_manager.all()[:count]) for model in MODELS},
    }
    assert len(related[Order]) == len(orders) == count
    return related


@st.composite
def many_values(draw: DrawFn, model: Model, related: dict[Model, list[Any]], count: int) -> list[Values]:
    """Draw the values of so many rows, which no unique key has in common."""
    drawn = [
        {field.attname: draw(_value(field, related, number)) for field in columns(model)}
        for number in range(count)
    ]
    for values in drawn:
        if model is Checkout and values["recipient_id"] is not None:
            values["gift"] = True  # a constraint
    return drawn


def _value(field: Field, related: dict[Model, list[Any]], number: int) -> SearchStrategy[Any]:
    strategy = _known_value(field, related, number)
    return st.none() | strategy if field.null else strategy


def _known_value(field: Field, related: dict[Model, list[Any]], number: int) -> SearchStrategy[Any]:
    if isinstance(field, models.ForeignKey):
        keys = [row.pk for row in related[field.related_model]]
        return st.just(keys[number]) if field.unique else st.sampled_from(keys) if keys else st.none()
    if isinstance(field, models.DecimalField):
        limit = 10 ** (field.max_digits - field.decimal_places) - 1
        return st.decimals(-limit, limit, places=field.decimal_places)
    if isinstance(field, DocumentField):
        return DOCUMENTS
    if isinstance(field, models.JSONField):
        return JSON
    kind, unique = field.get_internal_type(), _is_unique(field)
    if kind in OTHERS:
        return st.just(number) if unique else OTHERS[kind]
    start = f"{number} " if unique else ""
    length = min(field.max_length or 300, 300) - len(start)
    return st.text(TEXT, max_size=length).map(lambda text: start + text)


def _is_unique(field: Field) -> bool:
    """Return whether rows must differ by this column: of several that are unique together, by the last."""
    together = [each.fields[-1] for each in field.model._meta.total_unique_constraints]
    return field.unique or field.name in together
