"""The service's documents: the Order in a notification or list, the User, and the Webhook object."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from checkout_integration.protocol.vocabulary import (
    OBJECT_ORDER,
    TYPE_NOTIFICATION,
    TYPE_PRODUCTS,
    Event,
    OrderStatus,
    OrderType,
)
from checkout_integration.sandbox.orders.document_parts import (
    billing_address_part,
    country_part,
    items_part,
    original_amount_part,
    refund_part,
    shares_part,
    tax_part,
    user_in_order,
    user_part,
)
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.payment_methods import NO_METHOD
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.wire.moments import write_moment

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


class Documents:
    """The writer of documents in the form of one profile."""

    def __init__(self, profile: Profile) -> None:
        """Write as `profile` does."""
        self._profile = profile

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
            "receipt_number": order.receipt_number if self._profile.receipt_numbers else "",
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
            "billing_address": billing_address_part(order, self._profile),
            "tax": tax_part(order),
        }
        document |= self._shares(order, context)
        document |= {
            "method": self._method(order, context),
            "items": items_part(order, self._profile),
            "refund": refund_part(order, self._profile),
            "metadata": order.metadata or self._empty({}),
            "original_amount": original_amount_part(order, self._profile),
            "country": country_part(order),
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
        """Write the User for user.validate."""
        return user_part(order, self._profile)

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
        return self._profile.zero_time if moment is None else write_moment(self._profile.moment(moment))

    def _empty(self, document: dict[str, Any]) -> dict[str, Any] | None:
        return None if self._profile.empty_is_null else document

    def _type(self, order: Order) -> str:
        """Write the type; the three that the specification lists have no word for virtual currency (ORD-35)."""
        if not self._profile.listed_types or order.type in {OrderType.KEY, OrderType.SIMPLE}:
            return order.type
        return TYPE_PRODUCTS if order.items else OrderType.SIMPLE

    def _user(self, order: Order, context: Context) -> dict[str, Any]:
        """Write the User of an order; the list leaves out its id (ORD-48)."""
        user = user_in_order(order, self._profile)
        if context is Context.LIST:
            del user["id"]
        return user

    def _shares(self, order: Order, context: Context) -> dict[str, Any]:
        """Write `net_revenue` and `fee`, which the list of deployed services lacks (ORD-27, ORD-28)."""
        listed = context is Context.LIST
        return {} if listed and not self._profile.breakdown_in_list else shares_part(order, self._profile)

    def _method(self, order: Order, context: Context) -> dict[str, Any] | None:
        """Write the payment method; `handler` appears in the list item (MTH-05)."""
        method = order.method or self._empty(NO_METHOD)
        if method is None or context is Context.LIST or self._profile.handler_in_notifications:
            return method
        return {name: value for name, value in method.items() if name != "handler"}

    def _agreement(self, order: Order) -> dict[str, str]:
        """Write what deployed services add about a recurring agreement, "" without one (ORD-47)."""
        if not self._profile.agreement_extras:
            return {}
        return {
            "recurring_subscription_id": order.recurring_subscription_id,
            "recurring_plan_id": order.recurring_plan_id,
        }
