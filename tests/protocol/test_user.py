"""The User snapshot."""

from __future__ import annotations

import pytest

from checkout_integration.protocol.user import User, parse_user
from tests.support.protocol.vectors import vector


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
