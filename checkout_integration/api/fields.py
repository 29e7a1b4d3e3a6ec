"""Values as a buyer's client gets them: exact amounts, safe addresses, codes only while they are paid for."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from checkout_integration import display
from checkout_integration.conf import app_settings
from checkout_integration.models import Checkout, OrderItem
from checkout_integration.protocol.form import safe_address


class AmountField(serializers.CharField):
    """An amount as text with the places of its currency, null when unknown: a number would become a float in most clients."""

    def __init__(self, currency: str = "", **kwargs: Any) -> None:
        """``currency``: name of the attribute beside it, "" for what is counted in none."""
        self.currency = currency
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def get_attribute(self, instance: Any) -> str | None:
        """The text, or None."""
        amount: Any = super().get_attribute(instance)
        if amount is None:
            return None
        return display.amount_text(amount, (getattr(instance, self.currency) or "") if self.currency else "")


class AddressField(serializers.CharField):
    """An address that a page may link, null for any other."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def get_attribute(self, instance: Any) -> str | None:
        """The address, or None."""
        return _linkable(super().get_attribute(instance)) or None


class AddressesField(serializers.ListField):
    """The addresses of a list that a page may load."""

    child = serializers.CharField()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, **kwargs)

    def to_representation(self, data: list[Any]) -> list[str]:
        """Those that are safe."""
        return [address for address in map(_linkable, data) if address]


class FormAddressField(serializers.CharField):
    """The hosted form of a sale that is not paid yet, else null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def get_attribute(self, instance: Checkout) -> str | None:
        """The address, or None."""
        return display.form_link(instance) or None


class ActivationCodeField(serializers.CharField):
    """The code of a game key, null unless its order is paid and stands: not for a payment in review or taken back."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def get_attribute(self, instance: OrderItem) -> str | None:
        """The code, or None."""
        order: Any = instance.order
        return instance.code or None if order.is_paid else None


def _linkable(address: object) -> str:
    """Http to this machine only in a shop that has a sandbox there."""
    loopback = any(project.allow_http_loopback for project in app_settings().projects.values())
    return safe_address(address, loopback=loopback) if isinstance(address, str) else ""
