"""What a customer of the shop bought, as the service tells the shop: by signed notifications, with all that follows."""

from __future__ import annotations

from typing import Any, Final

from checkout_integration.models import Checkout, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import MethodDocumentFactory, UserDocumentFactory

ADA: Final = "ada@buyers.example"


class Sales:
    """Sells to Ada; receivers that are connected have run when a call returns."""

    def __init__(self, deliver: Deliver) -> None:
        self.deliver = deliver

    def __call__(self, product: str = "500 gems", *, account: Any = None, **changes: Any) -> Order:
        """A paid order, with a checkout of its own."""
        return self.pay(CheckoutFactory(description=product, user=account), **changes)

    def pay(self, checkout: Checkout, *, event: str = "payment.success", **changes: Any) -> Order:
        """A payment for a checkout."""
        document = self.document(checkout, **changes)
        self.deliver(event=event, order=document)
        return Order.objects.get(order_id=document["id"])

    def document(self, checkout: Checkout | None, *, last4: str = "4242", **changes: Any) -> dict[str, Any]:
        """The order that pays for a checkout."""
        assert checkout is not None
        given = {
            "description": checkout.description,
            "user": UserDocumentFactory(external_id="player-7", email=ADA, name="Ada Lovelace"),
            "method": MethodDocumentFactory(card__last4=last4),
        }
        return order_document_for(checkout, **{**given, **changes})
