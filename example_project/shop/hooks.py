"""Decisions that only the shop can make."""

from __future__ import annotations

from checkout_integration import flows
from checkout_integration.hooks import Hooks, Refusal
from checkout_integration.protocol.user import User


class ShopHooks(Hooks):
    """The shop's answers to the service."""

    def validate_user(self, user: User) -> bool | Refusal:
        """Let guests and our own players pay. The ``external_id`` is the account's key, as ``create_checkout`` sent it."""
        account = flows.account_of(user)
        if not user.external_id or (account is not None and account.is_active):
            return True
        return Refusal(message="This player is not known at Brightwick Games.")
