"""`Row.new` beside the constructor."""

from __future__ import annotations

import pytest
from django.apps import apps

from checkout_integration.models import Order, OrderItem
from checkout_integration.models.row import Row

MODELS = [
    model for model in apps.get_app_config("checkout_integration").get_models() if issubclass(model, Row)
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_new_row_is_as_the_constructor_makes_it(model: type[Row]) -> None:
    """Each column has its default, and no two rows share one that can be changed."""
    row, other, made = model.new(), model.new(), model()
    for field in model._meta.concrete_fields:
        value, expected = (getattr(each, field.attname) for each in (row, made))
        is_made = field.has_default() and callable(field.default)
        assert type(value) is type(expected)
        assert value is not getattr(other, field.attname) if is_made else value == expected
    assert (row._state.adding, row._state.db) == (True, None)


def test_a_new_row_has_the_given_values() -> None:
    """Columns, and related rows."""
    order = Order.new(order_id="order", live=True, checkout=None)
    order.pk, order._state.db = 5, "default"
    item = OrderItem.new(order=order, position=2)
    assert (order.checkout, order.checkout_id, item._state.db) == (None, None, "default")
    assert (order.order_id, order.live, item.order_id, item.order is order, item.position) == (
        "order",
        True,
        5,
        True,
        2,
    )
