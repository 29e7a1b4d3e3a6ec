"""Granting what was paid for, and taking it back. Each may run again after a failure, so each may be repeated."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from checkout_integration.models import Checkout, Order
from checkout_integration.signals import RetryLater, RetryPlan, checkout_paid, checkout_reversed
from example_project.shop.models import InventoryItem, Product


@checkout_paid.receiver(plan=RetryPlan(patience=timedelta(days=90)))
def grant_goods(order: Order, checkout: Checkout | None, **kwargs: Any) -> None:
    """Give what was sold to whom it belongs: the buyer, or a friend. The payment is verified: it pays for it, in full."""
    if checkout is None:
        return  # staff accepted an order that this shop did not make: what it is for, they know
    item = order.items.first()
    owner, product = checkout.owner, checkout.subject
    if owner is None and checkout.gift:
        raise LookupError("The account that was to get the gift is deleted: refund the buyer.")
    if owner is None:
        raise RetryLater(3600, "the guest has not added it to an account")
    assert isinstance(product, Product)  # `paying.Buy` sells products to players, and nothing else
    InventoryItem.objects.update_or_create(
        checkout=checkout,
        defaults={
            "owner": owner,
            "product": product,
            "code": item.code if item else "",
            "taken_back_at": None,
        },
    )


@checkout_reversed.receiver(undoes=grant_goods)
def take_goods_back(checkout: Checkout | None, **kwargs: Any) -> None:
    """Revoke the goods: their payment was refunded or charged back."""
    if checkout is None:
        return
    InventoryItem.objects.filter(checkout=checkout, taken_back_at=None).update(taken_back_at=timezone.now())
