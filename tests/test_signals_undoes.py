"""What a receiver of checkout_reversed undoes: given when it is connected, by function or by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from checkout_integration.signals import checkout_reversed


class Other:
    """Stands for another sender."""


def grant(**kwargs: Any) -> None:
    """Is a receiver of checkout_paid."""


def revoke(**kwargs: Any) -> None:
    """Is a receiver of checkout_reversed."""


@pytest.fixture(autouse=True)
def _disconnected() -> Iterator[None]:
    """Leave nothing connected."""
    yield
    checkout_reversed.disconnect(dispatch_uid="revoke")


def connect(undoes: Any, **more: Any) -> None:
    """Connect the receiver."""
    checkout_reversed.connect(revoke, dispatch_uid="revoke", undoes=undoes, **more)


def test_what_is_undone_is_remembered_for_the_senders_that_are_left() -> None:
    """Disconnecting a receiver for another sender leaves it as it is."""
    checkout_reversed.connect(grant, dispatch_uid="revoke", undoes="give")
    try:
        assert checkout_reversed.disconnect(grant, sender=Other, dispatch_uid="revoke") is False
        assert checkout_reversed.undoing("revoke", {}).names == {"give"}
    finally:
        checkout_reversed.disconnect(grant, dispatch_uid="revoke")
    assert checkout_reversed.undoing("revoke", {}).names == set()


@pytest.mark.parametrize("undoes", [grant, [grant], f"{__name__}.grant"])
def test_a_function_is_undone_under_its_name(undoes: Any) -> None:
    """Alone or in a list."""
    connect(undoes)
    assert checkout_reversed.undoing("revoke", {}).names == {f"{__name__}.grant"}


def test_a_function_with_a_uid_is_undone_under_the_uid() -> None:
    """The stored name of its runs."""
    connect([grant, "another"])
    assert checkout_reversed.undoing("revoke", {"gems": grant}).names == {"gems", "another"}


def test_another_word_for_when_is_refused() -> None:
    """Otherwise a receiver that revokes too little would stay unnoticed."""
    with pytest.raises(ValueError, match="attempted"):
        connect(grant, when="always")
