"""Decisions that only the shop can make."""

from __future__ import annotations

from django.contrib.auth.models import User as Account

from checkout_integration.hooks import Hooks, Refusal
from checkout_integration.protocol.user import User


class ShopHooks(Hooks):
    """The shop's answers to the service."""

    def validate_user(self, user: User) -> bool | Refusal:
        """Let our own players pay. The ``external_id`` is the account's key, as ``create_checkout`` sent it."""
        key = user.external_id or ""
        if key.isdecimal() and Account.objects.filter(pk=int(key), is_active=True).exists():
            return True
        return Refusal(message="This player is not known at Brightwick Games.")
