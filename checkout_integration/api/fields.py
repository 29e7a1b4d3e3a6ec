"""Values as a customer's client gets them: exact amounts, safe addresses, codes only while they are paid for."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from checkout_integration import display
from checkout_integration.models import Checkout, OrderItem
from checkout_integration.protocol.values import is_stated


class NullableTextField(serializers.CharField):
    """A text that clients read, null where there is none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)


class AmountField(NullableTextField):
    """An amount as text with the decimal places of its currency; null when unknown. Most clients read a number as a float."""

    def __init__(self, currency: str = "", **kwargs: Any) -> None:
        """Set the name of the currency's attribute, "" for an amount without one."""
        self.currency = currency
        super().__init__(**kwargs)

    def get_attribute(self, instance: Any) -> str | None:
        """Return the text, or None."""
        amount: Any = super().get_attribute(instance)
        currency = (getattr(instance, self.currency) or "") if self.currency else ""
        if amount is None or (self.currency and not is_stated(amount, currency)):
            return None
        return display.amount_text(amount, currency)


class AddressField(NullableTextField):
    """An address that a page may link, null for any other."""

    def get_attribute(self, instance: Any) -> str | None:
        """Return the address, or None."""
        return display.linkable(super().get_attribute(instance)) or None


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
        return [address for address in map(display.linkable, data) if address]


class FormAddressField(NullableTextField):
    """The hosted form of a checkout that is not paid yet, else null."""

    def get_attribute(self, instance: Checkout) -> str | None:
        """Return the address, or None."""
        return display.form_link(instance) or None


class OwnCodeField(NullableTextField):
    """The code of a game key that the account owns; null where there is none."""

    def get_attribute(self, instance: OrderItem) -> str | None:
        """Return the code, or None."""
        return instance.code or None


class ActivationCodeField(NullableTextField):
    """The code of a game key; null unless its order has a payment that is neither in review nor reversed, and for a gift.

    The code of a gift is its recipient's.
    """

    def get_attribute(self, instance: OrderItem) -> str | None:
        """Return the code, or None."""
        order: Any = instance.order
        return instance.code or None if order.is_paid and not order.checkout.gift else None
