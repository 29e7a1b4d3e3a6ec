"""Writing the service's documents: the Order in a notification or list, its parts, and the Webhook object."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from checkout_integration.protocol.vocabulary import (
    OBJECT_ORDER,
    TYPE_NOTIFICATION,
    Event,
    OrderStatus,
    OrderType,
)
from checkout_integration.sandbox.catalogue import activation_code
from checkout_integration.sandbox.currencies import round_money
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.profile import Profile

_FEE_RATE: Final = Decimal("0.05")
_EMPTY_ADDRESS: Final = {"country": "", "city": "", "postal_code": "", "state": ""}
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
    """Where an order is written: the specification emits other fields in each (ORD-48)."""

    WEBHOOK = "webhook"
    LIST = "list"


class Documents:
    """Writes documents the way one profile does."""

    def __init__(self, profile: Profile) -> None:
        """Write as `profile` does."""
        self._profile = profile

    def order(self, order: Order, context: Context, *, status: str | None = None) -> dict[str, Any]:
        """Write an Order object; `status` replaces its own, as payment.success does in the field."""
        listed_chargeback = context is Context.LIST and order.status == OrderStatus.CHARGEBACK
        refunded = order.refunded and (self._profile.chargeback_listed_as_refunded or not listed_chargeback)
        document: dict[str, Any] = {
            "id": order.id,
            "transaction": order.transaction,
            "object": OBJECT_ORDER,
            "status": order.status if status is None else status,
            "description": order.description,
            "created_at": write_moment(order.created_at),
            "canceled": order.canceled,
            "canceled_at": self._moment(order.canceled_at),
            "cancellation": order.cancellation,
            "refunded": refunded,
            "refunded_at": self._moment(order.refunded_at if refunded else None),
            "receipt_email": order.receipt_email,
            "receipt_phone": order.receipt_phone,
            "receipt_number": order.receipt_number,
            "receipt_url": order.receipt_url,
            "receipt_id": order.receipt_id,
            "agreement_version": "1.0" if order.agreement_accepted else "",
            "agreement_accepted": order.agreement_accepted,
            "notify_sale": order.notify_sale,
            "notify_sale_email": order.receipt_email if order.notify_sale else "",
            "issuer": order.issuer or self._empty(_EMPTY_ISSUER),
            "amount": order.amount,
            "currency": order.currency,
            "user": self.user(order, context),
            "billing_address": self._billing_address(order),
            "tax": self._tax(order),
        }
        document |= self._money(order, context)
        document |= {
            "method": self._method(order, context),
            "items": self._items(order),
            "refund": order.refund,
            "metadata": order.metadata or self._empty({}),
            "original_amount": order.original_amount,
            "country": order.billing_country or self._country(order),
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

    def user(self, order: Order, context: Context = Context.WEBHOOK) -> dict[str, Any]:
        """Write the User of an order, or alone for user.validate; the list leaves out its id (ORD-48)."""
        document = {
            **order.user,
            "address": order.user["address"] or self._empty(_EMPTY_ADDRESS),
            "metadata": order.user.get("metadata") or self._empty({}),
            "notify_new_region": False,
            "notify_new_region_email": "",
        }
        if context is Context.LIST:
            del document["id"]
        return document

    def notification(
        self,
        *,
        id: str,
        event: Event,
        live: bool,
        now: datetime,
        delivery_try: int,
        payload: dict[str, Any],
        expires_at: datetime | None = None,
    ) -> dict[str, Any]:
        """Write a Webhook object; `created_at` is the time of this attempt (field notes)."""
        return {
            "id": id,
            "type": TYPE_NOTIFICATION,
            "event": event,
            "live": live,
            "created_at": write_moment(now),
            "expires_at": write_moment(expires_at) if expires_at else "",
            "delivery_try": delivery_try,
            "object": payload,
        }

    def _moment(self, moment: datetime | None) -> str:
        return self._profile.zero_time if moment is None else write_moment(moment)

    def _empty(self, document: dict[str, Any]) -> dict[str, Any] | None:
        return None if self._profile.empty_is_null else document

    def _type(self, order: Order) -> str:
        return self._profile.product_type if order.type == OrderType.PRODUCT else order.type

    def _country(self, order: Order) -> str:
        return (order.user["address"] or _EMPTY_ADDRESS)["country"]

    def _billing_address(self, order: Order) -> dict[str, str] | None:
        """Write what the form asked for: the country, for the USA also state and zip (ORD-25)."""
        if not order.billing_country:
            return self._empty({})
        address = {"country": order.billing_country}
        if order.billing_country == "US":
            address |= {"state": order.billing_state, "zip": order.billing_zip}
        return address

    def _tax(self, order: Order) -> dict[str, Any]:
        return {
            "type": order.tax_type,
            "rate": order.tax_rate,
            "amount": order.tax_amount,
            "currency": order.currency,
        }

    def _money(self, order: Order, context: Context) -> dict[str, Any]:
        """Write what reaches the merchant; null before the payment and in the field's notifications."""
        silent = context is Context.WEBHOOK and not self._profile.breakdown_in_webhook
        if silent or not order.paid:
            return {"net_revenue": None, "fee": None}
        fee = round_money(order.amount * _FEE_RATE, order.currency)
        net = order.amount - order.tax_amount - fee
        return {
            "net_revenue": {"amount": net, "currency": order.currency},
            "fee": {"amount": fee, "currency": order.currency},
        }

    def _agreement(self, order: Order) -> dict[str, str]:
        """Write what deployed services add about a recurring agreement, "" without one."""
        if not self._profile.agreement_extras:
            return {}
        return {
            "recurring_subscription_id": order.recurring_subscription_id,
            "recurring_plan_id": order.recurring_plan_id,
        }

    def _method(self, order: Order, context: Context) -> dict[str, Any] | None:
        """Write the payment method; `handler` appears in the list item (MTH-05)."""
        if order.method is None or context is Context.LIST:
            return order.method
        return {name: value for name, value in order.method.items() if name != "handler"}

    def _items(self, order: Order) -> list[dict[str, Any]] | None:
        return None if order.items is None else [self._item(order, item) for item in order.items]

    def _item(self, order: Order, item: dict[str, Any]) -> dict[str, Any]:
        """Write an item; code and platform only for a processed key order (ITM-07, ITM-08)."""
        extras = {"object", "amount", "currency", "url", "created_at", "updated_at"}
        document = {
            name: value for name, value in item.items() if self._profile.item_extras or name not in extras
        }
        if order.type == OrderType.KEY and order.paid:
            document["code"] = activation_code(order.transaction, item["id"])
            document[self._profile.platform_key] = order.platform_id
        return document
