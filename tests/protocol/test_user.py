"""The User snapshot."""

from __future__ import annotations

import pytest

from checkout_integration.protocol.user import User, parse_user
from tests.support.protocol.vectors import vector

FIELDS = [
    pytest.param("id", "usr-1", marks=pytest.mark.spec("USR-01")),
    pytest.param("object", "user", marks=pytest.mark.spec("USR-02")),
    pytest.param("external_id", "player-42", marks=pytest.mark.spec("USR-03")),
    pytest.param("name", "Ada Example", marks=pytest.mark.spec("USR-04")),
    pytest.param("email", "ada@mail.example", marks=pytest.mark.spec("USR-05")),
    pytest.param("email_verified", True, marks=pytest.mark.spec("USR-06")),
    pytest.param("phone", "+4930123456", marks=pytest.mark.spec("USR-07")),
    pytest.param("phone_verified", False, marks=pytest.mark.spec("USR-08")),
    pytest.param("ip", "192.0.2.7", marks=pytest.mark.spec("USR-09")),
    pytest.param("locale", "de-DE", marks=pytest.mark.spec("USR-10")),
    pytest.param("metadata", {"level": "7"}, marks=pytest.mark.spec("USR-12")),
    pytest.param("notify_new_region", True, marks=pytest.mark.spec("USR-13")),
    pytest.param("notify_new_region_email", "region@mail.example", marks=pytest.mark.spec("USR-14")),
]


@pytest.mark.parametrize(("name", "expected"), FIELDS)
def test_every_field_is_an_attribute(name: str, expected: object) -> None:
    """Each field of the specification is read under its own name."""
    user = parse_user(vector("user"))
    assert getattr(user, name) == expected
    assert user.problems == ()


@pytest.mark.spec("USR-11")
def test_the_address_is_a_snapshot_of_its_own() -> None:
    """Country, city, postal code and state."""
    address = parse_user(vector("user")).address
    assert address is not None
    assert (address.country, address.city) == ("DE", "Berlin")
    assert (address.postal_code, address.state) == ("10115", "DE-BE")


@pytest.mark.spec("ORD-48")
def test_the_user_of_a_listed_order_may_have_no_id() -> None:
    """The list leaves it out, and other fields come as null."""
    user = parse_user({"external_id": "", "metadata": None, "address": None})
    assert (user.id, user.external_id, user.metadata, user.address) == (None, "", None, None)
    assert user.problems == ()


def test_a_snapshot_is_frozen() -> None:
    """Values cannot be changed after parsing."""
    user: User = parse_user(vector("user"))
    with pytest.raises(AttributeError):
        user.email = "other@mail.example"  # type: ignore[misc]
