"""Values as a customer's client gets them: exact amounts, safe addresses, codes only while they are paid for."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from checkout_integration import display
from checkout_integration.conf import app_settings
from checkout_integration.models import Checkout, OrderItem
from checkout_integration.protocol.form import safe_address


class AmountField(serializers.CharField):
    """An amount as text with the decimal places of its currency; null when unknown. Most clients read a number as a float."""

    def __init__(self, currency: str = "", **kwargs: Any) -> None:
        """Set the name of the currency's attribute, "" for an amount without one."""
        self.currency = currency
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def get_attribute(self, instance: Any) -> str | None:
        """Return the text, or None."""
        amount: Any = super().get_attribute(instance)
        if amount is None:
            return None
        return display.amount_text(amount, (getattr(instance, self.currency) or "") if self.currency else "")


class AddressField(serializers.CharField):
    """An address that a page may link, null for any other."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def get_attribute(self, instance: Any) -> str | None:
        """Return the address, or None."""
        return _linkable(super().get_attribute(instance)) or None


class AddressesField(serializers.ListField):
    """The addresses of a list that a page may load."""

    child = serializers.CharField()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, **kwargs)

    def get_attribute(self, instance: Any) -> list[Any]:
        """Return the list; an empty one where the service sends none."""
        return super().get_attribute(instance) or []

    def to_representation(self, data: list[Any]) -> list[str]:
        """Return the addresses that are safe."""
        return [address for address in map(_linkable, data) if address]


class FormAddressField(serializers.CharField):
    """The hosted form of a checkout that is not paid yet, else null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def get_attribute(self, instance: Checkout) -> str | None:
        """Return the address, or None."""
        return display.form_link(instance) or None


class ActivationCodeField(serializers.CharField):
    """The code of a game key; null unless its order has a payment that is neither in review nor reversed."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def get_attribute(self, instance: OrderItem) -> str | None:
        """Return the code, or None."""
        order: Any = instance.order
        return instance.code or None if order.is_paid else None


def _linkable(address: object) -> str:
    """Return whether a page may link the address: HTTP to this machine only in a shop that has a sandbox there."""
    loopback = any(project.allow_http_loopback for project in app_settings().projects.values())
    return safe_address(address, loopback=loopback) if isinstance(address, str) else ""
