"""Which sale of this shop an order belongs to (semantics, section 6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from checkout_integration.protocol.order import Order


@dataclass(frozen=True, kw_only=True)
class Sale:
    """A checkout as the shop asked for it: what a payment is compared with.

    ``expected_amount`` is in ``currency``; None where the service sets the price (products). ``test``: made while test
    payments were accepted, so that it takes test payments only.
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
    """The shop's own reference that travels in ``metadata``, "" when there is none."""
    return (order.metadata or {}).get(reference_key, "")


def bind(order: Order, project: str, reference_key: str, sales: Iterable[Sale]) -> Sale | None:
    """The sale that an order pays for: by the order id that the service gave us, else by the shop's reference.

    "Try again" makes a new order id with the same metadata, hence the reference.
    """
    own = [sale for sale in sales if sale.project == project]
    by_id = [sale for sale in own if order.id and sale.order_id == order.id]
    reference = reference_of(order, reference_key)
    by_reference = [sale for sale in own if reference and sale.reference == reference]
    return next(iter(by_id + by_reference), None)
