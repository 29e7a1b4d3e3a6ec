"""The parts of an Order document: customer, money, method and items, as one profile writes them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from checkout_integration.protocol.vocabulary import OrderType, VatPayer
from checkout_integration.sandbox.merchant.catalogue import activation_code
from checkout_integration.sandbox.merchant.currencies import round_money
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.profile import Profile

_FEE_RATE: Final = Decimal("0.05")
_NO_ADDRESS: Final = {"country": "", "city": "", "postal_code": "", "state": ""}
_ITEM_EXTRAS: Final = {"object", "amount", "currency", "url", "created_at", "updated_at"}


def user_part(order: Order, profile: Profile) -> dict[str, Any]:
    """Write the whole User, as user.validate carries it (USR-01 to USR-14)."""
    address = order.user["address"]
    if not profile.empty_is_null:
        address = address or _NO_ADDRESS
    elif address:
        # USR-11: deployed services leave empty members out, and write null where nothing is left.
        address = {name: value for name, value in address.items() if value} or None
    return {
        **order.user,
        "address": address,
        "metadata": order.user["metadata"] or (None if profile.empty_is_null else {}),
    }


def user_in_order(order: Order, profile: Profile) -> dict[str, Any]:
    """Write the User of an order."""
    user = user_part(order, profile)
    if profile.user_in_orders_short:
        for name in ("object", "notify_new_region", "notify_new_region_email"):
            del user[name]
    return user


def billing_address_part(order: Order, profile: Profile) -> dict[str, str] | None:
    """Write the billing address of the form: the country, for the USA also state and zip (ORD-25)."""
    if not order.billing_country:
        return None if profile.empty_is_null else {}
    address = {"country": order.billing_country}
    if order.billing_country == "US":
        address |= {"state": order.billing_state, "zip": order.billing_zip}
    return address


def country_part(order: Order) -> str:
    """Write a country: of the billing address, else of the customer. The specification does not say whose it is (ORD-34)."""
    return str(order.billing_country or (order.user["address"] or _NO_ADDRESS)["country"])


def tax_part(order: Order) -> dict[str, Any]:
    """Write the tax, which is in the currency of the order (ORD-26)."""
    return {
        "type": order.tax_type,
        "rate": order.tax_rate,
        "amount": order.tax_amount,
        "currency": order.currency,
    }


def original_amount_part(order: Order, profile: Profile) -> Decimal:
    """Write the amount without taxes; at deployed services it includes the VAT that a seller pays (ORD-33)."""
    if order.vat_payer == VatPayer.SELLER and not profile.seller_tax_in_original:
        return order.amount - order.tax_amount
    return order.original_amount


def shares_part(order: Order, profile: Profile) -> dict[str, Any]:
    """Write the merchant's net revenue and the service's fee: before the payment null, or nothing (ORD-27, ORD-28)."""
    if not order.paid and profile.empty_is_null:
        return {"net_revenue": None, "fee": None}
    fee = round_money(order.amount * _FEE_RATE, order.currency) if order.paid else Decimal(0)
    net = order.amount - order.tax_amount - fee if order.paid else Decimal(0)
    return {
        "net_revenue": {"amount": net, "currency": order.currency},
        "fee": {"amount": fee, "currency": order.currency},
    }


def refund_part(order: Order, profile: Profile) -> dict[str, Any] | None:
    """Write the refund; deployed services give neither it nor its receipt a code (RFD-04, RFD-05)."""
    if order.refund is None:
        return None
    code = order.refund["code"] if profile.refund_codes else ""
    number = order.refund["receipt_number"] if profile.receipt_numbers else ""
    return {**order.refund, "code": code, "receipt_number": number}


def items_part(order: Order, profile: Profile) -> list[dict[str, Any]] | None:
    """Write the items, null for an order without products (ORD-30)."""
    return None if order.items is None else [_item(order, item, profile) for item in order.items]


def _item(order: Order, item: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """Write an item; code and platform only for a processed key order (ITM-07, ITM-08)."""
    document = {
        name: value for name, value in item.items() if profile.item_extras or name not in _ITEM_EXTRAS
    }
    if order.type == OrderType.KEY and order.paid:
        document["code"] = activation_code(order.transaction, item["id"])
        document[profile.platform_key] = order.platform_id
    elif profile.code_always:
        document |= {"code": "", profile.platform_key: ""}
    return document
