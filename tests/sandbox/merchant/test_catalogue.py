"""The catalogue of a project."""

from __future__ import annotations

from decimal import Decimal

import pytest

from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.sandbox import Product
from checkout_integration.sandbox.merchant.catalogue import generated_product, read_catalogue
from tests.support.sandbox.service import PROJECT, running


def test_a_catalogue_is_read_from_json() -> None:
    """A price may be a number or a text, and stays exact; what is left out has its default."""
    text = """[
        {"id": "gem", "name": "Gem", "price": 2.50},
        {"id": "sky", "name": "Sky", "price": "19.99", "kind": "key", "currency": "EUR", "images": ["https://a.example/i"]}
    ]"""
    assert read_catalogue(text) == (
        Product(id="gem", name="Gem", price=Decimal("2.50")),
        Product(
            id="sky",
            name="Sky",
            price=Decimal("19.99"),
            kind=OrderType.KEY,
            currency="EUR",
            images=("https://a.example/i",),
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"a": 1}',
        "[1]",
        '[{"id": "x"}]',
        '[{"id": "x", "name": "X", "price": "much"}]',
        '[{"price": 1, "z": 2}]',
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """A text without products is a ValueError."""
    with pytest.raises(ValueError, match=r"JSON|products"):
        read_catalogue(text)


@pytest.mark.spec("ITM-03")
def test_a_generated_product_stays_the_same() -> None:
    """Name and price depend on the identifier alone."""
    first, second = (generated_product("dragon-armor", OrderType.PRODUCT, "USD") for _ in range(2))
    assert first == second
    assert (first.name, first.price > 0) == ("Dragon Armor", True)


def test_a_whole_price_stands_on_the_form() -> None:
    """With its two decimals, although JSON writes none."""
    with running(catalogue=(Product(id="owl", name="Owl", price=Decimal(5)),)) as service:
        body = {"project": PROJECT, "type": "product", "products": ["owl"]}
        order_id = service.post("/api/v1/order", body).json()["id"]
        assert "$5.00 USD" in service.form(order_id).text
