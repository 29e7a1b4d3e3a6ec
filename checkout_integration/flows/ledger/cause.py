"""Why an order's state moves."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser

from checkout_integration.models import Notification, SyncRun
from checkout_integration.policy.observation import Source


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Why state moves: stored with each transition (G11)."""

    source: Source
    notification: Notification | None = None
    sync_run: SyncRun | None = None
    staff: AbstractBaseUser | None = None
    reason: str = ""

    @property
    def word(self) -> str:
        """The argument ``source`` of the signals."""
        return "sync" if self.source is Source.LIST else self.source.value
