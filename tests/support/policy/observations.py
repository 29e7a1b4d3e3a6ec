"""Short constructors of observations for the tests of policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.policy.state import OrderState, observe
from checkout_integration.protocol.order import parse_order

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
TIMING = Timing()
ZERO_TIMES = ("", None, "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z")


def at(minutes: float) -> datetime:
    """The moment so many minutes after noon."""
    return NOON + timedelta(minutes=minutes)


def written(moment: datetime) -> str:
    """A moment as documents write it."""
    return moment.isoformat().replace("+00:00", "Z")


def message(event: str, minutes: float | None = 0, /, **fields: Any) -> Observation:
    """A signed notification whose ``created_at`` lies so many minutes after noon; None for no time.

    ``delivery_try`` and ``live`` (True unless given) are the envelope's, everything else the document's.
    """
    envelope = {"delivery_try": fields.pop("delivery_try", 0), "live": fields.pop("live", True)}
    return Observation(
        source=Source.NOTIFICATION,
        order=parse_order({"id": "order-1", **fields}),
        event=event,
        observed_at=None if minutes is None else at(minutes),
        **envelope,
    )


def row(status: str, minutes: float | None = 0, /, **document: Any) -> Observation:
    """A row of the transaction list, read so many minutes after noon."""
    return Observation(
        source=Source.LIST,
        order=parse_order({"id": "order-1", "status": status, **document}),
        observed_at=None if minutes is None else at(minutes),
    )


def creation(**document: Any) -> Observation:
    """Our own creation of the order."""
    return Observation(source=Source.CREATION, order=parse_order({"id": "order-1", **document}))


def known(*observations: Observation, before: OrderState | None = None) -> OrderState:
    """The state after these observations."""
    state = before or OrderState()
    for observation in observations:
        state = observe(state, observation, TIMING)
    return state


def paid(minutes: float = 0, /, **document: Any) -> Observation:
    """A success of a simple checkout over 9.99 USD."""
    fields = {"amount": Decimal("9.99"), "currency": "USD", "type": "simple", "is_production": True}
    return message("payment.success", minutes, **{**fields, **document})
