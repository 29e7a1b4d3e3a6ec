"""The rule for ``checkout_abandoned``: judged when it is written, and again right before a receiver runs."""

from __future__ import annotations

from checkout_integration.models import Checkout, Notification, Order
from checkout_integration.protocol.vocabulary import OrderStatus


def is_abandoned(checkout: Checkout) -> bool:
    """Return whether a checkout waits for its customer, who can pay in its form.

    Not while a payment may be under way: an order is pending, or something is stored about it and not applied yet. An erased
    customer is not reminded.
    """
    if checkout.status != Checkout.Status.OPEN or not checkout.payment_form_url or checkout.erased_at:
        return False
    stored = Notification.primary.filter(project=checkout.project, due_at__isnull=False)
    pending = Order.primary.filter(checkout=checkout.pk, status=OrderStatus.PENDING)
    about = [stored.filter(reference=checkout.reference), pending]
    if checkout.order_id:
        about.append(stored.filter(object_id=checkout.order_id))
    return not any(rows.exists() for rows in about)
