"""Which checkout of this shop an order belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from checkout_integration.protocol.order import Order


@dataclass(frozen=True, kw_only=True)
class CheckoutValue:
    """A checkout as the shop created it: the value that payments are compared with.

    ``expected_amount`` is in ``currency``; None where the service sets the price (products). ``test``: made while test
    payments were accepted, so only a test payment can pay it.
    """

    project: str
    reference: str
    order_id: str
    type: str
    expected_amount: Decimal | None = None
    currency: str = ""
    products: tuple[str, ...] = ()
    virtual_currency_amount: Decimal | None = None
    test: bool = False
    primary_key: int | None = field(default=None, compare=False)


def reference_of(order: Order, reference_key: str) -> str:
    """Return the shop's own reference that travels in ``metadata``, "" when there is none."""
    return (order.metadata or {}).get(reference_key, "")


def bind(
    order: Order, project: str, reference_key: str, checkouts: Iterable[CheckoutValue]
) -> CheckoutValue | None:
    """Return the checkout that an order pays for: by the order id that the service gave us, else by the shop's reference.

    "Try again" makes a new order id with the same metadata: so the reference is needed.
    """
    own = [each for each in checkouts if each.project == project]
    by_id = [each for each in own if order.id and each.order_id == order.id]
    reference = reference_of(order, reference_key)
    by_reference = [each for each in own if reference and each.reference == reference]
    return next(iter(by_id + by_reference), None)
