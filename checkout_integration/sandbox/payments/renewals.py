"""Recurring payments: an agreement that starts with a payment, and its renewals (ORD-46, ORD-47, MTH-11)."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Final

from checkout_integration.protocol.vocabulary import Event, OrderStatus
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.order_factory import repeat_order
from checkout_integration.sandbox.orders.tax import with_tax
from checkout_integration.sandbox.payments.transitions import Transitions
from checkout_integration.sandbox.wire.errors import RefusedError

_PLANS: Final = uuid.UUID("c0b9a3a2-0d5c-5d0e-8d0a-6f1d7a1f5b11")
_AGREED: Final = (
    "method receipt_email receipt_phone billing_country billing_state billing_zip agreement_accepted notify_sale"
    " recurring recurring_id recurring_subscription_id recurring_plan_id"
).split()


class Renewals(Transitions):
    """Renewals of recurring agreements."""

    def renew(self, order_id: str, *, declined: bool = False) -> str:
        """Take the next payment of an order's agreement; return the identifier of the new order (ORD-46).

        It is an order of its own, paid or declined at once, with the metadata, the customer, the price and the method of
        the one that is renewed. The customer initiates nothing, so user.validate is not sent (EVT-07).

        Raises:
            RefusedError: 404 no such order, 409 it has no agreement.
        """
        with self.transaction():
            order = self.order(order_id)
            if not (order.paid and order.recurring_id):
                raise RefusedError(409, "sb000013", "the order has no recurring agreement")
            renewal = self._new_order(order)
            self.ledger.add(renewal)
            if declined:
                self.change(self.rejected(renewal, "05", "Do not honour"), Event.PAYMENT_CANCEL)
            else:
                self.change(self.processed(renewal), Event.PAYMENT_SUCCESS)
        return renewal.id

    def _new_order(self, order: Order) -> Order:
        project = self.projects.get(order.project_id)
        fresh = replace(
            repeat_order(order, project, self.now()),
            **{name: getattr(order, name) for name in _AGREED},
        )
        return with_tax(fresh, order.billing_country) if order.billing_country else fresh


def start_agreement(order: Order) -> Order:
    """Return the order with a new recurring agreement; the same price of the same project is the same plan.

    Raises:
        RefusedError: 409, the payment method allows no recurring payments.
    """
    if not (order.method or {}).get("recurring_allowed"):
        raise RefusedError(409, "sb000013", "the payment method allows no recurring payments")
    plan = f"{order.project_id}/{order.type}/{order.original_amount}/{order.currency}"
    return replace(
        order,
        recurring=True,
        recurring_id=uuid.uuid4().hex,
        recurring_subscription_id=uuid.uuid4().hex,
        recurring_plan_id=uuid.uuid5(_PLANS, plan).hex,
    )


def is_renewable(order: Order) -> bool:
    """Return whether a next payment can be taken for the agreement of this order."""
    return (
        order.paid
        and bool(order.recurring_id)
        and order.status in {OrderStatus.PROCESSED, OrderStatus.REFUNDED}
    )
