"""The status that is displayed of an order (STA-01 to STA-09)."""

from __future__ import annotations

from checkout_integration.policy.facts import Facts, as_decided
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.vocabulary import OrderStatus


def displayed_status(facts: Facts) -> OrderStatus:
    """Return the status that the facts add up to (STA-01), by the transitions that the specification shows.

    No transition leads out of a reversal (STA-06, STA-07). Pending and created give way to every other status (STA-09).
    """
    facts = as_decided(facts)
    reversal = _latest(facts, OrderStatus.CHARGEBACK, OrderStatus.REFUNDED)
    waiting = OrderStatus.PENDING if facts.knows(OrderStatus.PENDING) else OrderStatus.CREATED
    return reversal or _paid(facts) or _latest(facts, OrderStatus.CANCELED, OrderStatus.REJECTED) or waiting


def _paid(facts: Facts) -> OrderStatus | None:
    """Return processed, unless a *signed* end is at least as late: the list may show a paid order as ``rejected``."""
    if not facts.knows(OrderStatus.PROCESSED):
        return None
    signed = (Source.NOTIFICATION, Source.STAFF)
    ended = _latest(facts, OrderStatus.CANCELED, OrderStatus.REJECTED, sources=signed)
    if ended and max(facts.times(ended, *signed)) >= max(facts.times(OrderStatus.PROCESSED)):
        return ended  # On a tie, the status with which no goods are shipped.
    return OrderStatus.PROCESSED


def _latest(facts: Facts, *kinds: OrderStatus, sources: tuple[Source, ...] = ()) -> OrderStatus | None:
    """Return the known kind with the latest time; on a tie the first one in the arguments."""
    known = [kind for kind in kinds if facts.knows(kind, *sources)]
    return max(known, key=lambda kind: max(facts.times(kind, *sources)), default=None)
