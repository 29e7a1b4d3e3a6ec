"""The service's documents: the Order in a notification or list, the User, and the Webhook object."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from checkout_integration.protocol.vocabulary import (
    OBJECT_ORDER,
    TYPE_NOTIFICATION,
    TYPE_PRODUCTS,
    Event,
    OrderStatus,
    OrderType,
    VatPayer,
)
from checkout_integration.sandbox.merchant.catalogue import activation_code
from checkout_integration.sandbox.merchant.currencies import round_money
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.payment_methods import NO_METHOD
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.wire.moments import write_moment

_FEE_RATE: Final = Decimal("0.05")
_NO_ADDRESS: Final = {"country": "", "city": "", "postal_code": "", "state": ""}
_ITEM_EXTRAS: Final = {"object", "amount", "currency", "url", "created_at", "updated_at"}
_EMPTY_ISSUER: Final[dict[str, Any]] = {
    "url": "",
    "embedded": False,
    "reference": "",
    "reference_type": "",
    "utm_source": "",
    "utm_medium": "",
    "utm_campaign": "",
    "referrer_host": "",
}


class Context(StrEnum):
    """The kind of document that contains an order: each has other fields in the specification (ORD-48)."""

    WEBHOOK = "webhook"
    LIST = "list"


@dataclass(frozen=True)
class Documents:
    """The writer of documents in the form of one profile."""

    profile: Profile

    def order(self, order: Order, context: Context, *, status: str | None = None) -> dict[str, Any]:
        """Write an Order object; `status` replaces its own, as in payment.success of deployed services (EVT-03)."""
        listed_chargeback = context is Context.LIST and order.status == OrderStatus.CHARGEBACK
        refunded = order.refunded and not listed_chargeback
        document: dict[str, Any] = {
            "id": order.id,
            "transaction": order.transaction,
            "object": OBJECT_ORDER,
            "status": order.status if status is None else status,
            "description": order.description,
            "created_at": self._moment(order.created_at),
            "canceled": order.canceled,
            "canceled_at": self._moment(order.canceled_at),
            "cancellation": order.cancellation,
            "refunded": refunded,
            "refunded_at": self._moment(order.refunded_at if refunded else None),
            "receipt_email": order.receipt_email,
            "receipt_phone": order.receipt_phone,
            "receipt_number": order.receipt_number if self.profile.receipt_numbers else "",
            "receipt_url": order.receipt_url,
            "receipt_id": order.receipt_id,
            "agreement_version": "1.0" if order.agreement_accepted else "",
            "agreement_accepted": order.agreement_accepted,
            "notify_sale": order.notify_sale,
            "notify_sale_email": order.receipt_email if order.notify_sale else "",
            "issuer": order.issuer or self._empty(_EMPTY_ISSUER),
            "amount": order.amount,
            "currency": order.currency,
            "user": self._user(order, context),
            "billing_address": self._billing_address(order),
            "tax": _tax(order),
        }
        document |= self._shares(order, context)
        document |= {
            "method": self._method(order, context),
            "items": self._items(order),
            "refund": self._refund(order),
            "metadata": order.metadata or self._empty({}),
            "original_amount": self._original_amount(order),
            "country": _country(order),
            "type": self._type(order),
            "platform_id": order.platform_id,
            "virtual_currency_amount": order.virtual_currency_amount,
            "is_buy_for_virtual_currency": order.is_buy_for_virtual_currency,
            "charge_currency": order.charge_currency,
            "charge_amount": order.charge_amount,
            "vat_payer": order.vat_payer,
            "is_production": order.live,
            "testing_case": "",
            "form_mode": order.form_mode,
            "merchant_info": {
                "company_name": order.company_name,
                "agreement_number": order.agreement_number,
            },
            "recurring": order.recurring,
            "recurring_id": order.recurring_id,
        }
        return document | self._agreement(order)

    def user(self, order: Order) -> dict[str, Any]:
        """Write the whole User, as user.validate carries it (USR-01 to USR-14)."""
        address = order.user["address"]
        if not self.profile.empty_is_null:
            address = address or _NO_ADDRESS
        elif address:
            # USR-11: deployed services leave empty members out, and write null where nothing is left.
            address = {name: value for name, value in address.items() if value} or None
        return {**order.user, "address": address, "metadata": order.user["metadata"] or self._empty({})}

    def notification(
        self,
        *,
        id: str,
        event: Event,
        live: bool,
        created_at: datetime,
        delivery_try: int,
        payload: dict[str, Any],
        expires_at: datetime | None = None,
    ) -> dict[str, Any]:
        """Write a Webhook object."""
        return {
            "id": id,
            "type": TYPE_NOTIFICATION,
            "event": event,
            "live": live,
            "created_at": self._moment(created_at),
            "expires_at": self._moment(expires_at) if expires_at else "",
            "delivery_try": delivery_try,
            "object": payload,
        }

    def _moment(self, moment: datetime | None) -> str:
        """Write a time as the profile does: "never" has its own form, and the specification shows no fractions (ORD-06)."""
        return self.profile.zero_time if moment is None else write_moment(self.profile.moment(moment))

    def _empty(self, document: dict[str, Any]) -> dict[str, Any] | None:
        return None if self.profile.empty_is_null else document

    def _type(self, order: Order) -> str:
        """Write the type; the three that the specification lists have no word for virtual currency (ORD-35)."""
        if not self.profile.listed_types or order.type in {OrderType.KEY, OrderType.SIMPLE}:
            return order.type
        return TYPE_PRODUCTS if order.items else OrderType.SIMPLE

    def _user(self, order: Order, context: Context) -> dict[str, Any]:
        """Write the User of an order; the list leaves out its id (ORD-48)."""
        user = self.user(order)
        if self.profile.user_in_orders_short:
            for name in ("object", "notify_new_region", "notify_new_region_email"):
                del user[name]
        if context is Context.LIST:
            del user["id"]
        return user

    def _billing_address(self, order: Order) -> dict[str, str] | None:
        """Write the billing address of the form: the country, for the USA also state and zip (ORD-25)."""
        if not order.billing_country:
            return self._empty({})
        address = {"country": order.billing_country}
        if order.billing_country == "US":
            address |= {"state": order.billing_state, "zip": order.billing_zip}
        return address

    def _original_amount(self, order: Order) -> Decimal:
        """Write the amount without taxes; at deployed services it includes the VAT that a seller pays (ORD-33)."""
        if order.vat_payer == VatPayer.SELLER and not self.profile.seller_tax_in_original:
            return order.amount - order.tax_amount
        return order.original_amount

    def _shares(self, order: Order, context: Context) -> dict[str, Any]:
        """Write the merchant's net revenue and the service's fee: before the payment null, or nothing (ORD-27, ORD-28).

        The list of deployed services lacks both.
        """
        if context is Context.LIST and not self.profile.breakdown_in_list:
            return {}
        if not order.paid and self.profile.empty_is_null:
            return {"net_revenue": None, "fee": None}
        fee = round_money(order.amount * _FEE_RATE, order.currency) if order.paid else Decimal(0)
        net = order.amount - order.tax_amount - fee if order.paid else Decimal(0)
        return {
            "net_revenue": {"amount": net, "currency": order.currency},
            "fee": {"amount": fee, "currency": order.currency},
        }

    def _refund(self, order: Order) -> dict[str, Any] | None:
        """Write the refund; deployed services give neither it nor its receipt a code (RFD-04, RFD-05)."""
        if order.refund is None:
            return None
        code = order.refund["code"] if self.profile.refund_codes else ""
        number = order.refund["receipt_number"] if self.profile.receipt_numbers else ""
        return {**order.refund, "code": code, "receipt_number": number}

    def _items(self, order: Order) -> list[dict[str, Any]] | None:
        """Write the items, null for an order without products (ORD-30)."""
        return None if order.items is None else [self._item(order, item) for item in order.items]

    def _item(self, order: Order, item: dict[str, Any]) -> dict[str, Any]:
        """Write an item; code and platform only for a processed key order (ITM-07, ITM-08)."""
        document = {
            name: value
            for name, value in item.items()
            if self.profile.item_extras or name not in _ITEM_EXTRAS
        }
        if order.type == OrderType.KEY and order.paid:
            document["code"] = activation_code(order.transaction, item["id"])
            document[self.profile.platform_key] = order.platform_id
        elif self.profile.code_always:
            document |= {"code": "", self.profile.platform_key: ""}
        return document

    def _method(self, order: Order, context: Context) -> dict[str, Any] | None:
        """Write the payment method; `handler` appears in the list item (MTH-05)."""
        method = order.method or self._empty(NO_METHOD)
        if method is None or context is Context.LIST or self.profile.handler_in_notifications:
            return method
        return {name: value for name, value in method.items() if name != "handler"}

    def _agreement(self, order: Order) -> dict[str, str]:
        """Write what deployed services add about a recurring agreement, "" without one (ORD-47)."""
        if not self.profile.agreement_extras:
            return {}
        return {
            "recurring_subscription_id": order.recurring_subscription_id,
            "recurring_plan_id": order.recurring_plan_id,
        }


def _country(order: Order) -> str:
    """Write a country: of the billing address, else of the customer. The specification does not say whose it is (ORD-34)."""
    return str(order.billing_country or (order.user["address"] or _NO_ADDRESS)["country"])


def _tax(order: Order) -> dict[str, Any]:
    """Write the tax, which is in the currency of the order (ORD-26)."""
    return {
        "type": order.tax_type,
        "rate": order.tax_rate,
        "amount": order.tax_amount,
        "currency": order.currency,
    }
