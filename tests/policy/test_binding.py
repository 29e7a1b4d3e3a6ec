"""Which sale of this shop an order belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration.policy.binding import Sale, bind, reference_of
from checkout_integration.protocol.order import parse_order

KEY = "checkout_reference"


def sale(**changes: Any) -> Sale:
    """A sale of the project "shop" whose order is order-1 and whose reference is "secret"."""
    asked = {"project": "shop", "reference": "secret", "order_id": "order-1", "type": "simple"}
    return Sale(**{**asked, **changes})


def bound(document: dict[str, Any], *sales: Sale) -> Sale | None:
    """The sale that an order of the project "shop" pays for."""
    return bind(parse_order(document), "shop", KEY, sales)


def test_bound_by_the_order_id() -> None:
    """The service gave us the id when we asked for the order."""
    assert bound({"id": "order-1"}, sale()) == sale()


@pytest.mark.spec("ORD-32")
def test_bound_by_the_reference() -> None:
    """The form's "try again" makes a new order with the same metadata."""
    assert bound({"id": "order-2", "metadata": {KEY: "secret"}}, sale()) == sale()


def test_the_order_id_goes_first() -> None:
    """Metadata is written by whoever makes the order."""
    other = sale(reference="other", order_id="order-9")
    assert bound({"id": "order-1", "metadata": {KEY: "other"}}, other, sale()) == sale()


@pytest.mark.parametrize(
    "document",
    [
        {"id": "order-2"},
        {"id": "order-2", "metadata": None},
        {"id": "order-2", "metadata": {KEY: "guess"}},
        {"id": "order-2", "metadata": {KEY: ["secret"]}},
        {"id": "order-2", "metadata": {"other_key": "secret"}},
        {"id": "order-2", "metadata": "secret"},
        {},
    ],
)
def test_not_bound(document: dict[str, Any]) -> None:
    """Anyone who knows the public project id can make an order."""
    assert bound(document, sale()) is None


@pytest.mark.parametrize(
    "document", [{"id": ""}, {"id": "", "metadata": {KEY: ""}}, {"metadata": {KEY: ""}}, {}]
)
def test_emptiness_binds_nothing(document: dict[str, Any]) -> None:
    """A sale whose order id we have not learnt yet is not the sale of every order without one."""
    assert bound(document, sale(order_id="", reference="")) is None


@pytest.mark.parametrize("document", [{"id": "order-1"}, {"id": "order-2", "metadata": {KEY: "secret"}}])
def test_another_projects_sale_is_not_bound(document: dict[str, Any]) -> None:
    """G9: projects are told apart by the signature of the notification."""
    assert bound(document, sale(project="other")) is None


def test_the_reference_of_an_order() -> None:
    """It travels in the metadata under a key of the shop's choice."""
    order = parse_order({"metadata": {KEY: "secret", "mine": "other"}})
    assert [reference_of(order, key) for key in (KEY, "mine", "none")] == ["secret", "other", ""]
