"""The customer of a request: allowed fields, and their place for each endpoint."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkout_integration.protocol.creation import (
    Customer,
    CustomerAddress,
    build_order_document,
    build_token_document,
)
from checkout_integration.protocol.creation_rules import check_token
from checkout_integration.protocol.creation_values import CreationError
from tests.support.protocol.creation_requests import (
    ADA,
    KEY_ORDER,
    KEY_TOKEN,
    SIMPLE_ORDER,
    SIMPLE_TOKEN,
    order_problems,
    token_problems,
)


@pytest.mark.spec("EP2-13", "EP1-05")
def test_what_is_empty_is_left_out() -> None:
    """An account without a name or an address gives no empty fields to the service."""
    nobody = Customer(external_id="7", name="", email="", ip=None, address=CustomerAddress(country=""))
    assert build_order_document(replace(SIMPLE_ORDER, user=nobody))["user"] == {
        "external_id": "7",
        "address": {},
    }
    assert build_token_document(replace(SIMPLE_TOKEN, user=nobody))["user"] == {"id": "7", "address": {}}


@pytest.mark.spec("EP1-04")
def test_the_user_of_a_token_needs_an_id() -> None:
    """Required if user is given."""
    assert set(token_problems(replace(SIMPLE_TOKEN, user=Customer(email="a@mail.example")))) == {"user.id"}


@pytest.mark.parametrize(
    ("customer", "field"),
    [
        (replace(ADA, locale="german"), "user.locale"),
        (replace(ADA, locale="de_DE"), "user.locale"),
        (replace(ADA, email_verified="no"), "user.email_verified"),  # type: ignore[arg-type]
        (replace(ADA, phone_verified=1), "user.phone_verified"),  # type: ignore[arg-type]
        (replace(ADA, name=5), "user.name"),  # type: ignore[arg-type]
        (replace(ADA, phone=49), "user.phone"),  # type: ignore[arg-type]
        (replace(ADA, name="x" * 256), "user.name"),
        (replace(ADA, name="Ada \ud800"), "user.name"),
        (replace(ADA, address=CustomerAddress(state="Bavaria")), "user.address.state"),
        (replace(ADA, address=CustomerAddress(city=5)), "user.address.city"),  # type: ignore[arg-type]
        (replace(ADA, metadata={"level": "7"}), "user.metadata"),
        (replace(ADA, ip="localhost"), "user.ip"),
        (replace(ADA, address=CustomerAddress(country="Germany")), "user.address.country"),
        (replace(ADA, address=CustomerAddress(country="de")), "user.address.country"),
        (replace(ADA, email=5), "user.email"),  # type: ignore[arg-type]
        (replace(ADA, external_id=42), "user.external_id"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.spec("EP2-13")
def test_the_customer_is_checked(customer: Customer, field: str) -> None:
    """A primary key that is a number is the commonest mistake: identifiers are text."""
    assert set(order_problems(replace(KEY_ORDER, user=customer))) == {field}


@pytest.mark.parametrize(
    ("customer", "field"),
    [
        (replace(ADA, locale="de"), "user.locale.value"),
        (replace(ADA, locale="!!!!!"), "user.locale.value"),
        (replace(ADA, locale="de-DE;q=1.5"), "user.locale.value"),
        (replace(ADA, locale="de-DE;q=1.001"), "user.locale.value"),
        (replace(ADA, email_verified="no"), "user.email.verified"),  # type: ignore[arg-type]
        (replace(ADA, email=None), "user.email.value"),
        (replace(ADA, phone="", phone_verified=True), "user.phone.value"),
        (replace(ADA, name=5), "user.name.value"),  # type: ignore[arg-type]
        (replace(ADA, metadata={"level": 7}), "user.metadata.level"),  # type: ignore[dict-item]
        (replace(ADA, ip="localhost"), "user.ip.value"),
        (replace(ADA, external_id=42), "user.id"),  # type: ignore[arg-type]
        (replace(ADA, address=CustomerAddress(country="Germany")), "user.address.country"),
    ],
)
@pytest.mark.spec("EP1-04", "EP1-08", "EP1-09", "EP1-10")
def test_the_customer_of_a_token_is_checked_by_its_own_names(customer: Customer, field: str) -> None:
    """The same rules, named as the token request names the fields."""
    assert set(token_problems(replace(KEY_TOKEN, user=customer))) == {field}


@pytest.mark.spec("EP1-05", "EP1-06", "EP1-07", "EP1-08", "EP1-09")
@pytest.mark.parametrize("name", ["email", "phone", "name", "ip", "locale"])
def test_a_value_without_its_object_is_named_in_the_error(name: str) -> None:
    """A token wraps each of these in an object; the error names the field that is plain text."""
    settings = {"project_id": "proj-1", "type": "key", "products_ids": ["key-1"]}
    with pytest.raises(CreationError) as caught:
        check_token({"settings": settings, "user": {"id": "player-42", name: "plain text"}})
    assert caught.value.problems == [(f"user.{name}", "must be an object")]
