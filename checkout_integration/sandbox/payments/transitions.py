"""The common part of all transitions of an order: read it, store it with its notification, and the time."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from checkout_integration.protocol.vocabulary import Event, OrderStatus
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.notify.outbox import Outbox
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.store.ledger import Ledger
from checkout_integration.sandbox.wire.errors import FORGOTTEN, Case, RefusedError

FORM_LIFETIME: Final = timedelta(minutes=30)


@dataclass(kw_only=True)
class Transitions:
    """The common part of all transitions; a changed order is stored together with its notification.

    Attributes:
        wake: is called after each transaction.
        public_url: the address under which customers reach the sandbox.
    """

    store: Store
    ledger: Ledger
    outbox: Outbox
    projects: Projects
    clock: VirtualClock
    profile: Profile
    wake: Callable[[], None]
    public_url: str = ""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block in one transaction, then wake the delivery threads."""
        with self.store.transaction():
            yield
        self.wake()

    def order(self, order_id: str) -> Order:
        """Return an order; reversal items are none.

        Raises:
            RefusedError: 404, there is none.
        """
        order = self.ledger.find(order_id)
        if order is None or order.reversal:
            raise RefusedError(404, Case.ORDER_NOT_FOUND, "order not found", FORGOTTEN)
        return order

    def payable_order(self, order_id: str, *, may_be_expired: bool = False) -> Order:
        """Return an order that can still be paid.

        Raises:
            RefusedError: 404 no such order, 409 not in `created`, 410 the form has expired.
        """
        order = self.order(order_id)
        if order.status != OrderStatus.CREATED:
            raise RefusedError(
                409, Case.NOT_IN_THIS_STATUS, "the order is no longer open", f"status: {order.status}"
            )
        if self.is_expired(order) and not may_be_expired:
            raise RefusedError(410, Case.FORM_EXPIRED, "the form of the order has expired")
        return order

    def is_expired(self, order: Order) -> bool:
        """Return whether the order can no longer be paid because its form has expired."""
        late = self.clock.now() > order.created_at + FORM_LIFETIME
        return order.status == OrderStatus.CREATED and (order.expired or late)

    def change(self, order: Order, event: Event) -> None:
        """Store a changed order and queue its notification; call it in a transaction."""
        self.ledger.save(order)
        self.outbox.enqueue(order, event, self.now())

    def processed(self, order: Order) -> Order:
        """Return the order as the payment system has processed it: with a transaction and a receipt."""
        receipt_id = uuid.uuid4().hex
        return replace(
            order,
            status=OrderStatus.PROCESSED,
            paid=True,
            transaction=uuid.uuid4().hex[:24],
            receipt_id=receipt_id,
            receipt_number=receipt_number(receipt_id),
            receipt_url=self.receipt_url(order.id, receipt_id),
        )

    def rejected(self, order: Order, code: str, reason: str) -> Order:
        """Return the order as the payment system has rejected it; at deployed services with a cancellation (STA-05)."""
        cancellation = {"code": code, "reason": reason} if self.profile.decline_has_cancellation else None
        return replace(
            order,
            status=OrderStatus.REJECTED,
            cancellation=cancellation,
            transaction=uuid.uuid4().hex[:24],
        )

    def receipt_url(self, order_id: str, receipt_id: str) -> str:
        """Return the address of a receipt (ORD-15)."""
        return f"{self.public_url}/receipt/{order_id}/{receipt_id}"

    def end_of(self, order: Order) -> datetime:
        """Return the time at which an order ends: never before its creation, even if the clock was turned back."""
        return max(self.now(), order.created_at)

    def now(self) -> datetime:
        """Return the virtual time, as the profile writes it."""
        return self.profile.moment(self.clock.now())


def receipt_number(receipt_id: str) -> str:
    """Return the number that a receipt shows to people."""
    return f"SBX-{receipt_id[:8].upper()}"
