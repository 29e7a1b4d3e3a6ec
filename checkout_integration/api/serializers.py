"""The fields of checkouts and orders that a customer may see.

Left out are facts, verdicts, the shop's metadata, fees and revenue, and all personal data: the paying customer may be
another person than the account of the checkout.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from checkout_integration.api.fields import (
    ActivationCodeField,
    AddressesField,
    AddressField,
    AmountField,
    FormAddressField,
    NullableTextField,
    OwnCodeField,
)
from checkout_integration.models import Checkout, Grant, Order, OrderItem


class CheckoutSerializer(serializers.ModelSerializer[Checkout]):
    """A checkout of the shop. ``payment_form_url`` is null once there is nothing left to pay.

    ``gift``: the account has bought it for another one, and does not own it.

    ``status`` is ``processing`` while a stored notification about the checkout is not applied yet.
    """

    status = serializers.CharField(source="shown_status", read_only=True)
    expected_amount = AmountField("currency")
    virtual_currency_amount = AmountField()
    products = serializers.ListField(child=serializers.CharField(), read_only=True)
    payment_form_url = FormAddressField()
    paid_order = serializers.SlugRelatedField[Order](slug_field="order_id", read_only=True, allow_null=True)

    class Meta:
        model = Checkout
        fields = [
            "reference",
            "status",
            "type",
            "expected_amount",
            "currency",
            "products",
            "virtual_currency_amount",
            "platform_id",
            "description",
            "gift",
            "lasts_days",
            "paid_until",
            "owned_until",
            "test",
            "payment_form_url",
            "order_id",
            "paid_order",
            "recorded_at",
            "paid_at",
        ]
        read_only_fields = fields


class ItemSerializer(serializers.ModelSerializer[OrderItem]):
    """An item of an order. ``code`` is null unless the order is paid and stands, and for a gift to another account."""

    description = serializers.CharField(read_only=True, allow_null=True)
    images = AddressesField()
    code: NullableTextField = ActivationCodeField()

    class Meta:
        model = OrderItem
        fields = ["item_id", "sku", "name", "description", "images", "code", "platform"]
        read_only_fields = fields


class TaxSerializer(serializers.Serializer[Any]):
    """Tax of an order."""

    type = serializers.CharField(read_only=True, allow_null=True)
    rate = AmountField()
    amount = AmountField("currency")
    currency = serializers.CharField(read_only=True, allow_null=True)


class RefundSerializer(serializers.Serializer[Any]):
    """Refund of an order, without the reason: that is the operator's note."""

    amount = AmountField("currency")
    currency = serializers.CharField(read_only=True, allow_null=True)
    receipt_number = serializers.CharField(read_only=True, allow_null=True)
    receipt_url = AddressField()


class OrderSerializer(serializers.ModelSerializer[Order]):
    """An order of the service that belongs to a checkout. ``paid`` says whether it counts as its payment."""

    checkout = serializers.SlugRelatedField[Checkout](slug_field="reference", read_only=True)
    paid = serializers.BooleanField(source="is_paid", read_only=True)
    description = serializers.CharField(read_only=True, allow_null=True)
    amount = AmountField("currency")
    charge_amount = AmountField("charge_currency")
    virtual_currency_amount = AmountField()
    tax = TaxSerializer(read_only=True, allow_null=True)
    method = serializers.CharField(source="method.title", default=None, read_only=True, allow_null=True)
    receipt_url = AddressField()
    refund = RefundSerializer(read_only=True, allow_null=True)
    items = ItemSerializer(many=True, read_only=True)

    class Meta:
        model = Order
        fields = [
            "order_id",
            "checkout",
            "status",
            "paid",
            "type",
            "description",
            "amount",
            "currency",
            "charge_amount",
            "charge_currency",
            "virtual_currency_amount",
            "tax",
            "method",
            "receipt_number",
            "receipt_url",
            "refund",
            "items",
            "created_at",
            "canceled_at",
            "refunded_at",
        ]
        read_only_fields = fields


class OwnedSerializer(serializers.ModelSerializer[Checkout]):
    """Something that a customer owns: a paid checkout."""

    products = serializers.ListField(child=serializers.CharField(), read_only=True)
    virtual_currency_amount = AmountField()
    subject = serializers.SerializerMethodField()
    ended = serializers.BooleanField(source="has_ended", read_only=True)

    class Meta:
        model = Checkout
        fields = [
            "reference",
            "type",
            "products",
            "virtual_currency_amount",
            "platform_id",
            "subject",
            "gift",
            "test",
            "paid_at",
            "paid_until",
            "owned_until",
            "ended",
        ]
        read_only_fields = fields

    def get_subject(self, row: Checkout) -> str:
        """Return the shop's own object, such as "shop.basket 12"; "" if there is none."""
        kind = row.subject_type
        return f"{kind.app_label}.{kind.model} {row.subject_id}" if kind else ""


class OwnItemSerializer(ItemSerializer):
    """An item that the account owns, with its activation code; null where it has none."""

    code = OwnCodeField()


class OwnSerializer(OwnedSerializer):
    """Something that the account owns, bought or given to it. Of who gave it there is nothing."""

    items = OwnItemSerializer(source="paid_order.items", many=True, read_only=True, default=[])

    class Meta(OwnedSerializer.Meta):
        fields = [*OwnedSerializer.Meta.fields, "description", "items"]
        read_only_fields = fields


class GrantSerializer(serializers.ModelSerializer[Grant]):
    """Goods to deliver once, under their ``key``; ``checkout`` is what was sold."""

    checkout = OwnedSerializer(read_only=True)

    class Meta:
        model = Grant
        fields = ["key", "number", "renewal", "state", "opened_at", "acknowledged_at", "checkout"]
        read_only_fields = fields
