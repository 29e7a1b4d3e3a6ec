"""Who acted: an account of the shop, or the system's user who ran a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from django.contrib.auth.models import AbstractBaseUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import Column, account_column
from checkout_integration.models.row import Row

LONGEST_NAME: Final = 64


@dataclass(frozen=True)
class SystemUser:
    """A user of the operating system, who ran a command and named no account."""

    name: str
    pk: ClassVar[None] = None
    """They have no account."""

    def __str__(self) -> str:
        return self.name


Actor: TypeAlias = AbstractBaseUser | SystemUser


def actor_columns(actor: Actor | None) -> dict[str, Any]:
    """Return the columns of `ActedBy`; None stands for the shop's own code."""
    name = actor.name if isinstance(actor, SystemUser) else ""
    return {"staff_id": actor.pk if actor else None, "system_user": name[:LONGEST_NAME]}


class ActedBy(Row):
    """A row of a history, which says who acted."""

    staff = account_column()
    system_user: Column[str] = models.CharField(
        max_length=LONGEST_NAME,
        blank=True,
        default="",
        help_text=_("The system's user who ran a command, where no account acted."),
    )

    class Meta:
        abstract = True

    @property
    def actor(self) -> Actor | None:
        """Who acted; None for the shop's own code, and where the account was deleted."""
        return self.staff or (SystemUser(self.system_user) if self.system_user else None)
