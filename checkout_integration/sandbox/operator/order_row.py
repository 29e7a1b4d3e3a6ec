"""One order as the operator sees it: its notifications, and what can be done with it now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.notify import QueuedNotification
from checkout_integration.sandbox.orders import Order
from checkout_integration.sandbox.payments import is_renewable

_TONES: Final = {OrderStatus.PROCESSED: "good", OrderStatus.CREATED: "open", OrderStatus.PENDING: "open"}
_ACTIONS: Final = {
    OrderStatus.CREATED: ["pay", "decline", "cancel", "expire"],
    OrderStatus.PROCESSED: ["refund", "chargeback", "cancel"],
}


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderRow:
    """An order for the operator's templates."""

    order: Order
    notifications: Sequence[QueuedNotification]

    @property
    def tone(self) -> str:
        """The colour of its status."""
        return _TONES.get(self.order.status, "bad")

    @property
    def actions(self) -> list[str]:
        """The actions that its state allows; none for a reversal item."""
        if self.order.reversal:
            return []
        actions = [*_ACTIONS.get(self.order.status, [])]
        if is_renewable(self.order):
            actions.append("renew")
        return actions + (["resend"] if self.notifications else [])
