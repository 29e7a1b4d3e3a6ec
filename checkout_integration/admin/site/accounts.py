"""Rows of an account of the shop, found by its login name."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Field, Q


def of_account(relation: str, text: str) -> list[Q]:
    """Return the condition that the account of a row has this login name; none where the text cannot be one."""
    name = get_user_model().USERNAME_FIELD
    field = get_user_model()._meta.get_field(name)
    assert isinstance(field, Field)
    try:
        value = field.to_python(text)
    except ValidationError:  # a shop may name its accounts by numbers
        return []
    return [Q((f"{relation}__{name}", value))]
