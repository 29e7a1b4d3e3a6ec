"""Granting what was paid for, and taking it back. Each may run again after a failure, so each may be repeated."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from checkout_integration.models import Checkout, Order
from checkout_integration.signals import checkout_paid, checkout_reversed
from example_project.shop.models import InventoryItem, Product


@checkout_paid.receiver()
def grant_goods(order: Order, checkout: Checkout | None, **kwargs: Any) -> None:
    """Give the customer what was sold. The payment is verified: it pays for this checkout, in full."""
    if checkout is None:
        return  # staff accepted an order that this shop did not make: what it is for, they know
    item = order.items.first()
    buyer, product = checkout.user, checkout.subject
    assert buyer is not None  # `views.buy` sells products to players, and nothing else
    assert isinstance(product, Product)
    InventoryItem.objects.update_or_create(
        checkout=checkout,
        defaults={
            "owner": buyer,
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
