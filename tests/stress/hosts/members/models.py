"""The account."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models


class Members(BaseUserManager["Member"]):
    """Makes accounts."""

    def create_superuser(self, email: str, password: str, **fields: Any) -> Member:
        """An account that may do everything."""
        made = self.model(email=email, is_staff=True, is_superuser=True, **fields)
        made.set_password(password)
        made.save(using=self._db)
        return made


class Member(AbstractBaseUser, PermissionsMixin):
    """An account with an e-mail address, without user name and first name, and with a key that is no number."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)

    objects = Members()
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        app_label = "members"

    def __str__(self) -> str:
        return self.email
