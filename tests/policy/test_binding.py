"""Which checkout of this shop an order belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration.policy.binding import CheckoutValue, bind, reference_of
from checkout_integration.protocol.order import parse_order

KEY = "checkout_reference"


def checkout(**changes: Any) -> CheckoutValue:
    """A checkout of the project "shop" with the order order-1 and the reference "secret"."""
    fields = {"project": "shop", "reference": "secret", "order_id": "order-1", "type": "simple"}
    return CheckoutValue(**{**fields, **changes})


def bound(document: dict[str, Any], *checkouts: CheckoutValue) -> CheckoutValue | None:
    """The checkout that an order of the project "shop" pays for."""
    return bind(parse_order(document), "shop", KEY, checkouts)


@pytest.mark.spec("ORD-01", "EP2-17")
def test_bound_by_the_order_id() -> None:
    """The service returned the id when the order was created."""
    assert bound({"id": "order-1"}, checkout()) == checkout()


@pytest.mark.spec("ORD-32")
def test_bound_by_the_reference() -> None:
    """The form's "try again" makes a new order with the same metadata."""
    assert bound({"id": "order-2", "metadata": {KEY: "secret"}}, checkout()) == checkout()


@pytest.mark.spec("ORD-01", "ORD-32")
def test_the_order_id_goes_first() -> None:
    """Anyone who makes an order can write its metadata."""
    other = checkout(reference="other", order_id="order-9")
    assert bound({"id": "order-1", "metadata": {KEY: "other"}}, other, checkout()) == checkout()


@pytest.mark.spec("ORD-01", "ORD-32")
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
    assert bound(document, checkout()) is None


@pytest.mark.parametrize(
    "document", [{"id": ""}, {"id": "", "metadata": {KEY: ""}}, {"metadata": {KEY: ""}}, {}]
)
def test_emptiness_binds_nothing(document: dict[str, Any]) -> None:
    """A checkout without an order id does not match orders without an id."""
    assert bound(document, checkout(order_id="", reference="")) is None


@pytest.mark.parametrize("document", [{"id": "order-1"}, {"id": "order-2", "metadata": {KEY: "secret"}}])
def test_another_projects_checkout_is_not_bound(document: dict[str, Any]) -> None:
    """The signature of the notification identifies the project."""
    assert bound(document, checkout(project="other")) is None


@pytest.mark.spec("ORD-32")
def test_the_reference_of_an_order() -> None:
    """It travels in the metadata under a key of the shop's choice."""
    order = parse_order({"metadata": {KEY: "secret", "mine": "other"}})
    assert [reference_of(order, key) for key in (KEY, "mine", "none")] == ["secret", "other", ""]
