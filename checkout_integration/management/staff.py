"""The member of staff for whom a command acts."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import CommandError


def staff_named(name: str | None) -> AbstractBaseUser | None:
    """Return the account with this login name; None without a name. Raises ``CommandError`` where there is none."""
    if name is None:
        return None
    accounts = get_user_model()
    staff = accounts._default_manager.filter(**{accounts.USERNAME_FIELD: name}).first()
    if staff is None:
        raise CommandError(f"There is no account {name!r}.", returncode=2)
    return staff
