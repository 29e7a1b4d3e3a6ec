"""Seven sales that differ in every field, written by hand, and what each field of them says.

The vector `order` is a card with everything. The vector `sales` has a wallet; a crypto currency, charged in another currency
than the order's; a key for a customer in the USA; a renewal in a currency with three places; an order that the customer
cancelled; and one that was refunded in another currency.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from checkout_integration.protocol.vocabulary import Event
from tests.support.protocol.vectors import vector

SALES: Final = ("complete", "wallet", "crypto", "key", "renewal", "cancelled", "refunded")
EVENTS: Final = {
    "complete": Event.PAYMENT_REFUND,
    "refunded": Event.PAYMENT_REFUND,
    "cancelled": Event.PAYMENT_CANCEL,
}
"""What is sent with a sale that is no success."""


def sale(name: str) -> dict[str, Any]:
    """The document of one sale."""
    if name == "complete":
        return {**vector("order"), "testing_case": ""}
    document: dict[str, Any] = vector("sales")[name]
    return document


def reach(value: Any, path: str) -> Any:
    """Follow a dotted path of attributes and positions; None behind what is None or not there."""
    for step in path.split("."):
        if value is None:
            return None
        if step.isdigit():
            value = dict(enumerate(value)).get(int(step))
            continue
        value = getattr(value, step)
    return value


def money(*texts: str | None) -> tuple[Decimal | None, ...]:
    """Exact amounts."""
    return tuple(None if text is None else Decimal(text) for text in texts)


def moments(*texts: str | None) -> tuple[datetime | None, ...]:
    """Moments in UTC, to the microsecond."""
    return tuple(None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC) for text in texts)
