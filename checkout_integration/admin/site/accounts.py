"""Rows of an account of the shop, found by its login name."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Field, Q


def of_account(relation: str, text: str) -> list[Q]:
    """Return the condition that a row belongs to the account with this login name; none where no account has it.

    The account is looked up first: by a join, a planner would expect as many rows as an account has on average.
    """
    name = get_user_model().USERNAME_FIELD
    field = get_user_model()._meta.get_field(name)
    assert isinstance(field, Field)
    try:
        value = field.to_python(text)
    except ValidationError:  # a shop may name its accounts by numbers
        return []
    accounts = list(get_user_model()._base_manager.filter(**{name: value}).values_list("pk", flat=True))
    return [Q((f"{relation}__in", accounts))] if accounts else []
